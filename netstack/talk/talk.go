// Package talk is a conversation that shows how a connection bears a cut: one side writes a
// numbered line at a steady pace, the other one sends every byte back. It runs over any net.Conn,
// in virtual time between two stacks and in real time between two kernels.
//
//	talker   "1\n"   "2\n"   "3\n" ...      one each Every, whether or not anything comes back
//	echo     "1\n"   "2\n"   "3\n" ...      Heard is told each number when it is back
//
// The pace is the point. A connection that recovers when its application writes seldom may never
// recover when it writes often, because each write touches TCP's timers.
//
// Nothing here dials again: a number that is heard after a cut proves that this session lived.
package talk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Talker is the speaking side.
type Talker struct {
	Every time.Duration
	Sleep func(time.Duration) // time.Sleep, or a virtual clock's
	Heard func(n int)         // called with 1, 2, 3 ... as the lines come back
}

// Run talks until the connection fails, which it closes, or says why the echo is wrong.
func (t Talker) Run(c net.Conn) error {
	spoken := make(chan error, 1)
	go func() { spoken <- t.speak(c) }()
	err := t.listen(c)
	return errors.Join(err, c.Close(), <-spoken)
}

func (t Talker) speak(c net.Conn) error {
	for n := 1; ; n++ {
		if _, err := fmt.Fprintf(c, "%d\n", n); err != nil {
			return fmt.Errorf("talk: line %d: %w", n, err)
		}
		t.Sleep(t.Every)
	}
}

func (t Talker) listen(c net.Conn) error {
	r := bufio.NewReader(c)
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("talk: waiting for line %d: %w", n, err)
		}
		if strings.TrimSuffix(line, "\n") != strconv.Itoa(n) {
			return fmt.Errorf("talk: heard %q instead of line %d", line, n)
		}
		t.Heard(n)
	}
}

// Echo sends everything back on every connection that l accepts, until l is closed.
func Echo(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return fmt.Errorf("talk: %w", err)
		}
		go func() {
			defer c.Close()
			io.Copy(c, c)
		}()
	}
}
