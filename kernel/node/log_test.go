package node

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/mesh/evidence"
)

// stuckConsole takes its first line only once it is released.
type stuckConsole struct {
	console
	release chan struct{}
}

func (c *stuckConsole) Write(b []byte) (int, error) {
	<-c.release
	return c.console.Write(b)
}

func numbered(i int) evidence.Line {
	return evidence.New("mesh-env", "unknown").Str("key", fmt.Sprint("k", i)).At(0)
}

func TestAStuckConsoleDelaysNobodyAndWhatItMissedIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &stuckConsole{release: make(chan struct{})}
		l := newLog(c)
		stop := l.Start()
		l.Add(numbered(0))
		synctest.Wait() // the console's goroutine holds it
		const lost = 44
		for i := range consoleQueue + lost {
			l.Add(numbered(1 + i))
		}
		if l.Lost() != lost {
			t.Errorf("%d lines lost, want %d", l.Lost(), lost)
		}
		close(c.release)
		synctest.Wait()
		l.Add(numbered(9999))
		stop()
		lines := c.lines()
		if n := len(lines); n != 1+consoleQueue+1+1 || lines[n-1] != numbered(9999).String() ||
			!strings.HasPrefix(lines[n-2], "node: console: 44 lines") {
			t.Errorf("%d lines, the last two %q", n, lines[n-2:])
		}
		rows := l.After(0)
		if len(rows) != evidence.RingSize || rows[len(rows)-1].N != consoleQueue+lost+2 {
			t.Errorf("the ring has %d lines up to %d", len(rows), rows[len(rows)-1].N)
		}
	})
}

func TestBeforeStartALineIsOnTheConsoleAtOnce(t *testing.T) {
	c := &console{}
	l := newLog(c)
	l.Add(numbered(1))
	l.Note("a note")
	want := numbered(1).String() + "\nnode: a note"
	if got := strings.Join(c.lines(), "\n"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if len(l.After(0)) != 1 {
		t.Error("a note is no evidence")
	}
}

func TestStoppingWritesWhatIsQueued(t *testing.T) {
	c := &console{}
	l := newLog(c)
	stop := l.Start()
	for i := range 100 {
		l.Add(numbered(i))
	}
	stop()
	if len(c.lines()) != 100 {
		t.Errorf("%d lines", len(c.lines()))
	}
}
