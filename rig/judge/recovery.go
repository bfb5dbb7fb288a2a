package judge

import (
	"fmt"
	"time"

	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// toldMost is the longest that a member may be without the word that it is stale once the authority
// hears it again, also when its session has to be made anew first.
const toldMost = 25 * time.Second

// ToldStale asks whether a member that was removed behind its back learns it from the authority
// once they reach each other again, and not before (rule L9).
func ToldStale(epoch, current id.Epoch, member, authority string) Check {
	return Check{
		Name: "told-stale", Source: "ADR 6, L9",
		Claim: fmt.Sprintf("%s is told once, after the healing, that its epoch %v is stale and "+
			"%v is current", member, epoch, current),
		ask: func(q *inquiry) {
			cut, ok := q.isolated(member)
			if !ok {
				return
			}
			all := q.run.rows("", "mesh-fail", "stale")
			for _, row := range all {
				q.cite(row.N)
			}
			if len(all) == 0 && q.neverTold(cut, member, authority) {
				return
			}
			row, ok := q.only(member, "epoch="+epoch.String(), "mesh-fail", "stale")
			if !ok {
				return
			}
			q.want("what it was told", row.Line, "current="+current.String())
			if len(all) != 1 || row.N < cut.healed.N {
				q.violated("%d nodes were told, %s at record %d, and the relay healed at %d",
					len(all), member, row.N, cut.healed.N)
			}
			q.fact("%s after the healing, %s", seconds(row.Seen.Sub(cut.healed.At)),
				q.session(cut, row, authority))
		},
	}
}

// neverTold violates when the member should have been told for certain: both hear each other again,
// and nobody was kept from running.
func (q *inquiry) neverTold(cut isolation, member, authority string) bool {
	waited := q.run.EndAt.Sub(cut.healed.At)
	heard := func(from, to string) bool {
		last, ok := q.run.lastFrame(from, to, q.run.EndAt)
		return ok && last.At > cut.healed.At
	}
	if cut.healed.Kind != journal.KindAction || waited <= toldMost || q.kept() ||
		!heard(member, authority) || !heard(authority, member) {
		return false
	}
	q.cite(cut.healed.N, len(q.run.Records))
	q.violated("%s was not told by %s after the healing, at most %s", member, seconds(waited),
		seconds(toldMost))
	return true
}

// SameBoot asks whether a node went through the whole run without starting again.
func SameBoot(node string) Check {
	return Check{
		Name: "same-boot", Source: "ADR 6",
		Claim: node + " comes back without a reboot",
		ask: func(q *inquiry) {
			starts := q.run.rows(node, "mesh-node", "start")
			for _, row := range starts {
				q.cite(row.N)
			}
			switch len(starts) {
			case 0:
				q.missing("%s printed no start", node)
				return
			case 1:
			default:
				q.violated("%s started %d times", node, len(starts))
			}
			q.watched()
			q.fact("boot %s to the end", fieldOf(starts[0].Line, "boot"))
		},
	}
}

// Restored asks whether a member that had lost the authority says that it has it back, mutable, in
// the view that admitted it again.
func Restored(epoch id.Epoch, member, authority string) Check {
	return Check{
		Name: "authority-restored", Source: "ADR 6",
		Claim: fmt.Sprintf("%s says once that %s is its authority again, at epoch %v and mutable",
			member, authority, epoch),
		ask: func(q *inquiry) {
			row, ok := q.only(member, "state=restored", "mesh-fail", "authority")
			if !ok {
				return
			}
			q.want("the row", row.Line, "epoch="+epoch.String(), "root="+q.run.ID(authority).String(),
				"mutable=1")
			if joined, ok := q.only(member, "epoch="+epoch.String(), "mesh-join", "confirmed"); ok &&
				row.N < joined.N {
				q.violated("%s said so before it was confirmed", member)
			}
			a, ok := q.pick(member, "GET", "/mesh/route", false, after(row.Seen))
			if !ok {
				return
			}
			if l, ok := a.first("mesh-route", "authority"); ok {
				q.want(member+"'s authority row", l, "state=current", "epoch="+epoch.String(),
					"mutable=1")
			} else {
				q.violated("GET /mesh/route of %s has no authority row", member)
			}
			q.fact("at epoch %v", epoch)
		},
	}
}

// session says on which session a member came back: which one does not matter, but whoever reads
// the verdict wants to know.
func (q *inquiry) session(cut isolation, told Row, authority string) string {
	earlier, ok1 := q.run.lastFrame(authority, told.Node, cut.cut.At)
	latest, ok2 := q.run.lastFrame(authority, told.Node, told.Seen)
	switch {
	case !ok1 || !ok2 || latest.At < cut.healed.At:
		return "on a session that the relay has not seen"
	case latest.Frame.Port == earlier.Frame.Port:
		return fmt.Sprintf("on the session of before the cut, port %d", latest.Frame.Port)
	}
	return fmt.Sprintf("on a new session, port %d", latest.Frame.Port)
}
