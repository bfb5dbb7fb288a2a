package netstack

import (
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// machineClock is the machine's clock as gVisor asks for it, many times for each packet.
//
// gVisor's own one spends over a thousand instructions on an answer on a 32-bit processor, because
// a MonotonicTime can only be made by 64-bit calendar arithmetic: 8 % of an HTTP request. This one
// counts in whole ticks and makes one MonotonicTime for each, so that most answers are a
// comparison. TCP does not notice: its timestamps are in milliseconds, its timeouts in hundreds.
type machineClock struct {
	start time.Time
	last  atomic.Pointer[instant]
}

// tick is the clock's resolution.
const tick = time.Millisecond

// instant is a tick and its MonotonicTime.
type instant struct {
	tick      time.Duration
	monotonic tcpip.MonotonicTime
}

func newMachineClock() *machineClock {
	c := &machineClock{start: time.Now()}
	c.last.Store(&instant{})
	return c
}

// Now implements tcpip.Clock. It is not rounded.
func (c *machineClock) Now() time.Time { return time.Now() }

// NowMonotonic implements tcpip.Clock: the time since the clock was made, rounded down to a tick.
func (c *machineClock) NowMonotonic() tcpip.MonotonicTime {
	return c.at(time.Since(c.start))
}

func (c *machineClock) at(elapsed time.Duration) tcpip.MonotonicTime {
	last := c.last.Load()
	if since := elapsed - last.tick; since >= 0 && since < tick {
		return last.monotonic
	}
	now := &instant{tick: elapsed.Truncate(tick)}
	now.monotonic = now.monotonic.Add(now.tick)
	c.last.Store(now)
	return now.monotonic
}

// AfterFunc implements tcpip.Clock.
func (c *machineClock) AfterFunc(d time.Duration, f func()) tcpip.Timer {
	return tcpip.NewStdTimer(time.AfterFunc(d, f))
}
