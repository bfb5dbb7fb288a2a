package web

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The turns are for those who do not ask: twelve connections that ask without a pause would be
// twelve goroutines among which the mesh's loop, its links and everybody else's requests are a few,
// and the processor is shared out by the goroutine. So each address is one: one of its requests is
// at work at a time, from the moment that package http has read its head until its answer is made,
// and what it waits for meanwhile (its body, the loop, another node) it waits for without the turn.
//
// That leaves half of the processor to a flood that is one, too. So an address gives way to lighter
// ones: its next turn comes when none of those that have worked less lately has a request under
// way, or giveWay after its last one. Work is the time of turns and of writing answers by the
// clock. All that is done meanwhile makes it longer, for everybody alike: it is compared, and never
// held against a bound. An address that is alone, or the lightest, waits for nobody.
const (
	// giveWay is how long an address gives way before each of its turns, and for how long a request
	// counts as under way: one that waits for another node does not hold up anybody for long.
	giveWay = 250 * time.Millisecond
	// stays is how long an address is remembered after its last connection, and half of its work
	// longer than that.
	stays = time.Second
	// writeMost is what one write counts at most: whoever reads slowly does not work.
	writeMost = 20 * time.Millisecond
)

// room is the places that are taken, ConnectionsMax at most and AddressMax from one address.
type room struct {
	mu     sync.Mutex
	places int
	guests []*guest
	crowd  atomic.Int32  // how many guests there are
	waited atomic.Uint64 // requests that had to wait for their turn
}

// guest is an address that has places, or had them until less than stays ago. Its room's mu guards
// all of it. What takes reading the clock is not kept up while it is alone.
type guest struct {
	room    *room
	address string
	places  int
	left    time.Time // when it gave the last place back, if it has none

	working bool          // one of its requests has the turn
	since   time.Time     // for how long; zero: it was alone then
	ended   time.Time     // when the turn before was over
	waiting []*waiter     // who wants the turn, in order
	under   int           // requests that are under way, without those whose body is awaited
	newest  time.Time     // when the newest of them had its first turn
	load    time.Duration // what it has worked lately
	halved  time.Time     // as of when: half of it is forgotten every stays
	timer   *time.Timer
}

// waiter is a request that wants the turn.
type waiter struct {
	ready chan struct{} // closed when it has it
	begun bool          // it had it before, and comes before those that had not
}

// take takes a place for an address. It returns nil when there is none.
func (r *room) take(from string) *guest {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.guests, func(g *guest) bool { return g.address == from })
	if r.places == ConnectionsMax || i >= 0 && r.guests[i].places == AddressMax {
		return nil
	}
	if i < 0 {
		r.forget(time.Now())
		i = len(r.guests)
		r.guests = append(r.guests, &guest{room: r, address: from})
		r.crowd.Store(int32(len(r.guests)))
	}
	r.places++
	r.guests[i].places++
	return r.guests[i]
}

// leave gives a place back.
func (g *guest) leave() {
	r := g.room
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places--
	g.places--
	g.left = time.Now()
	r.forget(g.left)
}

// forget drops those who are not there any more. The caller holds mu.
func (r *room) forget(now time.Time) {
	r.guests = slices.DeleteFunc(r.guests, func(g *guest) bool {
		return g.places == 0 && now.Sub(g.left) >= stays
	})
	r.crowd.Store(int32(len(r.guests)))
}

// turn waits for the address's turn, and reports whether it had to. It reports an error when ctx
// was done before.
func (g *guest) turn(ctx context.Context) (waited bool, err error) {
	g.room.mu.Lock()
	if !g.working && g.mayBegin() {
		g.begin(false)
		g.room.mu.Unlock()
		return false, nil
	}
	w := &waiter{ready: make(chan struct{})}
	g.waiting = append(g.waiting, w)
	g.next()
	g.room.mu.Unlock()
	g.room.waited.Add(1)
	select {
	case <-w.ready:
		return true, nil
	case <-ctx.Done():
	}
	g.room.mu.Lock()
	defer g.room.mu.Unlock()
	if i := slices.Index(g.waiting, w); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	} else {
		g.end(false) // it came just now
	}
	return true, ctx.Err()
}

