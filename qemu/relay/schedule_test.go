package relay

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestHeldFramesGoOnInOrderWhenReleased(t *testing.T) {
	bubble(t, Options{Queue: 4}, func(r *Relay, a, b, c *station) {
		b.listen()
		p := r.Path(a.port, b.port)
		if err := p.Set(Rule{Hold: true}); err != nil {
			t.Fatal(err)
		}
		for _, payload := range []string{"1", "2", "3", "4", "5"} {
			a.send(2, 1, payload)
		}
		b.expect(t)
		if held, _ := p.Waiting(); held != 4 || p.Counts().Of(Full) != 1 {
			t.Errorf("%d held, counts %v, want 4 held and 1 full", held, p.Counts())
		}
		if n := p.Release(1); n != 1 {
			t.Errorf("released %d, want 1", n)
		}
		b.expect(t, "1")
		p.Set(Rule{})
		a.send(2, 1, "overtakes")
		b.expect(t, "overtakes")
		if n := p.Release(2); n != 2 {
			t.Errorf("released %d, want 2", n)
		}
		b.expect(t, "2", "3")
		if n := p.Release(-1); n != 1 {
			t.Errorf("released %d, want 1", n)
		}
		b.expect(t, "4")
		if n := p.Release(-1); n != 0 {
			t.Errorf("released %d of none", n)
		}
	})
}

func TestDiscardedFramesNeverArrive(t *testing.T) {
	bubble(t, Options{}, func(r *Relay, a, b, c *station) {
		b.listen()
		p := r.Path(a.port, b.port)
		p.Set(Rule{Hold: true})
		a.send(2, 1, "held")
		p.Set(Rule{Delay: time.Second})
		a.send(2, 1, "delayed")
		if held, delayed := p.Waiting(); held != 1 || delayed != 1 {
			t.Errorf("%d held, %d delayed, want 1 and 1", held, delayed)
		}
		if n := p.Discard(); n != 2 {
			t.Errorf("discarded %d, want 2", n)
		}
		time.Sleep(2 * time.Second)
		b.expect(t)
		if n := p.Counts().Of(Dropped); n != 2 {
			t.Errorf("%d dropped, want 2", n)
		}
		if held, delayed := p.Waiting(); held != 0 || delayed != 0 {
			t.Errorf("%d held, %d delayed, want none", held, delayed)
		}
	})
}

func TestAFrozenPortLosesItsQueueAndWhatComesUntilThawed(t *testing.T) {
	bubble(t, Options{}, func(r *Relay, a, b, c *station) {
		p := r.Path(a.port, b.port)
		p.Set(Rule{Hold: true})
		a.send(2, 1, "held before")
		p.Set(Rule{})
		a.send(2, 1, "in the queue")
		b.port.Freeze()
		a.send(2, 1, "while frozen")
		p.Set(Rule{Hold: true})
		a.send(2, 1, "to be held while frozen")
		p.Release(-1)
		b.listen().expect(t)
		if counts := p.Counts(); counts.Of(Frozen) != 4 || counts.Of(Forwarded) != 1 {
			t.Errorf("counts %v, want 4 frozen, 1 forwarded before", counts)
		}
		p.Set(Rule{})
		b.port.Thaw()
		a.send(2, 1, "after the thaw")
		b.expect(t, "after the thaw")
	})
}

func TestDelayedFramesArriveOnTimeAndInOrder(t *testing.T) {
	bubble(t, Options{}, func(r *Relay, a, b, c *station) {
		b.listen()
		r.Path(a.port, b.port).Set(Rule{Delay: 250 * time.Millisecond})
		a.send(2, 1, "1")
		a.send(2, 1, "2")
		time.Sleep(100 * time.Millisecond)
		a.send(2, 1, "3")
		r.Path(c.port, b.port).Set(Rule{Delay: 20 * time.Millisecond})
		c.send(2, 3, "sooner")
		time.Sleep(time.Second)
		synctest.Wait()
		const ms = time.Millisecond
		if want := []time.Duration{120 * ms, 250 * ms, 250 * ms, 350 * ms}; !slices.Equal(b.at, want) {
			t.Errorf("arrived after %v, want %v", b.at, want)
		}
		b.expect(t, "sooner", "1", "2", "3")
	})
}

func TestJitterStaysWithinItsBoundsAndHurriedFramesOvertake(t *testing.T) {
	const delay, jitter = time.Second, time.Second / 2
	bubble(t, Options{Seed: 1}, func(r *Relay, a, b, c *station) {
		b.listen()
		r.Path(a.port, b.port).Set(Rule{Delay: delay, Jitter: jitter, Hurry: 0.25})
		for i := range 200 {
			a.send(2, 1, fmt.Sprint(i))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		var hurried, early, late int
		for _, at := range b.at {
			switch {
			case at == 0:
				hurried++
			case at < delay || at > delay+jitter:
				t.Fatalf("arrived after %v", at)
			case at < delay+jitter/2:
				early++
			default:
				late++
			}
		}
		if hurried == 0 || early == 0 || late == 0 || hurried+early+late != 200 {
			t.Errorf("%d hurried, %d early in the jitter, %d late", hurried, early, late)
		}
		if slices.IsSortedFunc(b.got, strings.Compare) {
			t.Error("no frame overtook another")
		}
	})
}

func TestRateSpacesFramesByTheirLength(t *testing.T) {
	bubble(t, Options{Queue: 3}, func(r *Relay, a, b, c *station) {
		b.listen()
		p := r.Path(a.port, b.port)
		p.Set(Rule{Rate: 1000, Delay: time.Second})
		for range 4 { // of 100 bytes: each takes a tenth of a second
			a.send(2, 1, strings.Repeat("x", 100-headerLen))
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		want := []time.Duration{1100 * time.Millisecond, 1200 * time.Millisecond, 1300 * time.Millisecond}
		if !slices.Equal(b.at, want) || p.Counts().Of(Full) != 1 {
			t.Errorf("arrived after %v, counts %v; want %v and 1 full", b.at, p.Counts(), want)
		}
		start := len(b.at)
		a.send(2, 1, strings.Repeat("x", 100-headerLen)) // an idle line owes nothing
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(b.at) != start+1 || b.at[start] != 6100*time.Millisecond {
			t.Errorf("after a pause arrived after %v", b.at[start:])
		}
		a.send(2, 1, strings.Repeat("x", 1000-headerLen))
		p.Set(Rule{Rate: 100_000})
		a.send(2, 1, strings.Repeat("x", 100-headerLen)) // a new rule starts on an idle line
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(b.at) != start+3 || b.at[start+1] != 10001*time.Millisecond {
			t.Errorf("under a new rule arrived after %v", b.at[start+1:])
		}
	})
}

func TestARepeatedFrameArrivesTwiceIfThereIsRoom(t *testing.T) {
	bubble(t, Options{Queue: 3}, func(r *Relay, a, b, c *station) {
		p := r.Path(a.port, b.port)
		p.Set(Rule{Repeat: 1})
		a.send(2, 1, "1")
		a.send(2, 1, "2")
		if counts := p.Counts(); counts.Of(Forwarded) != 2 || counts.Of(Full) != 1 {
			t.Errorf("counts %v, want 2 forwarded and a copy lost", counts)
		}
		b.listen().expect(t, "1", "1", "2")
	})
}
