package netstack

import (
	"sync"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// deadline is the point in time after which a connection's reads, or writes, fail. It runs on the
// stack's clock, so that virtual time moves it.
//
//	     set(zero)                     set(future)
//	none ---------> none          none -----------> armed --- the time comes ---> expired
//	                                    set(past)
//	any -----------------------------------------------------------------------> expired
//
// Servers move a deadline forward with every request. The timer is therefore not touched when the
// new time is later than the one it is armed for: it fires early, sees that, and arms itself anew.
type deadline struct {
	clock   tcpip.Clock
	notify  func() // called without mu when the time has come
	expired atomic.Bool

	mu    sync.Mutex
	at    time.Time // zero: no deadline
	timer tcpip.Timer
	fires time.Time // when the timer goes off; zero: it is not armed
}

// set moves the deadline; a zero t takes it away, one that is past takes effect at once.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	d.at = t
	expired := d.check()
	d.mu.Unlock()
	if expired {
		d.notify()
	}
}

// check brings expired and the timer in line with at. The caller holds mu and calls notify when
// check is true.
func (d *deadline) check() bool {
	if d.at.IsZero() {
		d.expired.Store(false)
		return false
	}
	now := d.clock.Now()
	if !d.at.After(now) {
		d.expired.Store(true)
		return true
	}
	d.expired.Store(false)
	if !d.fires.IsZero() && !d.at.Before(d.fires) {
		return false
	}
	d.fires = d.at
	left := d.at.Sub(now)
	if d.timer == nil {
		d.timer = d.clock.AfterFunc(left, d.fired)
	} else {
		d.timer.Reset(left)
	}
	return false
}

func (d *deadline) fired() {
	d.mu.Lock()
	d.fires = time.Time{}
	expired := d.check()
	d.mu.Unlock()
	if expired {
		d.notify()
	}
}

// stop takes the deadline away for good, so that its timer does not hold the connection.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = time.Time{}
	d.expired.Store(false)
	if d.timer != nil {
		d.timer.Stop()
	}
}
