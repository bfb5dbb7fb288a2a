package progress

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// screen is a writer that several goroutines may use.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// pass lets the bubble's time go on and everything come to rest.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestWithoutATerminalEveryWaitIsLinesOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(screen)
		r := New(out, "kill-peer", 0)
		through := r.Wait("`mesh-join: confirmed` at n1", 30*time.Second)
		pass(12 * time.Second)
		through(nil)
		r.Wait("what is there at once", 5*time.Second)(nil)
		r.Wait("n0 to serve", 5*time.Second)(errors.New("n0 is silent"))
		r.Say("the end of %d", 1)
		want := "kill-peer: waiting for `mesh-join: confirmed` at n1: 1.0 of 30 s\n" +
			"kill-peer: waiting for `mesh-join: confirmed` at n1: 11.0 of 30 s\n" +
			"kill-peer: `mesh-join: confirmed` at n1: after 12.0 s\n" +
			"kill-peer: n0 is silent, after 0.0 s\n" +
			"kill-peer: the end of 1\n"
		if got := out.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func TestOnATerminalOneLineIsRewrittenAndLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(screen)
		r := New(out, "none", 80)
		through := r.Wait("n0 to serve", 2*time.Second)
		pass(250 * time.Millisecond)
		through(nil)
		pass(time.Second) // nothing may be drawn any more
		want := "none: waiting for n0 to serve: 0.0 of 2 s" +
			clearLine + "none: waiting for n0 to serve: 0.1 of 2 s" +
			clearLine + "none: waiting for n0 to serve: 0.2 of 2 s" +
			clearLine
		if got := out.String(); got != want {
			t.Errorf("got\n%q\nwant\n%q", got, want)
		}
	})
}

func TestALineNeverReachesTheLastColumn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(screen)
		r := New(out, "none", 40)
		through := r.Wait(strings.Repeat("ä", 100), 2*time.Second)
		through(nil)
		line, _, _ := strings.Cut(out.String(), clearLine)
		if n := utf8.RuneCountInString(line); n != 39 {
			t.Errorf("%d columns of 40: %s", n, line)
		}
		if !strings.HasPrefix(line, "none: waiting") || !strings.HasSuffix(line, "0.0 of 2 s") {
			t.Errorf("the ends of the line are gone: %s", line)
		}
	})
}
