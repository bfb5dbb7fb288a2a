// Package replay is the window of requests that an object's home remembers (rule L11;
// spec/protocol.md, "Request identity"). A request is executed at most once:
//
//	remembered, same digest            the remembered reply (a repeated stat: replay)
//	remembered, other digest           replay
//	not above the client boot's mark   replay: it was remembered once and has been evicted
//	first sent before this home began  unknown-outcome: an earlier home may have executed it
//	else                               execute, then Remember
//
// The window is a value without pointers: it moves with the object's record. It is bounded, and
// that is the limit of its promise: once more than Max client boots have evicted requests, the boot
// that has been quiet for longest is forgotten, and a duplicate of its that was on its way for that
// long would be executed again.
package replay

import (
	"slices"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
)

// Max bounds the remembered requests of an object, and the client boots with evicted ones.
const Max = 8

// Reply is what is remembered of an answer.
type Reply struct {
	Version    uint64
	Durability wire.Durability
	Copies     uint8
}

type entry struct {
	request wire.Request
	digest  id.Digest
	op      wire.Op
	reply   Reply
}

type mark struct {
	client id.Client
	boot   id.Boot
	seq    uint64 // the highest evicted
}

// Window is what a home remembers for one object, oldest first. The zero Window is empty.
type Window struct {
	entries [Max]entry
	n       int
	marks   [Max]mark // the one that was raised last is last
	marked  int
}

// Verdict is what is to be done with a request.
type Verdict uint8

// The verdicts.
const (
	Execute Verdict = iota
	Repeat          // answer with the remembered reply
	Refuse          // answer with the word
)

// Check looks a request up. Since is the epoch since which this node is the object's home.
func (w *Window) Check(q *wire.RouteReq, since id.Epoch) (Verdict, refusal.Word, Reply) {
	for i := range w.n {
		e := &w.entries[i]
		if e.request != q.Request {
			continue
		}
		if e.op == wire.Stat || e.digest != q.Digest() {
			return Refuse, refusal.Replay, Reply{}
		}
		return Repeat, refusal.OK, e.reply
	}
	if m := w.mark(q.Request); m != nil && q.Request.Seq <= m.seq {
		return Refuse, refusal.Replay, Reply{}
	}
	if q.FirstEpoch < since {
		return Refuse, refusal.UnknownOutcome, Reply{}
	}
	return Execute, refusal.OK, Reply{}
}

// Remembers reports whether an executed request is in the window.
func (w *Window) Remembers(r wire.Request) bool {
	_, ok := w.Version(r)
	return ok
}

// Version is that of the reply to a request in the window: what a commit has made, or a read found.
func (w *Window) Version(r wire.Request) (uint64, bool) {
	for i := range w.n {
		if e := &w.entries[i]; e.request == r {
			return e.reply.Version, true
		}
	}
	return 0, false
}

// Remember adds an executed request and its reply, evicting the oldest when the window is full.
func (w *Window) Remember(q *wire.RouteReq, r Reply) { w.RememberAs(q, q.Digest(), r) }

// RememberAs is Remember for a request whose digest is known already: it costs more than all the
// rest.
func (w *Window) RememberAs(q *wire.RouteReq, digest id.Digest, r Reply) {
	if w.n == Max {
		w.evict()
	}
	w.entries[w.n] = entry{q.Request, digest, q.Op, r}
	w.n++
}

func (w *Window) evict() {
	r := w.entries[0].request
	copy(w.entries[:], w.entries[1:w.n])
	w.n--
	next := mark{r.Client, r.Boot, r.Seq}
	gone := slices.IndexFunc(w.marks[:w.marked], func(m mark) bool { return m.of(r) })
	switch {
	case gone >= 0:
		next.seq = max(next.seq, w.marks[gone].seq)
	case w.marked == Max:
		gone = 0 // the one that was raised longest ago
	default:
		gone = w.marked
		w.marked++
	}
	copy(w.marks[gone:w.marked], w.marks[gone+1:w.marked])
	w.marks[w.marked-1] = next
}

func (m *mark) of(r wire.Request) bool { return m.client == r.Client && m.boot == r.Boot }

func (w *Window) mark(r wire.Request) *mark {
	for i := range w.marked {
		if m := &w.marks[i]; m.of(r) {
			return m
		}
	}
	return nil
}
