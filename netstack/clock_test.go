package netstack

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

func TestTheMachineClockRoundsDownToTicks(t *testing.T) {
	c := newMachineClock()
	var zero tcpip.MonotonicTime
	for _, x := range []struct{ elapsed, want time.Duration }{
		{0, 0}, {tick - 1, 0}, {tick, tick}, {2*tick - 1, tick}, {2 * tick, 2 * tick},
		{7*tick + 1, 7 * tick},
		{time.Hour + tick/2, time.Hour},
		{3 * tick, 3 * tick}, // an answer that another goroutine asked for earlier
		{100 * 365 * 24 * time.Hour, 100 * 365 * 24 * time.Hour},
	} {
		if got := c.at(x.elapsed).Sub(zero); got != x.want {
			t.Errorf("at %v it reads %v, want %v", x.elapsed, got, x.want)
		}
	}
}

func TestTheMachineClockNeverGoesBack(t *testing.T) {
	c := newMachineClock()
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
		c := newMachineClock()
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
