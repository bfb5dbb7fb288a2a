package selftest

import (
	"slices"
	"strings"

	"holdfast/mesh/wire"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

// Runs with traffic have many requests: damages choose among them by what they are.

// matches is which records a damage is about.
type matches = func(journal.Record) bool

// request is an answered request of a method for an object through a node, with this status.
func request(node, method string, status int) matches {
	return func(r journal.Record) bool {
		return r.HTTP != nil && r.Node == node && r.HTTP.Method == method &&
			r.HTTP.Status == status && strings.HasPrefix(r.HTTP.Path, judge.ObjectsPath)
	}
}

// inBoot is those of a boot of the machine.
func inBoot(boot int, m matches) matches {
	return func(r journal.Record) bool { return r.Boot == boot && m(r) }
}

// ofClass is the answers of a class.
func ofClass(class wire.Class, m matches) matches {
	return func(r journal.Record) bool { return m(r) && r.HTTP.Header["class"] == class.String() }
}

// replicated is reads of a value that was to be stored by every member.
func replicated(m matches) matches {
	return func(r journal.Record) bool { return m(r) && strings.Contains(r.HTTP.Body, "replicated") }
}

// acted is what the rig did to a node.
func acted(node, name string) matches {
	return func(r journal.Record) bool {
		return r.Action != nil && r.Node == node && r.Action.Name == name
	}
}

// printed is console lines of a node that contain a text.
func printed(node, text string) matches {
	return func(r journal.Record) bool {
		return r.Kind == journal.KindConsole && is(r, node, text)
	}
}

// firstOf and lastOf change one record of those that match.
func firstOf(m matches, do func(*journal.Record)) change1 {
	return func(records []journal.Record) []journal.Record {
		do(&records[found(slices.IndexFunc(records, m))])
		return records
	}
}

func lastOf(m matches, do func(*journal.Record)) change1 {
	return func(records []journal.Record) []journal.Record {
		i := len(records) - 1
		for ; i >= 0 && !m(records[i]); i-- {
		}
		do(&records[found(i)])
		return records
	}
}

// found panics when a damage is about nothing.
func found(i int) int {
	if i < 0 {
		panic("selftest: no record is what the damage is about")
	}
	return i
}

// leaveOut leaves out all that match.
func leaveOut(m matches) change1 {
	return func(records []journal.Record) []journal.Record {
		found(slices.IndexFunc(records, m))
		return renumber(slices.DeleteFunc(records, m))
	}
}

// header and field change what an answer, or a line, says.
func header(key, value string) func(*journal.Record) {
	return func(r *journal.Record) { r.HTTP.Header[key] = value }
}

func body(text string) func(*journal.Record) {
	return func(r *journal.Record) { r.HTTP.Body = text }
}

func says(key, value string) func(*journal.Record) {
	return func(r *journal.Record) { r.Line = change(r.Line, key, value) }
}

// stall8Damages are what two homes would leave, and a machine that wakes and does not know it.
func stall8Damages() []damage {
	put, get := request(member, "PUT", 200), request(root, "GET", 200)
	noReset := leaveOut(func(r journal.Record) bool {
		return r.Event != nil && r.Event.Name == "RESET"
	})
	return []damage{
		{"a commit by the other node in the same term", lastOf(put, func(r *journal.Record) {
			other := map[string]string{idOf(root): idOf(member), idOf(member): idOf(root)}
			r.HTTP.Header["home"] = other[r.HTTP.Header["home"]]
		}), "one-home", violated, wrong},
		{"a read of an older version", lastOf(get, header("version", "1")),
			"commits-ordered", violated, wrong},
		{"a read of a value that nobody wrote", lastOf(get, body("another value")),
			"linearizable", violated, wrong},
		{"a last read of another value than was acknowledged", lastOf(replicated(get),
			body("another value")), "nothing-lost", violated, wrong},
		{"commits of a member that nobody can have answered", leaveOut(func(r journal.Record) bool {
			return r.Frame != nil && r.Node == member && r.At > 20_000_000
		}), "leased-commits", violated, wrong},
		{"a removal that nobody expects", after(root, "mesh-fail: suspect", line(
			"mesh-fail: removed node="+idOf(member)+" epoch=3 members=1 digest="+digest(3)+
				" snapshot="+idOf(root)+" at=12460")), "removals", violated, wrong},
		{"a node that did not serve before", leaveOut(func(r journal.Record) bool {
			return put(r) && r.At < 7_000_000
		}), "served-around", inconclusive, wrong},
		{"a member that is not mutable in the end",
			lastAnswer(member, "GET /mesh", "role=", "mutable", "0"),
			"agreed-at-the-end", violated, wrong},
		{"a machine that never went on", leaveOut(acted(member, journal.ActionResume)),
			"stood-still", inconclusive, open},
		{"a standstill that was not noticed", noReset, "pauses-noticed", violated, wrong},
		{"a watchdog that did not bite", noReset, "watchdog", violated, wrong},
	}
}

// oneWayDamages are what a node that hears, and is not heard, would leave that serves on.
func oneWayDamages() []damage {
	return []damage{
		{"a lease that was asked for later", firstOf(printed(member, "mesh-fail: authority state=lost"),
			says("lease_sent_ms", "17000")), "lease-over-first", violated, wrong},
		{"a commit behind the lease", lastOf(func(r journal.Record) bool {
			return request(member, "PUT", 503)(r) && r.HTTP.Sent < 18_000_000
		}, func(r *journal.Record) {
			r.HTTP.Status = 200
			r.HTTP.Header = map[string]string{"home": idOf(member), "home-epoch": "2", "epoch": "2",
				"version": "99", "durability": "local", "copies": "1",
				"request": idOf(member) + "/00000000000000aa/99"}
		}), "refused-with-words", violated, wrong},
		{"a member that says nothing at all", leaveOut(request(member, "PUT", 503)),
			"refused-with-words", inconclusive, open},
	}
}

// goneDamages are what an authority would leave that takes what it does not know for nothing.
func goneDamages() []damage {
	unknown := inBoot(2, request(root, "GET", 503))
	empty := inBoot(3, request(root, "GET", 404))
	return []damage{
		{"a view in the quarantine", firstOf(inBoot(3, printed(root, "mesh-view: installed")),
			says("at", "5000")), "quarantine", violated, wrong},
		{"a view of an old epoch", firstOf(inBoot(3, printed(root, "mesh-view: installed")),
			says("epoch", "2")), "quarantine", violated, wrong},
		{"an object that is empty, when nobody knows", firstOf(unknown, func(r *journal.Record) {
			r.HTTP.Status, r.HTTP.Body = 404, "no-object: nothing was ever stored under this name\n"
		}), "unknown-not-empty", violated, wrong},
		{"an authority that does not say what it lacks",
			leaveOut(inBoot(2, printed(root, "reason=unproven"))), "unknown-not-empty", inconclusive, open},
		{"a value of before", firstOf(empty, func(r *journal.Record) {
			r.HTTP.Status, r.HTTP.Body = 200, "n1 replicated 2"
		}), "started-empty", violated, wrong},
		{"nobody who finds it empty", leaveOut(empty), "started-empty", inconclusive, open},
	}
}

// wipedDamages are what an authority without marks would leave that serves, and a member that has
// old copies and says that they are new.
func wipedDamages() []damage {
	copies := ofClass(wire.StaleOK, request(member, "GET", 200))
	return []damage{
		{"a view without marks", after(root, "reason=marks", line("mesh-view: installed epoch=3 "+
			"members=1 digest="+digest(3)+" snapshot="+idOf(root)+" at=400")), "no-marks", violated, wrong},
		{"an authority that does not say it", leaveOut(inBoot(2, printed(root, "reason=marks"))),
			"no-marks", inconclusive, open},
		{"a copy that is older than its node says", lastOf(copies, header("age-ms", "0")),
			"stale-reads", violated, wrong},
		{"a copy without an age", firstOf(copies, func(r *journal.Record) {
			delete(r.HTTP.Header, "age-ms")
		}), "stale-reads", violated, wrong},
		{"nobody who reads a copy", leaveOut(copies), "stale-reads", inconclusive, open},
	}
}

// stageDamages are what a commit would leave that is made and not made.
func stageDamages() []damage {
	kept := judge.ObjectsPath + judge.KeptPrefix + "1"
	read := func(r journal.Record) bool {
		return request(root, "GET", 200)(r) && r.HTTP.Path == kept && r.At > 15_000_000
	}
	asked := func(r journal.Record) bool {
		return request(root, "PUT", 504)(r) && r.HTTP.Value == judge.UnderWay+member
	}
	return []damage{
		{"a read of the commit that was not made", firstOf(read, body(judge.UnderWay+member)),
			"settled", violated, wrong},
		{"an answer that it was made", firstOf(asked, func(r *journal.Record) {
			r.HTTP.Status, r.HTTP.Body = 200, ""
			r.HTTP.Header["version"], r.HTTP.Header["durability"] = "9", "replicated"
		}), "settled", violated, wrong},
		{"nobody who is asked again", leaveOut(func(r journal.Record) bool {
			return r.HTTP != nil && r.HTTP.Value == judge.UnderWay+member && r.HTTP.Status == 504
		}), "settled", inconclusive, open},
	}
}

// cloneDamages are what a second machine with a member's key would leave that is taken for it.
func cloneDamages() []damage {
	const twin = "n2"
	return []damage{
		{"a twin that is confirmed", after(twin, "mesh-node: start", line("mesh-join: confirmed node="+
			idOf(root)+" epoch=3 members=2 digest="+digest(3)+" snapshot="+idOf(root)+
			" incarnation=3 at=900")), "duplicate-refused", violated, wrong},
		{"a twin that commits", firstOf(request(twin, "PUT", 503), func(r *journal.Record) {
			r.HTTP.Status = 200
		}), "duplicate-refused", violated, wrong},
		{"a twin that nobody refuses", leaveOut(printed(root, "reason=duplicate")),
			"duplicate-refused", inconclusive, open},
	}
}

// secondDamages are what a mesh without leases would leave that goes by leases.
func secondDamages() []damage {
	local := func(r journal.Record) bool {
		return request(member, "PUT", 503)(r) && r.HTTP.Durability == wire.Local.String()
	}
	return []damage{
		{"a local commit", firstOf(local, func(r *journal.Record) { r.HTTP.Status = 200 }),
			"only-acked", violated, wrong},
		{"an authoritative read", firstOf(request(root, "GET", 503), func(r *journal.Record) {
			r.HTTP.Status = 200
		}), "only-acked", violated, wrong},
		{"a node that was not asked for a local commit", leaveOut(local),
			"only-acked", inconclusive, open},
		{"commits without the authority's word", leaveOut(func(r journal.Record) bool {
			return r.Frame != nil && r.Node == root && r.Frame.To == member && r.At > 2_400_000
		}), "acked-commits", violated, wrong},
	}
}
