// Package clock is the time that a node waits by: package time's on a machine, a virtual one's in
// tests that run whole networks in virtual time.
//
// A link has two kinds of waits: timers, and the deadlines of its connection. Both must go by one
// clock, or a deadline that is `now` to the one is years away to the other; so whoever sets a
// deadline takes its instants from here, and whoever builds a node gives it the clock that its
// network goes by. Nothing here times a lease or a silence: that is the machine's raw counter
// (package mesh/when), which is handed in with every step.
package clock

import (
	"context"
	"time"
)

// Clock tells the time and calls back when some has passed. Several goroutines may use it.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f on a goroutine of its own when d has passed.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is one pending call.
type Timer interface {
	// Stop takes the call back, and reports false when there was nothing to take back.
	Stop() bool
	// Reset has the call happen d from now, whether or not it was pending.
	Reset(d time.Duration)
}

// System is package time.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) AfterFunc(d time.Duration, f func()) Timer {
	return systemTimer{time.AfterFunc(d, f)}
}

type systemTimer struct{ *time.Timer }

func (t systemTimer) Reset(d time.Duration) { t.Timer.Reset(d) }

// Sleep waits until d has passed, and reports false when ctx was done before.
func Sleep(ctx context.Context, c Clock, d time.Duration) bool {
	passed := make(chan struct{})
	t := c.AfterFunc(d, func() { close(passed) })
	defer t.Stop()
	select {
	case <-passed:
		return true
	case <-ctx.Done():
		return false
	}
}

// WithTimeout is context.WithTimeout, but that the cause alone tells a timeout from a cancellation:
// context.Cause is then context.DeadlineExceeded, and Err is context.Canceled either way.
func WithTimeout(ctx context.Context, c Clock, d time.Duration) (context.Context,
	context.CancelFunc) {
	timed, cancel := context.WithCancelCause(ctx)
	t := c.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return timed, func() {
		t.Stop()
		cancel(context.Canceled)
	}
}
