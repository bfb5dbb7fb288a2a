package judge

import (
	"fmt"
	"strings"

	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// Joined asks whether a joiner was admitted: both kernels confirm the same view of all nodes, and
// both answer with it over HTTP.
func Joined(name string, epoch id.Epoch, authority, joiner string) Check {
	return Check{
		Name: name, Source: "ADR 2",
		Claim: fmt.Sprintf("both kernels confirm %s at epoch %v with one digest and both members",
			joiner, epoch),
		ask: func(q *inquiry) { q.joined(epoch, authority, joiner) },
	}
}

func (q *inquiry) joined(epoch id.Epoch, authority, joiner string) {
	members := []id.Node{q.run.ID(authority), q.run.ID(joiner)}
	digest := ""
	for _, node := range []string{authority, joiner} {
		row, ok := q.only(node, "epoch="+epoch.String(), "mesh-join", "confirmed")
		if !ok {
			continue
		}
		q.want(node+"'s confirmation", row.Line, "node="+q.run.ID(joiner).String(),
			fmt.Sprintf("members=%d", len(members)), "snapshot="+sorted(members),
			"incarnation="+epoch.String())
		got, _ := row.Get("digest")
		if digest == "" {
			digest = got
		}
		if got != digest {
			q.violated("%s confirms digest %s, %s confirms %s",
				authority, q.short(digest), joiner, q.short(got))
		}
		q.table(node, row, epoch, digest, members)
	}
	for _, row := range q.run.rows("", "mesh-join", "refused") {
		q.cite(row.N)
		q.violated("%s printed: %s", row.Node, row.Line.String())
	}
	q.fact("digest %s, members %s", q.short(digest), q.short(sorted(members)))
}

// table checks what a node says of itself after it confirmed a view and before the next one.
func (q *inquiry) table(
	node string, confirmed Row, epoch id.Epoch, digest string, members []id.Node,
) {
	a, ok := q.pick(node, "GET", "/mesh", false, func(r journal.Record) bool {
		status, ok := statusLine(r.HTTP)
		mutable, _ := status.GetBool("mutable")
		return r.HTTP.Sent >= confirmed.Seen && (!ok || mutable)
	})
	if !ok {
		return
	}
	status, ok := a.nodeRow()
	if !ok {
		q.violated("%s's answer to GET /mesh has no node row", node)
		return
	}
	q.want(node, status, "mesh=joined", "epoch="+epoch.String(), "digest="+digest, "mutable=1")
	var listed []id.Node
	for _, l := range a.lines {
		if member, ok := l.GetNode("id"); ok && l != status {
			listed = append(listed, member)
			q.want(node+"'s row of "+q.run.Name(member), l, "state=alive")
		}
	}
	if sorted(listed) != sorted(members) {
		q.violated("%s lists members %s", node, q.short(sorted(listed)))
	}
}

// Rendezvous asks whether the nodes place every lab object where its scores say, before anything
// happened: the rig computes the homes itself.
func Rendezvous(nodes ...string) Check {
	return Check{
		Name: "homes-by-score", Source: "spec 5",
		Claim: "every node has each lab object at the member with the highest score",
		ask: func(q *inquiry) {
			for _, node := range nodes {
				q.rendezvous(node)
			}
		},
	}
}

func (q *inquiry) rendezvous(node string) {
	anytime := func(journal.Record) bool { return true }
	a, ok := q.pick(node, "GET", "/mesh/homes", false, anytime)
	if !ok {
		return
	}
	rows := a.homes()
	q.complete(node, rows)
	for _, h := range rows {
		if want := home.Of(h.object, q.run.Nodes); h.node != want {
			q.violated("%s has %s at %s, the score says %s", node, q.run.object(h.object),
				q.run.Name(h.node), q.run.Name(want))
		}
	}
	q.fact("%d objects at %s", len(rows), node)
}

// complete checks that each lab object has exactly one row.
func (q *inquiry) complete(node string, rows []homeRow) {
	var wrong []string
	for _, o := range q.run.Info.Objects {
		count := 0
		for _, h := range rows {
			if h.object.String() == o.ID {
				count++
			}
		}
		if count != 1 {
			wrong = append(wrong, fmt.Sprintf("%s %d times", o.Name, count))
		}
	}
	if len(wrong) > 0 {
		q.violated("GET /mesh/homes of %s has %s", node, strings.Join(wrong, ", "))
	}
}

// Quiet asks that nothing was detected or removed anywhere, in a run that is longer than detecting
// and removing would take.
func Quiet() Check {
	return Check{
		Name: "nothing-detected", Source: "ADR 1",
		Claim: fmt.Sprintf("nobody is suspected, failed or removed, and no epoch passes but by a "+
			"join, for more than %v", Failed.After),
		ask: (*inquiry).quiet,
	}
}

func (q *inquiry) quiet() {
	for _, word := range []string{"suspect", "failed", "recovered", "removed", "stale"} {
		q.none("", "mesh-fail", word)
	}
	for _, row := range q.run.leftView("") {
		q.cite(row.N)
		q.violated("%s printed: %s", row.Node, row.Line.String())
	}
	for _, r := range q.run.Records {
		if r.Kind != journal.KindBoot {
			continue
		}
		lasted := q.run.EndAt.Sub(r.At)
		if lasted <= Failed.After {
			q.missing("the run lasted for %s only", seconds(lasted))
		}
		q.fact("for %s", seconds(lasted))
		break
	}
	q.watched()
}

// NewBoot asks whether a node that was started again says so: another boot, the same node.
func NewBoot(node string) Check {
	return Check{
		Name: "new-boot", Source: "spec 2",
		Claim: node + " comes back as the same node in another boot",
		ask:   func(q *inquiry) { q.newBoot(node) },
	}
}

func (q *inquiry) newBoot(node string) {
	said := make(map[int]bool)   // by boot
	seen := make(map[string]int) // the boot that a nonce names
	for _, row := range q.run.rows(node, "mesh-node", "start") {
		q.cite(row.N)
		said[row.Boot] = true
		q.want(fmt.Sprintf("start %d of %s", row.Boot, node), row.Line,
			"node="+q.run.ID(node).String())
		nonce := fieldOf(row.Line, "boot")
		if earlier, used := seen[nonce]; used {
			q.violated("%s's boots %d and %d have one nonce, %s", node, earlier, row.Boot, nonce)
		}
		seen[nonce] = row.Boot
	}
	boots := 0
	for _, r := range q.run.Records {
		if r.Kind != journal.KindBoot || r.Node != node {
			continue
		}
		boots++
		if !said[r.Boot] {
			q.missing("boot %d of %s said nothing of its start", r.Boot, node)
		}
	}
	if boots < 2 {
		q.missing("%s was booted %d times", node, boots)
	}
	q.fact("%d boots", boots)
}
