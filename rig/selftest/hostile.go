package selftest

import (
	"regexp"
	"slices"
	"strconv"

	"holdfast/rig/attack"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

// hostileDamages are what a node would leave that a stranger can drive out, slow down, fill up or
// keep busy; and a rig that did not attack it.
func hostileDamages() []damage {
	const page = "GET " + judge.MetricsPath
	made := func(name string) matches {
		return func(r journal.Record) bool {
			return acted(root, journal.ActionAttack)(r) && r.Action.Detail == name
		}
	}
	names := attack.All()
	return []damage{
		{"an attack that was not made", leaveOut(made(names[0].Name)), "attacks-made",
			inconclusive, open},
		{"wrong keys that were few", firstOf(made("wrong-keys"), func(r *journal.Record) {
			r.Action.Offered = 1_000
		}), "attacks-made", inconclusive, open},
		{"a suspicion", after(root, "mesh-link: refused", line("mesh-fail: suspect node="+idOf(member)+
			" epoch=2 silent_ms=6000 at=7000")), "still-joined", violated, wrong},
		{"a node that is at another epoch in the end", lastAnswer(root, "GET /mesh", "role=", "epoch",
			"3"), "still-joined", violated, wrong},
		{"a node that started again", again(root, start), "still-joined", violated, wrong},
		{"a tick that came late", lastOf(answered(root, "GET "+judge.HealthPath),
			func(r *journal.Record) { r.HTTP.Body += "bucket id=none most_ms=511 n=1\n" }),
			"ticks-punctual", violated, wrong},
		{"memory for every stranger", lastFigure(page, "go_memory_classes_total_bytes", 64<<20),
			"memory-flat", violated, wrong},
		{"strangers that are never forgotten", lastFigure(page, "go_gc_heap_live_bytes", 32<<20),
			"memory-flat", violated, wrong},
		{"a handshake for every stranger", lastFigure(page, "holdfast_link_handshakes_total", 30_000),
			"handshakes-admitted", violated, wrong},
		{"an object that is not served while others attack", unserved(5_000), "honest-served",
			violated, wrong},
		{"a node that nobody asks for its figures", leaveOut(answered(root, page)), "memory-flat",
			inconclusive, open},
	}
}

// answered is answers with ok to a request, such as "GET /mesh".
func answered(node, what string) matches {
	return func(r journal.Record) bool {
		return r.HTTP != nil && is(r, node, what) && r.HTTP.Status == 200
	}
}

// lastFigure changes a figure in the last answer of the attacked node that has it.
func lastFigure(page, name string, value int) change1 {
	row := regexp.MustCompile(`(?m)^` + name + ` .*$`)
	has := func(r journal.Record) bool {
		return answered(root, page)(r) && row.MatchString(r.HTTP.Body)
	}
	return lastOf(has, func(r *journal.Record) {
		r.HTTP.Body = row.ReplaceAllString(r.HTTP.Body, name+" "+strconv.Itoa(value))
	})
}

// unserved has the attacked node leave the commits to one object unanswered for so long while it is
// attacked.
func unserved(ms int64) change1 {
	return func(records []journal.Record) []journal.Record {
		put := request(root, "PUT", 200)
		begin := records[found(slices.IndexFunc(records, acted(root, journal.ActionAttack)))].Action.Done
		object := records[found(slices.IndexFunc(records, put))].HTTP.Path
		return renumber(slices.DeleteFunc(records, func(r journal.Record) bool {
			return put(r) && r.HTTP.Path == object && r.At > begin &&
				r.HTTP.Sent < begin+journal.Time(ms*1000)
		}))
	}
}
