package selftest

import (
	"holdfast/rig/journal"
)

const (
	move     = "mesh-route: move"
	draining = "state=draining"
	// drained is in the root's home row of the object that step 2 moves.
	drained = "lease=draining"
)

// taken is the lease row with which the member takes the moved object over.
func taken() string {
	return "mesh-route: lease object=" + homed(root) + " state=active home=" + idOf(member)
}

func moveDamages() []damage {
	n0, n1 := idOf(root), idOf(member)
	const counters = "mesh-route: counters"
	return []damage{
		{"a move that nobody answered", drop(root, "POST /mesh/step/2"), "step-2", inconclusive, open},
		{"a move to the root", both(set(root, move, "to", n0),
			answer(root, "POST /mesh/step/2", move, "to", n0)), "step-2", violated, wrong},
		{"a move from the member", both(set(root, move, "from", n1),
			answer(root, "POST /mesh/step/2", move, "from", n1)), "step-2", violated, wrong},
		{"a move that the console does not show", drop(root, move), "step-2", inconclusive, open},
		{"a move of another object than was read", both(
			set(root, move, "object", homedObject(root, 2)),
			answer(root, "POST /mesh/step/2", move, "object", homedObject(root, 2))),
			"step-2", violated, wrong},
		{"a root that does not drain", drop(root, draining), "step-2", inconclusive, open},
		{"a root that drains a lease of the member's", set(root, draining, "home", n1),
			"step-2", violated, wrong},
		{"a member whose clock nobody knows", drop(member, "GET /mesh"), "step-2", inconclusive, open},
		{"a member that does not take the object over", drop(member, taken()),
			"step-2", inconclusive, open},
		{"a member that is active before the root drains", earlier(member, taken(), 200),
			"step-2", violated, wrong},
		{"a member active at what may be the same moment", earlier(member, taken(), 1),
			"step-2", held, held0},
		{"a root that holds on to the lease", answer(root, "GET /mesh/homes", drained, "lease", "active"),
			"step-2", violated, wrong},
		{"a root that says that it is still the home", answer(root, "GET /mesh/homes", drained,
			"home", n0), "step-2", violated, wrong},
		{"a member that has the object at another epoch", behindOf(member, taken(),
			answer(member, "GET /mesh/homes", homed(root), "home_epoch", "9")), "step-2", violated, wrong},
		{"a stale route that led home at once", result(member, 3, "attempts", "1"),
			"step-3", violated, wrong},
		{"a stale route without a redirect", result(member, 3, "moved", "0"), "step-3", violated, wrong},
		{"a redirect that the counters do not show", behindOf(member, "POST /mesh/step/3",
			answer(member, "GET /mesh/route", counters, "moved", "7")), "step-3", violated, wrong},
		{"a redirect to the root", result(member, 3, "home", n0), "step-3", violated, wrong},
		{"a second read of another object", result(member, 3, "object", homedObject(root, 2)),
			"step-3", violated, wrong},
		{"a replay that is executed", result(member, 4, "status", "ok"), "step-4", violated, wrong},
		{"a replay of another request", result(member, 4, "request", n1+"/00000000000000aa/77"),
			"step-4", violated, wrong},
		{"a replay about another object", result(member, 4, "object", homedObject(root, 2)),
			"step-4", violated, wrong},
		{"a replay that nobody counts", behindOf(member, "POST /mesh/step/4",
			answer(member, "GET /mesh/route", counters, "replays", "0")), "step-4", violated, wrong},
		{"a replay for another reason", behindOf(member, "POST /mesh/step/4",
			answer(member, "GET /mesh/route", counters, "last_replay", "stale-epoch")),
			"step-4", violated, wrong},
		{"a replay that commits", behindOf(member, "POST /mesh/step/4",
			answer(member, "GET /mesh/route", counters, "commits", "9")), "step-4", violated, wrong},
		{"a commit to another object than was moved", result(root, 5, "object", homedObject(root, 2)),
			"step-5", violated, wrong},
		{"a commit at the old home", result(root, 5, "home", n0), "step-5", violated, wrong},
	}
}

// earlier moves the instant of a node's first such row back by so many milliseconds, on its clock.
func earlier(node, text string, ms int) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		r := &records[pick(records, node, text, 1)]
		r.Line = change(r.Line, "at", shifted(r.Line, "at", -ms))
		return records
	}
}
