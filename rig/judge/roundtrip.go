package judge

import (
	"fmt"
	"slices"
	"time"

	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/rig/journal"
)

// RoundTrip asks whether every commit of a member was made under a lease, as the Ethernet saw it: a
// lease counts from when the member sent the request that was answered last (rule L1), so that, at
// most a write lease before the commit, something of the member's has passed to the authority, and
// then something of the authority's to the member. Neither node's word is needed for that, and no
// guest's clock. It is a necessary condition, not a sufficient one: the relay cannot read the frames,
// which may have been others than a request and its answer.
//
// A machine that was frozen has only its second clock to tell it by, which counts whole seconds: up
// to one more of them may have passed (rule L6).
func RoundTrip(member, authority string) Check {
	return Check{
		Name: "leased-commits", Source: "L1, L6",
		Claim: fmt.Sprintf("in the %v before each commit of %s something of it has passed to %s, and "+
			"something of %s back", writeLease, member, authority, authority),
		ask: func(q *inquiry) { q.roundTrip(member, authority) },
	}
}

// secondClock is the resolution of the second clock.
const secondClock = timing.SecondClockMS * time.Millisecond

func (q *inquiry) roundTrip(member, authority string) {
	asked, answered := q.run.fresh(member, authority), q.run.fresh(authority, member)
	commits := 0
	for _, d := range q.history() {
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
		most := writeLease + grain
		if q.frozenBetween(member, f.At, d.to) {
			most += secondClock
		}
		earlier := q.tightest
		q.margin("a commit", d.from.Sub(f.At), 0, -requestMost, most)
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

// LeaseOver asks whether each lease of a removed member was over before the authority could commit
// in its place, on the rig's clock: the removal is the first instant of that.
//
// There are two witnesses. If a write lease before the removal nothing had gone to and fro, there
// was no lease, whatever the member says. If something had, it need not have been a lease request
// that was answered, and the member's own word counts: when it asked for its last lease. That word
// alone can show that the rule was broken.
func LeaseOver(member, authority string) Check {
	return Check{
		Name: "lease-over-first", Source: "ADR 4, L1, L3",
		Claim: fmt.Sprintf("whenever %s removes %s, the lease that %s had last is over, by the rig's "+
			"clock", authority, member, member),
		ask: func(q *inquiry) { q.leaseOver(member, authority) },
	}
}

func (q *inquiry) leaseOver(member, authority string) {
	asked, answered := q.run.fresh(member, authority), q.run.fresh(authority, member)
	removals := 0
	for _, row := range q.run.rows(authority, "mesh-fail", "removed") {
		if n, _ := row.GetNode("node"); n != q.run.ID(member) {
			continue
		}
		removals++
		q.cite(row.N)
		from, _, ok := q.instant(row)
		if !ok {
			return
		}
		trip, ok := lastTrip(asked, answered, row.Seen)
		word, asked, said := q.lastWord(member, row)
		switch {
		case said:
			q.cite(word.N)
			q.overBy(member, "asked for it", asked, row, from)
		case ok && from.Sub(trip.At) >= q.leaseOf(member, trip.At, row.Seen):
			q.cite(trip.N)
			q.overBy(member, "got a frame through and one back", trip.At, row, from)
		default:
			q.missing("when %s asked for its last lease before the removal at %s is not known", member,
				from)
		}
	}
	q.watched()
	q.cite(1)
	if removals == 0 {
		q.fact("%s was not removed", member)
	}
}

// overBy judges whether a lease that counts from an instant was over when the authority removed the
// member, at the earliest at another.
func (q *inquiry) overBy(member, when string, since journal.Time, removal Row, from journal.Time) {
	lease := q.leaseOf(member, since, removal.Seen)
	q.margin(fmt.Sprintf("after %s %s, the lease is over", member, when), lease, 0, 0,
		from.Sub(since))
	q.fact("the removal comes %s after that", seconds(from.Sub(since)))
}

// leaseOf is how long a member's lease lasts at most that it asked for between two instants.
func (q *inquiry) leaseOf(member string, from, to journal.Time) time.Duration {
	if q.frozenBetween(member, from, to) {
		return writeLease + secondClock
	}
	return writeLease
}

// lastWord is what a member says of the last lease that it had before a removal, when it lost its
// authority: the latest instant at which it may have asked for it.
func (q *inquiry) lastWord(member string, removal Row) (word Row, asked journal.Time, ok bool) {
	removed, _ := removal.GetEpoch("epoch")
	for _, row := range q.run.rows(member, "mesh-fail", "authority") {
		if epoch, _ := row.GetEpoch("epoch"); epoch >= removed {
			continue
		}
		word, ok = row, fieldOf(row.Line, "state") == "lost" // restored: it has another lease since
	}
	if !ok {
		return word, 0, false
	}
	sent, ok := word.GetInstant("lease_sent_ms")
	clock, even := q.run.clockOf(member, word.Boot, sent)
	if !ok || !even {
		return word, 0, false
	}
	_, asked = clock.at(sent)
	return word, asked, true
}

// Times is how often the authority is to have removed the member.
type Times struct{ Least, Most int }

// Removals asks how often a member was removed, and that nobody else was.
func Removals(member, authority string, times Times, claim string) Check {
	return Check{
		Name: "removals", Source: "ADR 1, 2", Claim: claim,
		ask: func(q *inquiry) {
			var epochs []id.Epoch
			for _, row := range q.run.rows("", "mesh-fail", "removed") {
				q.cite(row.N)
				node, _ := row.GetNode("node")
				epoch, _ := row.GetEpoch("epoch")
				if row.Node != authority || node != q.run.ID(member) {
					q.violated("%s printed: %s", row.Node, row.Line.String())
				}
				epochs = append(epochs, epoch)
			}
			n := len(epochs)
			switch {
			case n > times.Most:
				q.violated("%s was removed %d times, at most %d expected", member, n, times.Most)
			case !q.watched():
			case n < times.Least:
				q.violated("%s was removed %d times, at least %d expected", member, n, times.Least)
			}
			q.cite(1)
			q.fact("%d, at epochs %v", n, epochs)
		},
	}
}
