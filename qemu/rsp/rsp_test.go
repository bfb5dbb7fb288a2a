package rsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// patience is far more than anything in these tests takes.
const patience = 20 * time.Second

// stub plays the other side of a session: it reads what it wants, byte for byte, and answers.
func stub(t *testing.T, turns ...string) *Client {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer far.Close()
		for i := 0; i+1 < len(turns); i += 2 {
			got := make([]byte, len(turns[i]))
			if _, err := io.ReadFull(far, got); err != nil || string(got) != turns[i] {
				t.Errorf("it sent %q, want %q", got, turns[i])
				return
			}
			if turns[i+1] == "" {
				continue // which a pipe would wait for
			}
			if _, err := io.WriteString(far, turns[i+1]); err != nil {
				return // the client has had enough
			}
		}
	}()
	t.Cleanup(func() {
		near.Close()
		<-done
	})
	return New(near)
}

func TestAMachineIsStoppedAtAnInstruction(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := stub(t, "$Z0,80469804,4#bd", "+$OK#9a", "+", "", "$c#63", "+$T05thread:01;#07", "+", "")
	for _, do := range []func() error{
		func() error { return c.Break(ctx, 0x80469804) },
		func() error { return c.Go(ctx) },
		func() error { return c.Stopped(ctx) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatAStubMustNotAnswer(t *testing.T) {
	for name, answer := range map[string]string{
		"asks for it again":   "-$OK#9a",
		"refuses":             "+$E22#a9",
		"knows nothing of it": "+$#00",
		"gets the sum wrong":  "+$OK#9b",
		"has no sum":          "+$OK#zz",
		"sends no packet":     "+OK#9a",
		"breaks off":          "+$OK",
		"says nothing":        "",
	} {
		err := New(&said{in: strings.NewReader(answer)}).Break(t.Context(), 0x80000000)
		if err == nil || !strings.Contains(err.Error(), "0x80000000") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnythingButAStopIsNoStop(t *testing.T) {
	for text, ok := range map[string]bool{
		"T05thread:01;": true, "S05": true, "W00": false, "": false, "OK": false,
		"T" + strings.Repeat("x", packetMax-1): true, "T" + strings.Repeat("x", packetMax): false,
	} {
		packet := fmt.Sprintf("$%s#%02x", text, sum(text))
		if err := New(&said{in: strings.NewReader(packet)}).Stopped(t.Context()); (err == nil) != ok {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func TestNobodyWaitsLongerThanTheContext(t *testing.T) {
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	near, far := net.Pipe()
	defer far.Close()
	defer near.Close()
	over := make(chan error)
	go func() { over <- New(near).Stopped(ctx) }()
	cancel(gone)
	select {
	case err := <-over:
		if !errors.Is(err, gone) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it still waits")
	}
}

func FuzzReceive(f *testing.F) {
	for _, seed := range []string{"$OK#9a", "$T05thread:01;#07", "$#00", "", "$x#", "+"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := New(&said{in: strings.NewReader(text)}).receive()
		whole := fmt.Sprintf("$%s#%02x", got, sum(got))
		if err == nil && !strings.HasPrefix(text, whole) {
			t.Errorf("%q was read as %q", text, got)
		}
	})
}

// said is a connection whose other side has said something, and takes everything.
type said struct {
	net.Conn
	in io.Reader
}

func (s *said) Read(b []byte) (int, error)  { return s.in.Read(b) }
func (s *said) Write(b []byte) (int, error) { return len(b), nil }
