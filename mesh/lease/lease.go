// Package lease is the write lease: a member's right to commit for a while after the authority last
// answered it (ADR-0008 section 4, repaired by rules L1, L5 and L6).
//
// The lease counts from when the member sent the request that was answered, never from when an
// answer arrived: then the authority, which re-homes no earlier than F after its last answer, knows
// without any assumption about delays that the lease is over. Nothing but an acknowledged request
// extends it.
//
//	Ask(s, nonce)    the member sends LeaseReq{nonce} at s
//	Ack(nonce)       until = max(until, s + W), when the nonce is still outstanding
//	Valid(now)       now <= until: the boundary is inclusive
//	Zero()           a view, a pause, a stale-epoch or a Join: no lease, no outstanding nonce
//
// It is timed by two clocks where there are two. The counter stands still while a virtual machine
// is stopped by its monitor; the second clock goes on, in whole seconds. So a lease is also over
// when the second clock is more than W, in whole seconds and rounded up, past its reading at the
// sending, or before it: up to a second later than that, which rule L3 has in its inequality.
package lease

import (
	"holdfast/mesh/id"
	"holdfast/mesh/when"
)

// asksMax bounds the outstanding requests: older ones are forgotten, and their answers with them.
const asksMax = 8

// Clocks is a reading of both clocks. Second is when.NoSecond without a reading.
type Clocks struct {
	Counter when.Instant
	Second  when.Calendar
}

type ask struct {
	nonce id.Nonce
	sent  Clocks
}

// Write is a member's write lease. The zero Write is not held, and is timed by the counter alone.
type Write struct {
	// Both says that the second clock times the lease too: without a reading of it there is none.
	Both bool

	asks   [asksMax]ask
	next   int
	held   bool
	length when.Span
	from   Clocks    // when the request was sent that it counts from
	stood  when.Span // for how long the counter stood still since then, as far as that was seen
	acked  when.Instant
	once   bool // a request has been answered
}

// Ask remembers a request that is sent at now. The nonce is not zero.
func (w *Write) Ask(now Clocks, nonce id.Nonce) {
	w.asks[w.next] = ask{nonce, now}
	w.next = (w.next + 1) % asksMax
}

// Ack takes the answer to an outstanding request, which arrived at now, and reports whether it was
// one.
func (w *Write) Ack(now when.Instant, nonce id.Nonce, length when.Span) bool {
	if nonce == 0 {
		return false
	}
	for i := range w.asks {
		a := &w.asks[i]
		if a.nonce != nonce {
			continue
		}
		if !w.held || a.sent.Counter > w.from.Counter {
			w.from, w.stood = a.sent, 0
		}
		w.held, w.length, w.acked, w.once = true, length, now, true
		*a = ask{}
		return true
	}
	return false
}

// Zero ends the lease and forgets the outstanding requests. Sent stays: it is evidence.
func (w *Write) Zero() {
	w.asks = [asksMax]ask{}
	w.held = false
}

// Valid reports whether the lease is held at now, its last millisecond included.
func (w *Write) Valid(now Clocks) bool {
	return w.held && now.Counter <= w.from.Counter.Add(w.length) && w.validBySecond(now.Second)
}

func (w *Write) validBySecond(now when.Calendar) bool {
	if !w.Both {
		return true
	}
	age := now.Sub(w.from.Second)
	return now != when.NoSecond && w.from.Second != when.NoSecond && age >= 0 &&
		age <= (w.length+when.Second-1)/when.Second*when.Second
}

// Left is what remains of the lease by the counter, zero when there is none.
func (w *Write) Left(now Clocks) when.Span {
	if !w.Valid(now) {
		return 0
	}
	return w.from.Counter.Add(w.length).Sub(now.Counter)
}

// Sent is when the latest acknowledged request was sent, zero before the first.
func (w *Write) Sent() when.Instant { return w.from.Counter }

// Stood notes that the counter stood still for a time, by the second clock. No request is
// outstanding over it.
func (w *Write) Stood(d when.Span) { w.stood += d }

// Age is how long ago the latest acknowledged request was sent, by the clock that says the longest
// time: a second clock counts a whole second against us. It is not known when there is a second
// clock that does not answer or has gone back to before that, or when no request was ever
// acknowledged.
func (w *Write) Age(now Clocks) (age when.Span, known bool) {
	age = max(0, now.Counter.Sub(w.from.Counter)) + w.stood
	if !w.Both {
		return age, w.once
	}
	if now.Second == when.NoSecond || w.from.Second == when.NoSecond || now.Second < w.from.Second {
		return age, false
	}
	return max(age, now.Second.Sub(w.from.Second)+when.Second), w.once
}

// Acked is when the latest answer arrived, zero before the first.
func (w *Write) Acked() when.Instant { return w.acked }
