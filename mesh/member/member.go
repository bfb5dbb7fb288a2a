// Package member is the table of a view's members and of what this node has heard from them. One
// table serves the detector, the leases and the views, so that there is no second list of who is
// alive (ADR-0008 section 1).
//
//	        silence >= suspect          silence >= fail
//	Alive ----------------------> Suspect ------------> Failed
//	  ^                              |
//	  +------- accepted frame -------+        Failed is left through a new view only
//
// A frame counts only when it comes from the boot that is in the view: a stale incarnation cannot
// refresh a dead record. The table never decides who is in the view; Install tells it.
package member

import (
	"slices"

	"holdfast/mesh/detect"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
)

// Entry is one member as this node sees it.
type Entry struct {
	view.Member

	Heard  when.Instant // last accepted frame, moved forward by local pauses
	Health detect.Health

	// The fields below are the authority's.

	Acked    bool            // a LeaseAck was sent to this boot
	LastAck  when.Instant    // the latest one
	asked    [askedMax]asked // the latest LeaseAcks and Pings
	Echoed   when.Instant    // when the newest of them was sent that the member has echoed
	Called   when.Instant    // when it was last asked to show that it hears
	Viewed   id.Epoch        // the newest view that it acknowledged
	Pushed   when.Instant    // when the current view was last sent to it
	Drain    DrainState
	DrainEnd when.Instant // the drain is waited for until then
	Waits    []Wait       // no LeaseAck before these are over (rule L16)
	Moved    id.Epoch     // newest lab move to it that every member knows, in this view
}

// askedMax bounds the frames that can be echoed: at one every W/3, more than the six seconds for
// which an echo counts.
const askedMax = 8

type asked struct {
	nonce id.Nonce
	sent  when.Instant
}

// Asked notes a LeaseAck or a Ping sent at now: the member is to echo its nonce.
func (e *Entry) Asked(now when.Instant, nonce id.Nonce) {
	copy(e.asked[1:], e.asked[:])
	e.asked[0] = asked{nonce, now}
}

// Echo notes that the member has got the frame with this nonce.
func (e *Entry) Echo(nonce id.Nonce) {
	for _, a := range e.asked {
		if nonce != 0 && a.nonce == nonce {
			e.Echoed = max(e.Echoed, a.sent)
		}
	}
}

// DrainState says how far the authority is on its way to a conviction (rule L12).
type DrainState uint8

// The drain states.
const (
	DrainIdle   DrainState = iota
	DrainAsked             // what had arrived is being taken in
	DrainedOnce            // it has been: silence now counts
)

// Wait is a former holder whose lease may still run: over when that boot has acknowledged the view
// that took its objects, or when Until has come.
type Wait struct {
	Node  id.Node
	Boot  id.Boot
	Until when.Instant
}

// Table holds the members of the current view but the node itself, sorted by id.
type Table struct{ entries []Entry }

// Install makes the table that of v, seen by self. What was heard from a boot that stays is kept; a
// new boot starts Alive and heard now.
func (t *Table) Install(now when.Instant, v *view.View, self id.Node) {
	next := make([]Entry, 0, len(v.Members))
	for _, m := range v.Members {
		if m.ID == self {
			continue
		}
		e := Entry{Member: m, Heard: now, Echoed: now}
		if old := t.Find(m.ID); old != nil && old.Boot == m.Boot && old.Health != detect.Failed {
			e = *old
			e.Member, e.Moved = m, 0
		}
		next = append(next, e)
	}
	t.entries = next
}

// Find returns the entry of n, nil when n is not another member. It is valid until the next
// Install.
func (t *Table) Find(n id.Node) *Entry {
	for i := range t.entries {
		if t.entries[i].ID == n {
			return &t.entries[i]
		}
	}
	return nil
}

// All returns the entries in id order, valid until the next Install.
func (t *Table) All() []Entry { return t.entries }

// Heard credits an accepted frame of that boot of n. It returns how long n had been silent, and
// whether it was Suspect until now. Another boot and a Failed member get no credit.
func (t *Table) Heard(now when.Instant, n id.Node, b id.Boot) (silence when.Span, recovered bool) {
	e := t.Find(n)
	if e == nil || e.Boot != b || e.Health == detect.Failed {
		return 0, false
	}
	silence, recovered = e.Silence(now), e.Health == detect.Suspect
	e.Heard = max(e.Heard, now)
	e.Health, e.Drain = detect.Alive, DrainIdle
	return silence, recovered
}

// Excuse moves every silence forward by a local pause: this node was not listening (rule L5).
func (t *Table) Excuse(now when.Instant, pause when.Span) {
	for i := range t.entries {
		e := &t.entries[i]
		e.Heard = min(e.Heard.Add(pause), max(now, e.Heard))
		e.Echoed = min(e.Echoed.Add(pause), max(now, e.Echoed))
		e.Drain = DrainIdle
	}
}

// Silence is the time since the last accepted frame.
func (e *Entry) Silence(now when.Instant) when.Span { return now.Sub(e.Heard) }

// Due returns the instant at which e's health changes next if nothing is heard, when.Never for a
// Failed one.
func (e *Entry) Due(t timing.Timing) when.Instant {
	switch e.Health {
	case detect.Alive:
		return e.Heard.Add(t.Suspect)
	case detect.Suspect:
		return e.Heard.Add(t.Fail)
	}
	return when.Never
}

// Waiting forgets the waits that are over at now and reports whether any is left.
func (e *Entry) Waiting(now when.Instant) bool {
	e.Waits = slices.DeleteFunc(e.Waits, func(w Wait) bool { return now >= w.Until })
	return len(e.Waits) > 0
}

// Fenced is the wait for e itself, which has been acknowledged.
func (e *Entry) Fenced(t timing.Timing) Wait {
	return Wait{Node: e.ID, Boot: e.Boot, Until: e.LastAck.Add(t.Fence())}
}

// Merge adds waits to others: each boot is waited for once, as long as the longest of its waits.
func Merge(to []Wait, ws ...Wait) []Wait {
	for _, w := range ws {
		i := slices.IndexFunc(to, func(o Wait) bool { return o.Node == w.Node && o.Boot == w.Boot })
		if i < 0 {
			to = append(to, w)
			continue
		}
		to[i].Until = max(to[i].Until, w.Until)
	}
	return to
}

// Released ends the waits for that boot of n: it has acknowledged the view that took its objects.
func (t *Table) Released(n id.Node, b id.Boot) {
	for i := range t.entries {
		e := &t.entries[i]
		e.Waits = slices.DeleteFunc(e.Waits, func(w Wait) bool { return w.Node == n && w.Boot == b })
	}
}
