package web

import (
	"context"
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
// That is a fair part where many are at work, and half of the processor where there is one other.
// So what an address may work is bounded, too, while it has company: 1 in 2n of the time where n
// addresses are there, which leaves half of it to the mesh. Time is that of the clock, in turns and
// in writing answers: what others do meanwhile counts, so that an address gets less of a processor
// that has more to do. An address that is alone is held back by its turn alone.
const (
	// stays is how long an address counts as being there after its last connection.
	stays = time.Second
	// credit is how far an address may be ahead of its part: a page or two do not wait.
	credit = 200 * time.Millisecond
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
// all of it.
type guest struct {
	room    *room
	address string
	places  int
	left    time.Time // when it gave the last place back, if it has none

	working bool      // one of its requests has the turn
	since   time.Time // for how long; zero: it had no company then
	waiting []*waiter // who wants the turn, in order
	due     time.Time // when all that it has worked would have been its part
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
	if !g.working && g.ahead() <= credit {
		g.begin()
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
		g.end() // it came just now
	}
	return true, ctx.Err()
}

// rest gives the turn to the next one.
func (g *guest) rest() {
	g.room.mu.Lock()
	defer g.room.mu.Unlock()
	g.end()
}

// resume waits for the turn of a request that has had it: what has begun comes first, and does not
// have to be the address's part.
func (g *guest) resume() {
	g.room.mu.Lock()
	if !g.working {
		g.begin()
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

// begin begins a turn. The caller holds mu, of these four as well.
func (g *guest) begin() {
	g.working, g.since = true, time.Time{}
	if len(g.room.guests) < 2 {
		return // alone, and spared the time that it takes to read the clock
	}
	now := time.Now()
	if g.room.forget(now); len(g.room.guests) > 1 {
		g.since = now
	}
}

// end ends a turn.
func (g *guest) end() {
	if !g.working {
		panic("web: the end of a turn that nobody has")
	}
	g.working = false
	if !g.since.IsZero() {
		g.worked(time.Since(g.since))
	}
	g.next()
}

// next has the next one begin, now or when the address is no longer ahead of its part.
func (g *guest) next() {
	if g.working || len(g.waiting) == 0 {
		return
	}
	w := g.waiting[0]
	if over := g.ahead() - credit; over > 0 && !w.begun {
		if g.timer == nil {
			g.timer = time.AfterFunc(over, func() {
				g.room.mu.Lock()
				defer g.room.mu.Unlock()
				g.next()
			})
		} else {
			g.timer.Reset(over)
		}
		return
	}
	g.waiting = slices.Delete(g.waiting, 0, 1)
	g.begin()
	close(w.ready)
}

// worked notes what an address has worked.
func (g *guest) worked(d time.Duration) {
	now := time.Now()
	if g.due.Before(now) {
		g.due = now
	}
	g.due = g.due.Add(d * time.Duration(2*len(g.room.guests)))
}

// ahead is by how much an address is ahead of its part. The caller holds mu.
func (g *guest) ahead() time.Duration {
	if g.due.IsZero() {
		return 0
	}
	d := time.Until(g.due)
	if d <= 0 {
		g.due = time.Time{}
	}
	return d
}

// written notes how long an address was written to.
func (g *guest) written(d time.Duration) {
	g.room.mu.Lock()
	defer g.room.mu.Unlock()
	g.worked(min(d, writeMost))
}

// guestKey is under what the context of a request has its guest.
type guestKey struct{}

// Rest gives the turn of the request with this context to the next one of its address, for as long
// as it waits for something, and Resume waits until it has the turn again. A context of no request
// is none's turn, and nothing happens.
func Rest(ctx context.Context) {
	if g, ok := ctx.Value(guestKey{}).(*guest); ok {
		g.rest()
	}
}

// Resume is described at Rest.
func Resume(ctx context.Context) {
	if g, ok := ctx.Value(guestKey{}).(*guest); ok {
		g.resume()
	}
}
