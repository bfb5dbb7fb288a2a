package virtual

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"pgregory.net/rapid"
)

// record is what happened, in order.
type record struct {
	mu  sync.Mutex
	log []string
}

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

func (r *record) expect(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.log, want) {
		t.Errorf("happened\n     %q\nwant %q", r.log, want)
	}
	r.log = nil
}

func TestTimersFireInOrderAndAtTheirInstant(t *testing.T) {
	c := NewClock(t)
	var r record
	at := func(name string, d time.Duration) tcpip.Timer {
		return c.AfterFunc(d, func() { r.add("%s %v", name, c.Elapsed()) })
	}
	at("late", 3*time.Second)
	at("first", time.Second)
	at("second of the same instant", time.Second)
	stopped := at("stopped", 2*time.Second)
	moved := at("moved", 2*time.Second)
	at("past", -time.Second)
	r.expect(t) // nothing happens before the clock moves
	if !stopped.Stop() || stopped.Stop() {
		t.Error("Stop does not say whether there was something to stop")
	}
	moved.Reset(4 * time.Second)
	c.Run(3 * time.Second)
	r.expect(t, "past 0s", "first 1s", "second of the same instant 1s", "late 3s")
	c.Run(time.Second - 1)
	r.expect(t)
	c.Run(1)
	r.expect(t, "moved 4s")
	moved.Reset(0)
	c.Run(0)
	r.expect(t, "moved 4s")
}

func TestAnEffectIsNotLaterThanItsCause(t *testing.T) {
	c := NewClock(t)
	var r record
	passed := make(chan struct{})
	for i := range 3 { // a chain of goroutines that wake each other within one instant
		go func() {
			for range passed {
				if i == 2 {
					r.add("chain ends %v", c.Elapsed())
				}
				c.Sleep(0)
			}
		}()
	}
	c.AfterFunc(time.Second, func() {
		for range 3 {
			passed <- struct{}{}
		}
		close(passed)
	})
	c.AfterFunc(time.Second+1, func() { r.add("one nanosecond later") })
	c.Run(time.Minute)
	r.expect(t, "chain ends 1s", "one nanosecond later")
	if c.Elapsed() != time.Minute {
		t.Errorf("the clock stands at %v", c.Elapsed())
	}
}

func TestRunUntilStopsWhereItIsDone(t *testing.T) {
	c := NewClock(t)
	done := false
	is := func() bool { return done }
	c.AfterFunc(5*time.Second, func() { done = true })
	if c.RunUntil(4*time.Second, is) || c.Elapsed() != 4*time.Second {
		t.Errorf("stands at %v, done %v", c.Elapsed(), done)
	}
	if !c.RunUntil(time.Hour, is) || c.Elapsed() != 5*time.Second {
		t.Errorf("stands at %v, done %v", c.Elapsed(), done)
	}
}

func TestTheClockIsOneClock(t *testing.T) {
	c := NewClock(t)
	wall, mono := c.Now(), c.NowMonotonic()
	c.Run(1234 * time.Millisecond)
	if d := c.Now().Sub(wall); d != 1234*time.Millisecond {
		t.Errorf("the wall clock moved by %v", d)
	}
	if d := c.NowMonotonic().Sub(mono); d != 1234*time.Millisecond {
		t.Errorf("the monotonic clock moved by %v", d)
	}
}

// The heap against a plain search for the earliest timer.
func TestTimersFireAsASortedListWould(t *testing.T) {
	c := NewClock(t)
	rapid.Check(t, func(r *rapid.T) {
		var fired, want []int
		var mu sync.Mutex
		began := c.Elapsed()
		type entry struct {
			id    int
			at    time.Duration
			timer tcpip.Timer
		}
		var live []entry
		for id := range rapid.IntRange(1, 30).Draw(r, "timers") {
			d := time.Duration(rapid.IntRange(0, 20).Draw(r, "delay"))
			timer := c.AfterFunc(d, func() { mu.Lock(); fired = append(fired, id); mu.Unlock() })
			live = append(live, entry{id, d, timer})
			if k := rapid.IntRange(0, 2*len(live)).Draw(r, "stop"); k < len(live) {
				live[k].timer.Stop()
				live = slices.Delete(live, k, k+1)
			}
		}
		slices.SortStableFunc(live, func(a, b entry) int { return int(a.at - b.at) })
		for _, e := range live {
			want = append(want, e.id)
		}
		c.Run(20)
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(fired, want) || c.Elapsed() != began+20 {
			r.Errorf("fired %v, want %v", fired, want)
		}
	})
}

func TestAWireIsHeardByEveryOtherPort(t *testing.T) {
	c := NewClock(t)
	w := NewWire(c, 5*time.Millisecond)
	var r record
	var ports []*Port
	for name := range 3 {
		p := w.Port()
		ports = append(ports, p)
		go func() {
			err := p.Receive(func(f []byte) { r.add("%d hears %q at %v", name, f, c.Elapsed()) })
			r.add("%d ends, closed %v", name, errors.Is(err, net.ErrClosed))
		}()
	}
	c.Run(0)
	part := []byte("b")
	ports[0].Send([][]byte{[]byte("a"), part})
	part[0] = 'x' // the sender is done with its memory
	c.Run(5*time.Millisecond - 1)
	r.expect(t)
	c.Run(time.Second - (5*time.Millisecond - 1))
	r.expect(t, `1 hears "ab" at 5ms`, `2 hears "ab" at 5ms`)

	w.Drop(func(from, to *Port, f []byte) bool { return from == ports[1] && to == ports[0] })
	ports[1].Send([][]byte{[]byte("c")})
	c.Run(time.Second)
	r.expect(t, `2 hears "c" at 1.005s`)

	ports[1].Send([][]byte{[]byte("under way")})
	w.Cut(true)
	c.Run(time.Second)
	r.expect(t)
	w.Cut(false)
	ports[2].Close()
	c.Run(0)
	r.expect(t, "2 ends, closed true")
	ports[1].Send([][]byte{[]byte("d")})
	c.Run(time.Second)
	r.expect(t, `0 hears "d" at 3.005s`)
	ports[0].Close()
	ports[1].Close()
	c.Run(0)
}

func TestHeldFramesArriveInOrderWhenTheyAreLetGo(t *testing.T) {
	c := NewClock(t)
	w := NewWire(c, 5*time.Millisecond)
	a, b := w.Port(), w.Port()
	var r record
	go b.Receive(func(f []byte) { r.add("%s at %v", f, c.Elapsed()) })
	c.Run(0)
	send := func(text string) { a.Send([][]byte{[]byte(text)}) }

	send("under way")
	w.Hold(true)
	c.Run(time.Second)
	send("first")
	c.Run(5 * time.Millisecond)
	send("not there yet")
	r.expect(t)
	w.Hold(false)
	send("after")
	c.Run(time.Second)
	r.expect(t, "under way at 1.005s", "first at 1.005s", "not there yet at 1.01s", "after at 1.01s")

	send("held")
	w.Hold(true)
	c.Run(time.Second)
	w.Cut(true)
	w.Hold(false) // what is let go into a cut is lost
	c.Run(time.Second)
	r.expect(t)
	a.Close()
	b.Close()
	c.Run(0)
}
