package netstack

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

func TestTheMachineClockRoundsDownToTicks(t *testing.T) {
	var zero tcpip.MonotonicTime
	for _, hz := range []uint32{1000, 8e6, 62.5e6, 62_500_001, 1e9} {
		c := newMachineClock(Counter{})
		var elapsed time.Duration
		c.since = func() time.Duration { return elapsed }
		c.counter = Counter{Hz: hz, Read: func() uint64 {
			seconds, rest := uint64(elapsed/time.Second), uint64(elapsed%time.Second)
			return 1<<63 + seconds*uint64(hz) + rest*uint64(hz)/1e9
		}}
		c.perTick = c.counts(tick)
		for _, x := range []struct{ elapsed, want time.Duration }{
			{0, 0}, {1, 0}, {tick / 2, 0}, {tick - 1, 0}, {tick, tick}, {2*tick - 1, tick},
			{2 * tick, 2 * tick}, {7*tick + 1, 7 * tick}, {8 * tick, 8 * tick},
			{time.Hour + tick/2, time.Hour}, {time.Hour + tick - 1, time.Hour},
			{time.Hour + tick, time.Hour + tick},
			{100 * 365 * 24 * time.Hour, 100 * 365 * 24 * time.Hour},
		} {
			elapsed = x.elapsed
			if got := c.NowMonotonic().Sub(zero); got != x.want {
				t.Errorf("%d Hz: at %v it reads %v, want %v", hz, x.elapsed, got, x.want)
			}
		}
	}
}

func TestTheMachineClockAsksForTheTimeOnceATick(t *testing.T) {
	count, asked := uint64(1000), 0
	c := newMachineClock(Counter{Hz: 8e6, Read: func() uint64 { return count }})
	c.since = func() time.Duration { asked++; return 0 }
	c.NowMonotonic()
	for range 100 {
		c.NowMonotonic()
	}
	if asked != 1 {
		t.Errorf("asked %d times while the counter stood", asked)
	}
	count += 8000
	c.NowMonotonic()
	if asked != 2 {
		t.Errorf("asked %d times, with a tick between", asked)
	}
}

func TestTheMachineClockNeverGoesBack(t *testing.T) {
	c := newMachineClock(Counter{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := c.NowMonotonic()
			for range 20_000 {
				now := c.NowMonotonic()
				if now.Before(last) {
					t.Error("the clock went back")
					return
				}
				last = now
			}
		})
	}
	wg.Wait()
}

func TestTheMachineClocksTimersRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMachineClock(Counter{})
		before, wall := c.NowMonotonic(), c.Now()
		fired := make(chan struct{})
		stopped := c.AfterFunc(time.Second, func() { t.Error("a stopped timer fired") })
		stopped.Stop()
		c.AfterFunc(2*time.Second, func() { close(fired) })
		<-fired
		if d := c.NowMonotonic().Sub(before); d != 2*time.Second {
			t.Errorf("fired after %v", d)
		}
		if d := c.Now().Sub(wall); d != 2*time.Second {
			t.Errorf("fired after %v by the wall clock", d)
		}
	})
}
