package judge

import (
	"fmt"
	"time"

	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/rig/journal"
)

// lateMost is how late a boundary may be noticed: one tick, and what a step may take (spec 4).
const lateMost = time.Duration(timing.TickMS+timing.HandlerMS) * time.Millisecond

// Boundary is one of the detector's.
type Boundary struct {
	Name  string        // of its checks
	Word  string        // of the row: "suspect" or "failed"
	After time.Duration // of silence
}

// The ADR's boundaries (ADR-0008, section 1): the authority's two, and the member's only one.
var (
	Suspect = Boundary{"suspect", "suspect", timing.SuspectMS * time.Millisecond}
	Failed  = Boundary{"failed", "failed", timing.FailMS * time.Millisecond}
	Lost    = Boundary{"member-suspects", "suspect", timing.SuspectMS * time.Millisecond}
)

// In is the boundary of nodes with that timing.
func (b Boundary) In(t timing.Timing) Boundary {
	after := t.Suspect
	if b.Word == Failed.Word {
		after = t.Fail
	}
	b.After = time.Duration(after) * time.Millisecond
	return b
}

// OwnClock asks whether the observer noticed a boundary in time by its own measure of the silence.
func OwnClock(b Boundary, observer, victim string) Check {
	return Check{
		Name: b.Name + "-own-clock", Source: "ADR 1",
		Claim: fmt.Sprintf("%s says %s %v after the last accepted frame, never early, "+
			"at most %v late", observer, b.Word, b.After, lateMost),
		ask: func(q *inquiry) {
			if row, ok := q.crossing(b, observer, victim); ok {
				silent, _ := row.GetSpan("silent_ms")
				d := time.Duration(silent) * time.Millisecond
				q.margin(b.Word+" after", d, 0, b.After, b.After+lateMost)
			}
		},
	}
}

// loss returns the one action by which the rig made two nodes silent to each other.
func (q *inquiry) loss(node, peer string) (journal.Record, bool) {
	var found []journal.Record
	for _, r := range q.run.Records {
		if r.Kind != journal.KindAction {
			continue
		}
		killed := r.Action.Name == journal.ActionKill && (r.Node == node || r.Node == peer)
		cut := r.Action.Name == journal.ActionCut && (r.Node == node && r.Action.Peer == peer ||
			r.Node == peer && r.Action.Peer == node)
		if killed || cut {
			found = append(found, r)
			q.cite(r.N)
		}
	}
	if len(found) != 1 {
		q.missing("%s and %s were made silent to each other %d times", node, peer, len(found))
		return journal.Record{}, false
	}
	return found[0], true
}

// crossing returns the one row with which the observer reports the boundary after the loss.
func (q *inquiry) crossing(b Boundary, observer, victim string) (Row, bool) {
	loss, ok := q.loss(observer, victim)
	if !ok {
		return Row{}, false
	}
	rows := q.run.rows(observer, "mesh-fail", b.Word)
	for _, row := range rows {
		q.cite(row.N)
	}
	// From the loss on, silence cannot last longer than the time that passed: a boundary that has
	// not been reported although it was over, with all allowances, has been missed for certain.
	overdue := q.run.done(loss).Add(b.After + lateMost + missedAfter)
	switch {
	case len(rows) == 0 && q.run.EndAt > overdue && q.run.End.Outcome != journal.Trouble:
		q.cite(len(q.run.Records))
		q.violated("%s has not said %s by %s after the %s", observer, b.Word,
			seconds(q.run.EndAt.Sub(q.run.done(loss))), loss.Action.Name)
		return Row{}, false
	case len(rows) == 0:
		q.missing("%s printed no %s", observer, b.Word)
		return Row{}, false
	case len(rows) > 1:
		q.violated("%s printed %s %d times", observer, b.Word, len(rows))
	}
	q.want(b.Word, rows[0].Line, "node="+q.run.ID(victim).String())
	return rows[0], true
}

// missedAfter is what a row may take from the node's step to the rig, at the very most.
const missedAfter = 5 * time.Second

// RigClock asks the same without trusting the observer's measure: the silence begins with the last
// bytes of the victim's session that the relay let through, and ends when the row's instant, on the
// observer's clock, was on the rig's.
func RigClock(b Boundary, observer, victim string) Check {
	return Check{
		Name: b.Name + "-rig-clock", Source: "ADR 1",
		Claim: fmt.Sprintf("by the rig's clock, %s says %s %v after the last frame passed the "+
			"relay, never early, at most %v late", observer, b.Word, b.After, lateMost),
		ask: func(q *inquiry) { q.rigClock(b, observer, victim) },
	}
}

