package judge

import (
	"fmt"
	"time"

	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

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
	found := false
	for _, row := range q.run.rows(member, "mesh-fail", "authority") {
		if epoch, _ := row.GetEpoch("epoch"); epoch >= removed {
			continue
		}
		word, found = row, true
	}
	if !found {
		return word, 0, false
	}
	// Authority restored: that row has no such field, since the member has another lease now.
	sent, ok := word.GetInstant("lease_sent_ms")
	clock, even := q.run.clockOf(word, sent)
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
