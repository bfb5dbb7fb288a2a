// Package virtual runs network stacks in virtual time: a clock that stands still until a test moves
// it, and an Ethernet whose frames take their time on that clock. Minutes of TCP, with all its
// timers, pass in milliseconds, and pass the same way each time.
//
// Nothing here may wait for real time. The clock moves from one event to the next and lets every
// goroutine run until it blocks in between, so that an effect never comes later than its cause:
//
//	Run:  +--> the earliest timer's instant --> its function, on a goroutine of its own --+
//	      |                                                                               |
//	      +------------------ every goroutine blocked, once more <-- run what is runnable +
//
// That every goroutine is blocked is known exactly only while one of them runs at a time. NewClock
// therefore sets GOMAXPROCS to 1 for the length of its test; such tests do not run in parallel, and
// what they test must block on channels, mutexes and this clock only, never on real time or I/O.
// testing/synctest does not serve here: gVisor parks its goroutines by a way of its own, which
// synctest takes for a wait on the outside world.
package virtual

import (
	"container/heap"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// start is what the wall clock of every virtual clock reads first. It is far from the zero Time and
// from the Unix epoch, which programs use as "no time" and "long ago".
var start = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// Clock is a tcpip.Clock in virtual time. All its methods may be called by several goroutines, but
// for Run and RunUntil, which the test alone calls.
type Clock struct {
	mu     sync.Mutex
	now    time.Duration // since start
	timers timerHeap
	made   uint64 // timers armed so far: equal instants fire in the order of arming
}

var _ tcpip.Clock = (*Clock)(nil)

// NewClock makes a clock that stands still, and restricts the program to one running goroutine
// until the test ends.
func NewClock(t testing.TB) *Clock {
	procs := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
	return new(Clock)
}

// Elapsed is how far the clock was moved.
func (c *Clock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Now implements tcpip.Clock.
func (c *Clock) Now() time.Time { return start.Add(c.Elapsed()) }

// NowMonotonic implements tcpip.Clock.
func (c *Clock) NowMonotonic() tcpip.MonotonicTime {
	var zero tcpip.MonotonicTime
	return zero.Add(c.Elapsed())
}

// AfterFunc implements tcpip.Clock. A function that is due at once still waits for Run.
func (c *Clock) AfterFunc(d time.Duration, f func()) tcpip.Timer {
	t := &timer{clock: c, f: f, index: idle}
	t.Reset(d)
	return t
}

// Sleep blocks the calling goroutine until d has passed on the clock.
func (c *Clock) Sleep(d time.Duration) {
	done := make(chan struct{})
	c.AfterFunc(d, func() { close(done) })
	<-done
}

// Run moves the clock by d and carries out everything that becomes due on the way.
func (c *Clock) Run(d time.Duration) {
	c.RunUntil(d, func() bool { return false })
}

// RunUntil moves the clock until done, but not by more than limit, and reports whether it was done.
// It asks before the clock moves and after every event. What timers' functions did happens before
// it asks, in the sense of the memory model; other goroutines share memory with done by the usual
// means.
func (c *Clock) RunUntil(limit time.Duration, done func() bool) bool {
	settle()
	for end := c.Elapsed() + limit; ; {
		c.meet()
		if done() {
			return true
		}
		f := c.next(end)
		if f == nil {
			return false
		}
		go func() {
			f()
			c.meet()
		}()
		settle()
	}
}

// meet orders what the earlier of two callers did before what the later one does.
func (c *Clock) meet() {
	c.mu.Lock()
	c.mu.Unlock()
}

// next moves the clock to the earliest timer that is due by end and takes its function; when there
// is none it moves the clock to end.
func (c *Clock) next(end time.Duration) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 || c.timers[0].at > end {
		c.now = end
		return nil
	}
	t := heap.Pop(&c.timers).(*timer)
	c.now = t.at
	return t.f
}

// runnable is the number of goroutines that could run. With GOMAXPROCS at 1 and the caller running
// the runtime's count is not an estimate: no other goroutine can change it meanwhile.
func runnable() uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// settle lets every other goroutine run until it blocks.
func settle() {
	if runtime.GOMAXPROCS(0) != 1 {
		panic("virtual: the clock was moved after its test")
	}
	for {
		runtime.Gosched()
		if runnable() == 0 {
			return
		}
	}
}

// timer is a tcpip.Timer. Its fields are guarded by the clock's mutex.
type timer struct {
	clock *Clock
	f     func()
	at    time.Duration
	order uint64
	index int // in the heap; idle when it is not there
}

const idle = -1

// Stop implements tcpip.Timer: false when there was nothing to stop.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.stop()
}

func (t *timer) stop() bool {
	if t.index == idle {
		return false
	}
	heap.Remove(&t.clock.timers, t.index)
	return true
}

// Reset implements tcpip.Timer.
func (t *timer) Reset(d time.Duration) {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.stop()
	t.at = t.clock.now + max(d, 0)
	t.order = t.clock.made
	t.clock.made++
	heap.Push(&t.clock.timers, t)
}

// timerHeap has the earliest timer first. It implements heap.Interface.
type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].order < h[j].order
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	t.index = idle
	(*h)[last] = nil
	*h = (*h)[:last]
	return t
}