// mayBegin reports whether the address need not give way. The caller holds mu.
func (g *guest) mayBegin() bool {
	if len(g.room.guests) == 1 {
		return true // and is spared the time that it takes to read the clock
	}
	now := time.Now()
	g.room.forget(now)
	return g.patience(now) <= 0
}

// rest ends a turn. The request is still under way, or it is not.
func (g *guest) rest(underWay bool) {
	g.room.mu.Lock()
	defer g.room.mu.Unlock()
	g.end(underWay)
}

// resume waits for the turn of a request that has had it, and was under way meanwhile or was not:
// what has begun comes first, and gives way to nobody.
func (g *guest) resume(underWay bool) {
	g.room.mu.Lock()
	if !underWay {
		g.comes()
	}
	if !g.working {
		g.begin(true)
		g.room.mu.Unlock()
		return
	}
	w := &waiter{ready: make(chan struct{}), begun: true}
	i := slices.IndexFunc(g.waiting, func(w *waiter) bool { return !w.begun })
	if i < 0 {
		i = len(g.waiting)
	}
	g.waiting = slices.Insert(g.waiting, i, w)
	g.room.mu.Unlock()
	<-w.ready
}

// comes counts a request that is under way from now on. The caller holds mu, of all that follow as
// well.
func (g *guest) comes() {
	g.under++
	if len(g.room.guests) > 1 {
		g.newest = time.Now()
	}
}

// begin begins a turn.
func (g *guest) begin(begun bool) {
	if !begun {
		g.comes()
	}
	g.working, g.since = true, time.Time{}
	if len(g.room.guests) > 1 {
		g.since = time.Now()
	}
}

// end ends a turn.
func (g *guest) end(underWay bool) {
	if !g.working {
		panic("web: the end of a turn that nobody has")
	}
	g.working = false
	if !g.since.IsZero() {
		g.ended = time.Now()
		g.worked(g.ended, g.ended.Sub(g.since))
	}
	if !underWay {
		g.under--
	}
	g.next()
	for _, o := range g.room.guests {
		if o != g {
			o.next()
		}
	}
}

// next has the next one begin, now or when the address need not give way any more.
func (g *guest) next() {
	if g.working || len(g.waiting) == 0 {
		return
	}
	w := g.waiting[0]
	if !w.begun {
		if d := g.patience(time.Now()); d > 0 {
			g.wake(d)
			return
		}
	}
	g.waiting = slices.Delete(g.waiting, 0, 1)
	g.begin(w.begun)
	close(w.ready)
}

// wake calls next after a time.
func (g *guest) wake(d time.Duration) {
	if g.timer != nil {
		g.timer.Reset(d)
		return
	}
	g.timer = time.AfterFunc(d, func() {
		g.room.mu.Lock()
		defer g.room.mu.Unlock()
		g.next()
	})
}

// patience is for how long the address still has to give way, unless those who are lighter are done
// before.
func (g *guest) patience(now time.Time) time.Duration {
	d := g.ended.Add(giveWay).Sub(now)
	if d <= 0 {
		return 0
	}
	g.worked(now, 0)
	for _, o := range g.room.guests {
		if o.under > 0 && now.Sub(o.newest) < giveWay {
			if o.worked(now, 0); o.load < g.load {
				return d
			}
		}
	}
	return 0
}

// worked adds to what an address has worked, as of now.
func (g *guest) worked(now time.Time, d time.Duration) {
	if n := now.Sub(g.halved) / stays; n > 0 {
		g.load >>= min(n, 63)
		g.halved = now
	}
	g.load += d
}

// written notes how long an address was written to.
func (g *guest) written(d time.Duration) {
	g.room.mu.Lock()
	defer g.room.mu.Unlock()
	g.worked(time.Now(), min(d, writeMost))
}

// guestKey is under what the context of a request has its guest.
type guestKey struct{}

func guestOf(r *http.Request) *guest { return r.Context().Value(guestKey{}).(*guest) }

// Rest gives the turn of the request with this context to the next one of its address, for as long
// as it waits for something, and Resume waits until it has the turn again. A context of no request
// is none's turn, and nothing happens.
func Rest(ctx context.Context) {
	if g, ok := ctx.Value(guestKey{}).(*guest); ok {
		g.rest(true)
	}
}

// Resume is described at Rest.
func Resume(ctx context.Context) {
	if g, ok := ctx.Value(guestKey{}).(*guest); ok {
		g.resume(true)
	}
}
