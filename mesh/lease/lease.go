// Package lease is the write lease: a member's right to commit for a while after the authority last
// answered it (ADR-0008 section 4, repaired by rules L1 and L5).
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
package lease

import (
	"holdfast/mesh/id"
	"holdfast/mesh/when"
)

// asksMax bounds the outstanding requests: older ones are forgotten, and their answers with them.
const asksMax = 8

type ask struct {
	nonce id.Nonce
	sent  when.Instant
}

// Write is a member's write lease. The zero Write is not held.
type Write struct {
	asks  [asksMax]ask
	next  int
	held  bool
	until when.Instant
	sent  when.Instant
	acked when.Instant
}

// Ask remembers a request that is sent at now. The nonce is not zero.
func (w *Write) Ask(now when.Instant, nonce id.Nonce) {
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
		w.sent, w.acked = max(w.sent, a.sent), now
		if until := a.sent.Add(length); !w.held || until > w.until {
			w.held, w.until = true, until
		}
		*a = ask{}
		return true
	}
	return false
}

// Zero ends the lease and forgets the outstanding requests. Sent stays: it is evidence.
func (w *Write) Zero() {
	w.asks = [asksMax]ask{}
	w.held, w.until = false, 0
}

// Valid reports whether the lease is held at now, its last millisecond included.
func (w *Write) Valid(now when.Instant) bool { return w.held && now <= w.until }

// Left is what remains of the lease, zero when there is none.
func (w *Write) Left(now when.Instant) when.Span {
	if !w.Valid(now) {
		return 0
	}
	return w.until.Sub(now)
}

// Sent is when the latest acknowledged request was sent, zero before the first.
func (w *Write) Sent() when.Instant { return w.sent }

// Acked is when the latest answer arrived, zero before the first.
func (w *Write) Acked() when.Instant { return w.acked }
