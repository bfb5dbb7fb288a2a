package selftest

import (
	"slices"
	"strings"

	"holdfast/rig/journal"
)

func wrongAuthorityDamages() []damage {
	n0, n1 := idOf(root), idOf(member)
	return append([]damage{
		{"a root that refuses without a word", drop(root, "mesh-link: refused"),
			"refused-by-both", inconclusive, open},
		{"a member that refuses for another reason", setAll(member, "mesh-link: refused",
			"reason", "tls"), "refused-by-both", violated, wrong},
		{"a member that has a view", after(member, start, line("mesh-view: installed epoch=1 members=1"+
			" digest="+digest(1)+" snapshot="+n1+" at=900")), "stays-outside", violated, wrong},
		{"a member that says that it has joined", lastAnswer(member, "GET /mesh", "role=",
			"mesh", "joined"), "stays-outside", violated, wrong},
		{"a member that may commit", lastAnswer(member, "GET /mesh", "role=", "mutable", "1"),
			"stays-outside", violated, wrong},
		{"a member that calls itself the authority", lastAnswer(member, "GET /mesh", "role=",
			"role", "authority"), "stays-outside", violated, wrong},
		{"a member with an epoch", lastAnswer(member, "GET /mesh", "role=", "epoch", "1"),
			"stays-outside", violated, wrong},
		{"a member with a digest", lastAnswer(member, "GET /mesh", "role=", "digest", digest(1)),
			"stays-outside", violated, wrong},
		{"a member that lists members", answerBody(member, "GET /mesh", func(h *journal.HTTP) {
			h.Body += "member id=" + n0 + " state=alive age_ms=1 incarnation=1\n"
		}), "stays-outside", violated, wrong},
		{"a member with a home", answerBody(member, "GET /mesh/homes", func(h *journal.HTTP) {
			h.Body += homeRow(homed(root), n1)
		}), "stays-outside", violated, wrong},
		{"a member that was not asked", drop(member, "GET /mesh"), "stays-outside", inconclusive, open},
	}, noPeerDamages()...)
}

// homeRow is a line of GET /mesh/homes.
func homeRow(object, home string) string {
	return "object=" + object + " name=none home=" + home +
		" home_epoch=1 lease=active read_ms=1 write_ms=1 version=0 copies=1\n"
}

func noRouteDamages() []damage {
	n0, n1 := idOf(root), idOf(member)
	const disabled = "mesh-route: disabled"
	lease := "mesh-route: lease object=" + homed(root) + " state=active home=" + n0 +
		" home_epoch=2 at=1000"
	return append(counterDamages(), []damage{
		{"no confirmation", drop(member, confirmed), "join", inconclusive, open},
		{"a node that does not say that routing is off", drop(member, disabled),
			"routing-off", inconclusive, open},
		{"a node that says it twice", again(root, disabled), "routing-off", violated, wrong},
		{"a lease", after(root, confirmed, line(lease)), "routing-off", violated, wrong},
		{"a move", after(root, confirmed, line("mesh-route: move object="+homed(root)+" from="+n0+
			" to="+n1+" epoch=2 at=1000")), "routing-off", violated, wrong},
		{"a dropped lease's fence", after(root, confirmed, line("mesh-route: fence object="+homed(root)+
			" stale_home="+n0+" stale_home_epoch=1 home="+n1+" home_epoch=2 reason=lease-left-view"+
			" at=1000")), "routing-off", violated, wrong},
		{"a read that is served", result(member, 1, "status", "ok"), "step-1", violated, wrong},
		{"a read that goes out", result(member, 1, "sends", "1"), "step-1", violated, wrong},
		{"a commit that is served", result(root, 5, "status", "ok"), "step-5", violated, wrong},
		{"another commit that is served", result(root, 10, "status", "ok"), "step-10", violated, wrong},
		{"a node with a home", answerBody(root, "GET /mesh/homes", func(h *journal.HTTP) {
			h.Body += homeRow(homed(root), n0)
		}), "nothing-routed", violated, wrong},
		{"no counters", dropRow(member, "GET /mesh/route", "", "mesh-route: counters"),
			"nothing-routed", violated, wrong},
		{"a suspicion", after(root, confirmed, line("mesh-fail: suspect node="+n1+
			" epoch=2 silent_ms=6000 at=7000")), "nothing-detected", violated, wrong},
		{"a run that did not end", until(root, "GET /mesh/route",
			journal.End{Outcome: journal.Deadline}), "nothing-routed", inconclusive, open},
	}...)
}