func (q *inquiry) rigClock(b Boundary, observer, victim string) {
	row, ok := q.crossing(b, observer, victim)
	if !ok {
		return
	}
	last, ok := q.run.lastFrame(victim, observer, row.Seen)
	if !ok {
		q.missing("no frame of %s to %s was seen", victim, observer)
		return
	}
	q.cite(last.N)
	clock, ok := q.run.clockAt(row.Node, row.N)
	if !ok {
		q.missing("the clock of %s cannot be mapped to the rig's", row.Node)
		return
	}
	at, _ := row.Time()
	from, to := clock.at(at)
	to = min(to, row.Seen) // it was printed before it was read
	// A node does not count the time in which it did not run itself as anybody's silence (rule L5).
	// One that was kept from running for so long that it says so was for less, too, of which it does
	// not tell: how late it was may be its host's doing.
	value, unsharp := to.Sub(last.At), to.Sub(from)
	if stalled := q.stalled(observer, last.N, row.N); stalled > 0 {
		unsharp = max(unsharp+stalled, value-b.After)
	}
	q.margin(b.Word+" after", value, unsharp, b.After, b.After+lateMost)
}

// stalled is for how long a node did not run between two records, by its own account.
func (q *inquiry) stalled(node string, from, to int) time.Duration {
	var sum time.Duration
	for _, row := range q.run.rows(node, "mesh-fail", "paused") {
		if from < row.N && row.N < to {
			q.cite(row.N)
			ms, _ := row.GetSpan("ms")
			sum += time.Duration(ms) * time.Millisecond
		}
	}
	return sum
}

// lastFrame is the last record of new bytes of a mesh session that went from one node to another
// before an instant. Bytes that TCP sent again are not new: they may be old ones whose
// acknowledgement was lost.
func (r *Run) lastFrame(from, to string, until journal.Time) (journal.Record, bool) {
	var last journal.Record
	next := make(map[uint16]uint32) // by session: the sequence number behind the newest byte
	for _, record := range r.Records {
		f := record.Frame
		if record.Kind != journal.KindFrame || record.Node != from || f.To != to ||
			f.Verdict != "forwarded" || record.At > until {
			continue
		}
		end := f.Seq + uint32(f.Payload)
		if known, seen := next[f.Port]; seen && int32(end-known) <= 0 {
			continue
		}
		next[f.Port] = end
		last = record
	}
	return last, last.N > 0
}

// Removed asks whether the authority, and nobody else, removed the victim at the given epoch.
func Removed(epoch id.Epoch, authority, victim string) Check {
	return Check{
		Name: "removed", Source: "ADR 2",
		Claim: fmt.Sprintf("%s removes %s once, at epoch %v, and is the only member left; "+
			"nobody else removes anybody", authority, victim, epoch),
		ask: func(q *inquiry) { q.removed(epoch, authority, victim) },
	}
}

func (q *inquiry) removed(epoch id.Epoch, authority, victim string) {
	for _, n := range q.run.Info.Nodes {
		if n.Name != authority {
			q.none(n.Name, "mesh-fail", "removed")
			q.none(n.Name, "mesh-fail", "failed")
		}
	}
	row, ok := q.only(authority, "epoch="+epoch.String(), "mesh-fail", "removed")
	if !ok {
		return
	}
	all := q.run.rows(authority, "mesh-fail", "removed")
	for _, row := range all {
		q.cite(row.N)
	}
	if len(all) != 1 {
		q.violated("%s printed %d removals", authority, len(all))
	}
	root := q.run.ID(authority).String()
	q.want("the removal", row.Line, "node="+q.run.ID(victim).String(), "members=1",
		"snapshot="+root)
	order := []string{"suspect", "failed", "removed"}
	var earlier when.Instant
	for _, word := range order {
		rows := q.run.rows(authority, "mesh-fail", word)
		if len(rows) == 0 {
			q.missing("%s printed no %s", authority, word)
			continue
		}
		q.cite(rows[0].N)
		at, _ := rows[0].Time()
		if at < earlier {
			q.violated("%s printed %s before what leads to it", authority, word)
		}
		earlier = at
	}
	q.want1("GET /mesh", authority, row, "epoch="+epoch.String(),
		"digest="+fieldOf(row.Line, "digest"), "mutable=1")
	q.fact("epoch %v, digest %s, member %s", epoch, q.short(fieldOf(row.Line, "digest")), authority)
}

// want1 checks the node row of the first GET /mesh after a row was printed.
func (q *inquiry) want1(where, node string, printed Row, fields ...string) {
	a, ok := q.pick(node, "GET", "/mesh", false, after(printed.Seen))
	if !ok {
		return
	}
	if status, ok := a.nodeRow(); ok {
		q.want(where+" of "+node, status, fields...)
		return
	}
	q.violated("%s of %s has no node row", where, node)
}
