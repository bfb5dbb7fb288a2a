package judge

import (
	"fmt"
	"time"

	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// isolation is the time between a cut and its healing, by record numbers. A run that ended before
// the healing is cut to its end.
type isolation struct {
	cut, healed journal.Record
}

// isolated returns when two nodes were cut off from each other.
func (q *inquiry) isolated(node string) (isolation, bool) {
	var cuts []journal.Record
	i := isolation{healed: q.run.Records[len(q.run.Records)-1]}
	for _, r := range q.run.Records {
		if r.Kind != journal.KindAction || r.Node != node && r.Action.Peer != node {
			continue
		}
		switch r.Action.Name {
		case journal.ActionCut:
			cuts = append(cuts, r)
		case journal.ActionHeal:
			i.healed = r
		}
	}
	if len(cuts) != 1 {
		q.missing("%s was cut off %d times", node, len(cuts))
		return i, false
	}
	i.cut = cuts[0]
	q.cite(i.cut.N)
	return i, true
}

// within says whether a record belongs to the isolation.
func (i isolation) within(n int) bool { return i.cut.N < n && n < i.healed.N }

// ViewKept asks whether an isolated member keeps its view, its homes and its leases, whatever the
// other side decides meanwhile.
func ViewKept(epoch id.Epoch, member string) Check {
	return Check{
		Name: "view-kept", Source: "ADR 6",
		Claim: fmt.Sprintf("while it is isolated, %s keeps epoch %v, its digest, its members and "+
			"its homes, and installs, confirms or removes nothing", member, epoch),
		ask: func(q *inquiry) { q.viewKept(epoch, member) },
	}
}

func (q *inquiry) viewKept(epoch id.Epoch, member string) {
	cut, ok := q.isolated(member)
	if !ok {
		return
	}
	for _, row := range q.run.rows(member, "mesh-view", "installed") {
		if cut.within(row.N) {
			q.cite(row.N)
			q.violated("%s printed: %s", member, row.Line.String())
		}
	}
	for _, head := range [][2]string{{"mesh-join", "confirmed"}, {"mesh-fail", "removed"},
		{"mesh-fail", "failed"}, {"mesh-fail", "stale"}, {"mesh-route", "fence"},
		{"mesh-route", "move"}, {"mesh-route", "lease"}, {"mesh-node", "start"}} {
		for _, row := range q.run.rows(member, head[0], head[1]) {
			if cut.within(row.N) {
				q.cite(row.N)
				q.violated("%s printed: %s", member, row.Line.String())
			}
		}
	}
	before, ok := q.pick(member, "GET", "/mesh/homes", true, before(cut.cut.At))
	if !ok {
		return
	}
	surveys := 0
	for _, record := range q.run.requests(member, "GET", "/mesh/homes") {
		if !cut.within(record.N) || record.HTTP.Status == 0 {
			continue
		}
		surveys++
		if now, ok := q.read(record); ok {
			q.sameHomes(member, before, now)
		}
	}
	q.sameView(epoch, member, cut)
	if surveys == 0 {
		q.missing("%s was not asked for its homes while it was isolated", member)
	}
	if q.run.End.Outcome != journal.Complete && cut.healed.Kind != journal.KindAction {
		q.missing("the run did not come to the healing")
	}
	q.fact("%d homes unchanged", len(before.homes()))
}

// sameView checks that an isolated node says of its view what it said before the cut.
func (q *inquiry) sameView(epoch id.Epoch, node string, cut isolation) {
	known, ok := q.pick(node, "GET", "/mesh", true, before(cut.cut.At))
	if !ok {
		return
	}
	was, _ := known.nodeRow()
	for _, record := range q.run.requests(node, "GET", "/mesh") {
		if !cut.within(record.N) || record.HTTP.Status == 0 {
			continue
		}
		now, ok := q.read(record)
		if !ok {
			continue
		}
		status, _ := now.nodeRow()
		q.want(node, status, "mesh=joined", "epoch="+epoch.String(), "mutable=0",
			"digest="+fieldOf(was, "digest"))
		if now.members() != known.members() {
			q.violated("%s lists %d members, before the cut %d", node, now.members(), known.members())
		}
	}
}

// sameHomes checks that a node's homes and home leases are what they were. An object that somebody
// has asked for meanwhile is a new row.
func (q *inquiry) sameHomes(node string, before, now answer) {
	rows := now.homes()
	q.complete(node, rows)
	was := make(map[id.Object]homeRow)
	for _, h := range before.homes() {
		was[h.object] = h
	}
	for _, h := range rows {
		if _, known := was[h.object]; !known {
			continue
		}
		for _, key := range []string{"home", "home_epoch", "lease"} {
			a, b := fieldOf(was[h.object].line, key), fieldOf(h.line, key)
			if a != b {
				q.violated("%s's row of %s went from %s=%s to %s", node, q.run.object(h.object), key,
					q.short(a), q.short(b))
			}
		}
	}
}

// IsolatedStep asks for the step in which an isolated member tries a commit and a remote read: both
// are refused, and the leases say why.
func IsolatedStep(s LabStep, member, claim string) Check {
	c := s.Check(claim)
	c.Source = "ADR 5, 6"
	c.ask = func(q *inquiry) {
		rows, ok := s.rows(q, 2)
		if !ok {
			return
		}
		q.want("the commit", rows[0].Line, "op=commit", "status=no-authority", "sends=0")
		q.want("the remote read", rows[1].Line, "op=stat", "status=no-authority", "sends=0")
		q.fact("%s and %s: no-authority", q.short(fieldOf(rows[0].Line, "object")),
			q.short(fieldOf(rows[1].Line, "object")))
		q.leasesAfter(member, rows[1])
	}
	return c
}

// leasesAfter checks that the objects that an isolated member homes have no write lease after a
// row, and that their read leases count down.
func (q *inquiry) leasesAfter(member string, row Row) {
	a, ok := q.pick(member, "GET", "/mesh/homes", false, after(row.Seen))
	if !ok {
		return
	}
	least := readLease
	held := 0
	for _, h := range a.homes() {
		if h.node != q.run.ID(member) {
			continue
		}
		held++
		q.want(member+"'s row of "+q.run.object(h.object), h.line, "lease=active", "write_ms=0")
		left, _ := h.line.GetSpan("read_ms")
		least = min(least, time.Duration(left)*time.Millisecond)
	}
	if held == 0 {
		q.violated("%s homes nothing any more", member)
	}
	q.fact("%d objects without a write lease, readable for %s", held, seconds(least))
}
