package judge

import (
	"fmt"
	"slices"
	"time"

	"holdfast/mesh/timing"
	"holdfast/rig/journal"
)

// RoundTrip asks whether every commit of a member was made under a lease, as the Ethernet saw it: a
// lease counts from when the member sent the request that was answered last (rule L1), so that, at
// most a write lease before the commit, something of the member's has passed to the authority, and
// then something of the authority's to the member. Neither node's word is needed for that, and no
// guest's clock. It is a necessary condition, not a sufficient one: the relay cannot read the
// frames, which may have been others than a request and its answer.
//
// A machine that was frozen has only its second clock to tell it by, which counts whole seconds: up
// to one more of them may have passed (rule L6).
func RoundTrip(member, authority string) Check {
	return Check{
		Name: "leased-commits", Source: "L1, L6",
		Claim: fmt.Sprintf("in the %v before each commit of %s something of it has passed to %s, and "+
			"something of %s back", writeLease, member, authority, authority),
		ask: func(q *inquiry) {
			q.tripBefore(member, authority, func(d *done, since time.Duration, sent journal.Time) {
				most := writeLease + grain
				if q.frozenBetween(member, sent, d.to) {
					most += secondClock
				}
				q.margin("a commit", since, 0, -requestMost, most)
			})
		},
	}
}

// secondClock is the resolution of the second clock.
const secondClock = timing.SecondClockMS * time.Millisecond

// tripBefore has each commit of a member judged by how long before its request, or how far after
// it, the latest frame left for the authority that another one had followed back when the commit
// was answered. sent is when that was.
func (q *inquiry) tripBefore(
	member, authority string, judge func(d *done, since time.Duration, sent journal.Time),
) {
	asked, answered := q.run.fresh(member, authority), q.run.fresh(authority, member)
	commits := 0
	for _, d := range q.history() {
		// What another machine with the member's key has done is not the member's.
		if d.home != q.run.ID(member) || !d.commit || d.local() && d.node != member {
			continue
		}
		commits++
		f, ok := lastTrip(asked, answered, d.to)
		if !ok {
			q.cite(d.n)
			q.violated("%s: no frames had passed before", d.what())
			continue
		}
		earlier := q.tightest
		judge(&d, d.from.Sub(f.At), f.At)
		if q.tightest != earlier {
			q.cite(f.N, d.n)
		}
	}
	if commits == 0 {
		q.missing("%s has committed nothing", member)
		return
	}
	q.found = q.found[:0]
	q.fact("%d commits of %s", commits, member)
	q.watched()
}

// requestMost is longer than the rig waits for any answer: a request may be older than the frames
// under which it was served.
const requestMost = time.Minute

// lastTrip is the latest frame that one node got through to another and that was followed, until an
// instant, by a frame from there.
func lastTrip(asked, answered []journal.Record, until journal.Time) (f journal.Record, ok bool) {
	i := firstAfter(answered, until)
	if i == 0 {
		return f, false
	}
	i = firstAfter(asked, answered[i-1].At)
	if i == 0 {
		return f, false
	}
	return asked[i-1], true
}

// firstAfter is the index of the first record after an instant, the number of records for none.
func firstAfter(records []journal.Record, t journal.Time) int {
	i, _ := slices.BinarySearchFunc(records, t, func(r journal.Record, t journal.Time) int {
		if r.At > t {
			return 1
		}
		return -1
	})
	return i
}

// fresh returns the frames with new bytes of a mesh session that went from one node to another, in
// order. See lastFrame for what is new.
func (r *Run) fresh(from, to string) []journal.Record {
	var all []journal.Record
	next := make(map[uint16]uint32)
	for _, record := range r.Records {
		f := record.Frame
		if record.Kind != journal.KindFrame || record.Node != from || f.To != to ||
			f.Verdict != "forwarded" {
			continue
		}
		end := f.Seq + uint32(f.Payload)
		if known, seen := next[f.Port]; seen && int32(end-known) <= 0 {
			continue
		}
		next[f.Port] = end
		all = append(all, record)
	}
	slices.SortStableFunc(all, func(a, b journal.Record) int { return int(a.At - b.At) })
	return all
}

// frozenBetween says whether a machine's counter stood still at some time between two instants.
func (q *inquiry) frozenBetween(node string, from, to journal.Time) bool {
	for _, h := range q.run.halts(node) {
		if h.stop.Action.Name == journal.ActionFreeze && h.stop.At <= to && h.until() >= from {
			return true
		}
	}
	return false
}

// halted is a time in which the rig made a machine stand still.
type halted struct {
	stop journal.Record
	goOn journal.Record // zero: it never went on
	end  journal.Time   // of the journal
}

// until is when the machine went on, or the journal's end.
func (h halted) until() journal.Time {
	if h.goOn.Action == nil {
		return h.end
	}
	return h.goOn.Action.Done
}

// halts returns those of a node, in order.
func (r *Run) halts(node string) []halted {
	var all []halted
	for _, record := range r.Records {
		if record.Kind != journal.KindAction || record.Node != node {
			continue
		}
		switch record.Action.Name {
		case journal.ActionFreeze, journal.ActionStall:
			all = append(all, halted{stop: record, end: r.EndAt})
		case journal.ActionThaw, journal.ActionResume:
			if n := len(all); n > 0 {
				all[n-1].goOn = record
			}
		}
	}
	return all
}
