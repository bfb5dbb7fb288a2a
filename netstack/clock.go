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
// comparison, of the counter if there is one. TCP does not notice: its timestamps are in
// milliseconds, its timeouts in hundreds.
type machineClock struct {
	since   func() time.Duration // the clock was made
	counter Counter
	perTick uint64 // of the counter
	last    atomic.Pointer[instant]
}

// Counter is a counter that runs with the machine's clock and is cheaper to read. The zero Counter
// is none: then the clock itself is read.
type Counter struct {
	Read func() uint64 // never goes back
	Hz   uint32        // 1,000 to 1,000,000,000
}

// tick is the clock's resolution.
const tick = time.Millisecond

// instant is a tick and its MonotonicTime. When it ends, the counter has gone beyond from by one
// tick's worth.
type instant struct {
	tick      time.Duration
	from      uint64
	monotonic tcpip.MonotonicTime
}

func newMachineClock(counter Counter) *machineClock {
	start := time.Now()
	c := &machineClock{since: func() time.Duration { return time.Since(start) }, counter: counter}
	if counter.Read == nil {
		c.counter = Counter{Read: func() uint64 { return uint64(time.Since(start)) }, Hz: 1e9}
	}
	c.perTick = c.counts(tick)
	c.last.Store(&instant{from: c.counter.Read() - c.perTick}) // it is over
	return c
}

// counts is how far the counter goes in a time of at most a tick, rounded down.
func (c *machineClock) counts(d time.Duration) uint64 {
	return uint64(d) * uint64(c.counter.Hz) / uint64(time.Second)
}

// Now implements tcpip.Clock. It is not rounded.
func (c *machineClock) Now() time.Time { return time.Now() }

// NowMonotonic implements tcpip.Clock: the time since the clock was made, rounded down to a tick.
func (c *machineClock) NowMonotonic() tcpip.MonotonicTime {
	count := c.counter.Read()
	if last := c.last.Load(); count-last.from < c.perTick {
		return last.monotonic
	}
	// The time is read after the counter. What passes between the two makes the instant end early by
	// the counter, never late, so that nobody who asks after the end of a tick is told of it.
	elapsed := c.since()
	now := &instant{tick: elapsed.Truncate(tick)}
	now.from = count - c.counts(elapsed-now.tick) - 1 // that was rounded down
	now.monotonic = now.monotonic.Add(now.tick)
	c.last.Store(now)
	return now.monotonic
}

// AfterFunc implements tcpip.Clock.
func (c *machineClock) AfterFunc(d time.Duration, f func()) tcpip.Timer {
	return tcpip.NewStdTimer(time.AfterFunc(d, f))
}