// counterDamages let each counter of a node without routing show that something was routed.
func counterDamages() []damage {
	var damages []damage
	for key, value := range map[string]string{
		"sends": "1", "moved": "1", "timeouts": "1", "fences": "1", "commits": "1", "replays": "1",
		"last_replay": "replay",
	} {
		damages = append(damages, damage{"a counter of " + key, lastAnswer(member, "GET /mesh/route",
			"mesh-route: counters", key, value), "nothing-routed", violated, wrong})
	}
	return damages
}

func restartDamages() []damage {
	n1 := idOf(member)
	const disabled = "mesh-fail: disabled"
	suspicion := "mesh-fail: suspect node=" + n1 + " epoch=2 silent_ms=6000 at=7000"
	return slices.Concat(bootDamages(), []damage{
		{"a boot that does not say that detection is off", remove(member, disabled, 3),
			"detection-off", inconclusive, open},
		{"a boot that says it twice", again(member, disabled), "detection-off", violated, wrong},
		{"a suspicion that nobody may have", after(root, confirmed, line(suspicion)),
			"detection-off", violated, wrong},
		{"a suspicion in a quiet run", after(root, confirmed, line(suspicion)),
			"nothing-detected", violated, wrong},
		{"a lost authority", after(member, confirmed, line("mesh-fail: authority state=lost epoch=2 "+
			"root="+idOf(root)+" mutable=0 reads=lease lease_sent_ms=1 at=9000")),
			"detection-off", violated, wrong},
		{"a restart that moves the epoch", setNth(root, confirmed, 3, "epoch", "3"),
			"same-epoch", violated, wrong},
		{"a restart with another digest", setNth(member, confirmed, 2, "digest", digest(8)),
			"same-epoch", violated, wrong},
		{"a restart with a new incarnation", setNth(root, confirmed, 2, "incarnation", "3"),
			"same-epoch", violated, wrong},
		{"a confirmation of the root", setNth(root, confirmed, 2, "node", idOf(root)),
			"same-epoch", violated, wrong},
		{"a view without the member", setNth(root, confirmed, 2, "snapshot", idOf(root)),
			"same-epoch", violated, wrong},
		{"a boot confirmed in another's place", func(rs []journal.Record) []journal.Record {
			rs[pick(rs, member, confirmed, 2)].Boot = 3
			return rs
		}, "same-epoch", violated, wrong},
		{"a restart that is not confirmed", remove(root, confirmed, 3), "same-epoch", inconclusive, open},
		{"a boot confirmed twice", again(member, confirmed), "same-epoch", violated, wrong},
		{"a refused restart", after(root, confirmed,
			line("mesh-join: refused node="+n1+" reason=duplicate at=8000")), "same-epoch", violated, wrong},
		{"a view of another epoch", after(root, confirmed, line("mesh-view: installed epoch=3 members=1"+
			" digest="+digest(3)+" snapshot="+idOf(root)+" at=9000")), "same-epoch", violated, wrong},
		{"a member that is not mutable in the end", lastAnswer(member, "GET /mesh", "role=",
			"mutable", "0"), "same-epoch", violated, wrong},
		{"a home that is missing", dropRow(root, "GET /mesh/homes", "", "name=lab-0"),
			"homes-by-score", violated, wrong},
		{"a read at the wrong home", result(member, 1, "home", n1), "step-1", violated, wrong},
		{"a second read at the wrong home", resultLast(member, 1, "home", n1),
			"step-1-again", violated, wrong},
		{"a root that misses the member", behindOf(root, "GET /mesh/route",
			dropRow(root, "GET /mesh", "member id="+n1, "member id="+n1)), "not-missed", violated, wrong},
		{"a root that fails the member", absent(answer(root, "GET /mesh", "member id="+n1,
			"state", "failed")), "not-missed", violated, wrong},
		{"a member that is gone for a moment only", absent(drop(root, "GET /mesh")),
			"not-missed", inconclusive, open},
	})
}

// absent does a change to what comes after the second kill.
func absent(do change1) change1 {
	return func(records []journal.Record) []journal.Record {
		first := action(records, journal.ActionKill)
		i := first + 1 + action(records[first+1:], journal.ActionKill)
		return renumber(append(records[:i+1:i+1], do(records[i+1:])...))
	}
}

// setAll changes a field of all console lines of a node that contain a text.
func setAll(node, text, key, value string) change1 {
	return func(records []journal.Record) []journal.Record {
		for i := range records {
			if records[i].Node == node && strings.Contains(records[i].Line, text) {
				records[i].Line = change(records[i].Line, key, value)
			}
		}
		return records
	}
}
