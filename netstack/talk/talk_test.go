package talk

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestATalkerHearsItsLinesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		go func() {
			io.Copy(there, io.LimitReader(there, int64(len("1\n2\n3\n"))))
			there.Close()
		}()
		began := time.Now()
		var heard []time.Duration
		err := Talker{
			Every: time.Second, Sleep: time.Sleep,
			Heard: func(n int) {
				if n != len(heard)+1 {
					t.Errorf("heard %d after %d lines", n, len(heard))
				}
				heard = append(heard, time.Since(began))
			},
		}.Run(here)
		if !errors.Is(err, io.EOF) || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("ended with %v; both halves should say why", err)
		}
		if len(heard) != 3 || heard[2] != 2*time.Second {
			t.Errorf("heard lines after %v", heard)
		}
	})
}

func TestATalkerNoticesAWrongEcho(t *testing.T) {
	for name, answer := range map[string]string{
		"another line": "2\n",
		"a lost byte":  "\n",
		"a lost break": "11\n",
	} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			go io.Copy(io.Discard, there)
			go io.WriteString(there, answer)
			err := Talker{
				Every: time.Hour,
				Sleep: func(time.Duration) {},
				Heard: func(n int) { t.Errorf("took %q for line %d", answer, n) },
			}.Run(here)
			if err == nil || !strings.Contains(err.Error(), "instead of line 1") {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

func TestEchoServesUntilItsListenerIsClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- Echo(l) }()
	for range 2 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, "hello")
		c.(*net.TCPConn).CloseWrite()
		if b, err := io.ReadAll(c); string(b) != "hello" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		c.Close()
	}
	l.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("ended with %v", err)
	}
}
