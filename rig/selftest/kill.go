package selftest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holdfast/mesh/id"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

func noneDamages() []damage {
	n0, n1 := idOf(root), idOf(member)
	return append(moveDamages(), []damage{
		{"no confirmation", drop(member, "mesh-join: confirmed"), "join",
			judge.Inconclusive, judge.CodeInconclusive},
		{"a home that is missing", dropRow(root, "GET /mesh/homes", "", "name=lab-0"),
			"homes-by-score", judge.Violated, judge.CodeViolated},
		{"a read at the wrong home", result(member, 1, "home", n1), "step-1",
			judge.Violated, judge.CodeViolated},
		{"a commit that timed out once", result(root, 5, "timeouts", "1"), "step-5",
			judge.Violated, judge.CodeViolated},
		{"a late commit to another object", result(root, 10, "object", homedObject(root, 2)),
			"step-10", violated, wrong},
		{"a short run", func(rs []journal.Record) []journal.Record {
			for i := range rs {
				rs[i].At = min(rs[i].At, rs[pick(rs, root, "result step=5", 1)].At)
			}
			return rs
		}, "nothing-detected", inconclusive, open},
		{"a suspicion", after(root, "result step=5",
			line("mesh-fail: suspect node="+n1+" epoch=2 silent_ms=6000 at=7000")),
			"nothing-detected", judge.Violated, judge.CodeViolated},
		{"a fence", after(root, "result step=5", line(fmt.Sprintf(
			"mesh-route: fence object=%s stale_home=%s stale_home_epoch=2 home=%s home_epoch=3 "+
				"reason=left-view at=1000", homed(member), n1, n0))),
			"nothing-detected", judge.Violated, judge.CodeViolated},
	}...)
}

func noPeerDamages() []damage {
	n0, n1 := idOf(root), idOf(member)
	return []damage{
		{"a new epoch", lastAnswer(root, "GET /mesh", "role=", "epoch", "2"), "first-epoch-kept",
			judge.Violated, judge.CodeViolated},
		{"another digest", lastAnswer(root, "GET /mesh", "role=", "digest", digest(2)),
			"first-epoch-kept", judge.Violated, judge.CodeViolated},
		{"a root that calls itself a member", answer(root, "GET /mesh", "role=", "role", "member"),
			"first-epoch-kept", judge.Violated, judge.CodeViolated},
		{"a run as long as the failure window", uptimeAtMost(12_000), "first-epoch-kept",
			judge.Inconclusive, judge.CodeInconclusive},
		{"an answer without the node", dropRow(root, "GET /mesh", "role=", "role="),
			"first-epoch-kept", judge.Violated, judge.CodeViolated},
		{"an object that is missing", lastAnswer(root, "GET /mesh/homes", "name=lab-0", "object",
			id.ObjectOf("another").String()), "serves-alone", judge.Violated, judge.CodeViolated},
		{"a confirmation", after(root, "mesh-node: start", line("mesh-join: confirmed node="+n1+
			" epoch=2 members=2 digest="+digest(2)+" snapshot="+n0+" incarnation=2 at=300")),
			"nobody-confirmed", judge.Violated, judge.CodeViolated},
		{"a link", after(root, "mesh-node: start",
			line("mesh-link: up node="+n1+" remote=10.7.0.11:49155 slot=0 at=300")),
			"nobody-confirmed", judge.Violated, judge.CodeViolated},
		{"a removal", after(root, "mesh-node: start", line("mesh-fail: removed node="+n1+
			" epoch=2 members=1 digest="+digest(2)+" snapshot="+n0+" at=300")),
			"nothing-detected", judge.Violated, judge.CodeViolated},
		{"a root that may not commit", lastAnswer(root, "GET /mesh", "role=", "mutable", "0"),
			"serves-alone", judge.Violated, judge.CodeViolated},
		{"an object elsewhere", lastAnswer(root, "GET /mesh/homes", "name=lab-0", "home", n1),
			"serves-alone", judge.Violated, judge.CodeViolated},
		{"a run that did not end", until(root, "GET /mesh/route",
			journal.End{Outcome: journal.Deadline}), "serves-alone",
			judge.Inconclusive, judge.CodeInconclusive},
	}
}

// uptimeAtMost lets no answer show more of the root's time than so many milliseconds.
func uptimeAtMost(most int) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		for _, r := range records {
			if r.HTTP == nil || r.HTTP.Status == 0 || !is(r, root, "GET /mesh") {
				continue
			}
			shown, _ := strconv.Atoi(field("now_ms").FindStringSubmatch(r.HTTP.Body)[2])
			if shown > most {
				r.HTTP.Body = change(r.HTTP.Body, "now_ms", strconv.Itoa(most))
			}
		}
		return records
	}
}

func killPeerDamages() []damage {
	return slices.Concat(healthDamages(), joinDamages(), moveDamages(), detectDamages(),
		fenceDamages(), stepDamages(), rejoinDamages(), bootDamages(), keptDamages(), []damage{
			{"a root that is late, and was kept from running", both(moveFrame(-700),
				ahead(root, suspect, paused)), "suspect-rig-clock", inconclusive, open},
		})
}

// Short names for the tables.
const (
	wrong, open            = judge.CodeViolated, judge.CodeInconclusive
	violated, inconclusive = judge.Violated, judge.Inconclusive

	start     = "mesh-node: start"
	confirmed = "mesh-join: confirmed"
	suspect   = "mesh-fail: suspect"
	failed    = "mesh-fail: failed"
	removed   = "mesh-fail: removed"
	fence     = "reason=left-view"
	paused    = "mesh-fail: paused ms=1400 kind=gap at=900"
)

func healthDamages() []damage {
	return []damage{
		{"a panic", after(root, suspect, line("panic: mesh: two homes")), "no-panic", violated, wrong},
		{"a panic of the runtime", after(member, start, line("panic: runtime error: no memory")),
			"no-panic", violated, wrong},
		{"a malformed line", after(root, suspect, line("mesh-fail: suspect node=zz at=1")),
			"evidence-parses", violated, wrong},
		{"a line without at=", after(root, suspect, line("mesh-fail: disabled reason=config")),
			"evidence-parses", violated, wrong},
		{"a reset", after(root, suspect, event("RESET", `{"guest":true,"reason":"guest-reset"}`)),
			"no-reset", inconclusive, open},
		{"a power-off", after(root, suspect, event("SHUTDOWN", `{"reason":"guest-shutdown"}`)),
			"no-reset", inconclusive, open},
		{"a QEMU that ends by itself", after(root, suspect,
			journal.Record{Kind: journal.KindExit, Exit: &journal.Exit{Text: "ended by killed"}}),
			"no-reset", inconclusive, open},
		{"a pause", after(member, confirmed, line(paused)),
			"no-pause", inconclusive, open},
		{"lost console bytes", after(root, suspect,
			line("[console: 12 bytes lost, receiver too slow]")), "console-complete",
			inconclusive, open},
		{"a machine without an end", func(rs []journal.Record) []journal.Record {
			return renumber(slices.DeleteFunc(rs, func(r journal.Record) bool {
				return r.Exit != nil && r.Node == root
			}))
		}, "console-complete", inconclusive, open},
		{"trouble with the rig", after(root, suspect,
			journal.Record{Kind: journal.KindTrouble, Trouble: "3 frames are missing"}),
			"rig-well", inconclusive, open},
		{"no readings of a clock", drop(root, "GET /mesh"), "clocks-even", inconclusive, open},
		{"a clock that stood still", shift(root, failed, 2000), "clocks-even", inconclusive, open},
		{"two digests of an epoch", set(member, "mesh-view: installed", "digest", digest(9)),
			"one-view-an-epoch", violated, wrong},
		{"a fork", after(root, suspect,
			line("mesh-fail: fork epoch=2 have="+digest(1)+" got="+digest(2)+" at=9")),
			"one-view-an-epoch", violated, wrong},
	}
}

func joinDamages() []damage {
	n0, n1 := idOf(root), idOf(member)
	return []damage{
		{"a confirmation of another digest", set(member, confirmed, "digest", digest(9)),
			"join", violated, wrong},
		{"a confirmation at another incarnation", set(root, confirmed, "incarnation", "1"),
			"join", violated, wrong},
		{"a confirmation of another node", set(root, confirmed, "node", n0), "join", violated, wrong},
		{"a snapshot of one", set(root, confirmed, "snapshot", n0), "join", violated, wrong},
		{"no confirmation at the member", drop(member, confirmed), "join", inconclusive, open},
		{"two confirmations", again(root, confirmed), "join", violated, wrong},
		{"a refused join", after(root, confirmed,
			line("mesh-join: refused node="+n1+" reason=duplicate at=800")), "join", violated, wrong},
		{"a member that lists one member",
			dropRow(member, "GET /mesh", "mutable=1", "member id="+n0), "join", violated, wrong},
		{"an answer without the node", dropRow(member, "GET /mesh", "mutable=1", "role="),
			"join", violated, wrong},
		{"an answer with garbage", answerBody(member, "GET /mesh/homes", func(h *journal.HTTP) {
			h.Body += "and so on\n"
		}), "homes-by-score", violated, wrong},
		{"an answer that broke off", answerBody(member, "GET /mesh/homes", func(h *journal.HTTP) {
			h.Error = "unexpected EOF"
		}), "homes-by-score", inconclusive, open},
		{"a member that lists the root as suspect", answer(member, "GET /mesh", "member id="+n0,
			"state", "suspect"), "join", violated, wrong},
		{"a home against the scores", answer(member, "GET /mesh/homes", homed(member), "home", n0),
			"homes-by-score", violated, wrong},
		{"a step in two attempts", result(member, 1, "attempts", "2"), "step-1", violated, wrong},
		{"a step on the other node's object", result(member, 1, "object", homed(member)),
			"step-1", violated, wrong},
		{"a step that was not asked for", drop(root, "POST /mesh/step/5"), "step-5", inconclusive, open},
		{"a step that the console does not show", drop(root, "result step=5"),
			"step-5", inconclusive, open},
		{"a step that is refused", func(rs []journal.Record) []journal.Record {
			h := rs[pick(rs, root, "POST /mesh/step/5", 1)].HTTP
			h.Status, h.Body = 409, "wrong order\n"
			return rs
		}, "step-5", violated, wrong},
		{"an answer that is no result", answerBody(root, "POST /mesh/step/5", func(h *journal.HTTP) {
			h.Body = "mesh-fail: disabled reason=config at=1\n"
		}), "step-5", violated, wrong},
		{"two results in one answer", answerBody(root, "POST /mesh/step/5", func(h *journal.HTTP) {
			h.Body += h.Body
		}), "step-5", violated, wrong},
		{"a refused commit", result(root, 5, "status", "not-current"), "step-5", violated, wrong},
	}
}

func rejoinDamages() []damage {
	return []damage{
		{"a rejoin with another digest", setNth(root, confirmed, 2, "digest", digest(9)),
			"rejoin", violated, wrong},
		{"a node that is at another digest than it confirmed", answer(root, "GET /mesh", "epoch=4",
			"digest", digest(9)), "rejoin", violated, wrong},
		{"a commit at the root that belongs to the member", result(root, 10, "home", idOf(root)),
			"step-10", violated, wrong},
	}
}

func bootDamages() []damage {
	n0 := idOf(root)
	return []damage{
		{"a return in the same boot", func(rs []journal.Record) []journal.Record {
			rs[pick(rs, member, start, 2)].Line = rs[pick(rs, member, start, 1)].Line
			return rs
		}, "new-boot", violated, wrong},
		{"a return without a word", remove(member, start, 2), "new-boot", inconclusive, open},
		{"a return as another node", setNth(member, start, 2, "node", n0), "new-boot", violated, wrong},
	}
}

func detectDamages() []damage {
	dead := journal.End{Outcome: journal.Deadline, Reason: "too slow"}
	return []damage{
		{"suspicion 1 ms early", set(root, suspect, "silent_ms", "5999"),
			"suspect-own-clock", violated, wrong},
		{"suspicion at the last allowed moment", set(root, suspect, "silent_ms", "6500"),
			"suspect-own-clock", judge.Held, judge.CodeHeld},
		{"suspicion 1 ms late", set(root, suspect, "silent_ms", "6501"),
			"suspect-own-clock", violated, wrong},
		{"failure 1 ms early", set(root, failed, "silent_ms", "11999"),
			"failed-own-clock", violated, wrong},
		{"failure at the first allowed moment", set(root, failed, "silent_ms", "12000"),
			"failed-own-clock", judge.Held, judge.CodeHeld},
		{"failure 1 ms late", set(root, failed, "silent_ms", "12501"),
			"failed-own-clock", violated, wrong},
		{"another node's suspicion", set(root, suspect, "node", idOf(root)),
			"suspect-own-clock", violated, wrong},
		{"a silence that nobody caused", unsilenced, "suspect-own-clock", inconclusive, open},
		{"a second suspicion", again(root, suspect), "suspect-own-clock", violated, wrong},
		{"a frame that passed later than the root says", moveFrame(200),
			"failed-rig-clock", violated, wrong},
		{"a frame that passed earlier than the root says", moveFrame(-700),
			"failed-rig-clock", violated, wrong},
		{"no frames", func(rs []journal.Record) []journal.Record {
			return renumber(slices.DeleteFunc(rs, func(r journal.Record) bool {
				return r.Frame != nil
			}))
		}, "suspect-rig-clock", inconclusive, open},
		{"no readings of the root's clock", drop(root, "GET /mesh"),
			"suspect-rig-clock", inconclusive, open},
		{"no suspicion although it was overdue", drop(root, suspect),
			"suspect-own-clock", violated, wrong},
		{"a run that ends before the suspicion", until(root, suspect, dead),
			"suspect-own-clock", inconclusive, open},
		{"a run that ends before the failure", until(root, failed, dead),
			"failed-own-clock", inconclusive, open},
		{"a run that the user ended", until(root, failed, journal.End{Outcome: journal.Interrupted}),
			"failed-own-clock", inconclusive, judge.CodeTrouble},
		{"a journal without an end", func(rs []journal.Record) []journal.Record {
			return rs[:len(rs)-1]
		}, "failed-own-clock", judge.Held, open},
	}
}

// atRemoval does a damage to what comes after the root's removal of the member.
func atRemoval(do change1) change1 { return behindOf(root, removed, do) }

func fenceDamages() []damage {
	n0, n1 := idOf(root), idOf(member)
	return []damage{
		{"a removal at epoch 4", set(root, removed, "epoch", "4"), "removed", inconclusive, wrong},
		{"a removal by the member", after(member, confirmed, line("mesh-fail: removed node="+n0+
			" epoch=3 members=1 digest="+digest(3)+" snapshot="+n1+" at=900")),
			"removed", violated, wrong},
		{"a failure that the member sees", after(member, confirmed,
			line("mesh-fail: failed node="+n0+" epoch=2 silent_ms=12000 at=900")),
			"removed", violated, wrong},
		{"two removals", again(root, removed), "removed", violated, wrong},
		{"a removal at a later epoch, too", func(rs []journal.Record) []journal.Record {
			text := rs[pick(rs, root, removed, 1)].Line
			return after(root, removed, line(change(text, "epoch", "5")))(rs)
		}, "removed", violated, wrong},
		{"a removal without a suspicion", drop(root, suspect), "removed", inconclusive, wrong},
		{"a suspicion after the failure", set(root, suspect, "at", "999999"), "removed", violated, wrong},
		{"a root with another digest after the removal",
			answer(root, "GET /mesh", "epoch=3", "digest", digest(9)), "removed", violated, wrong},
		{"a root that may not commit after the removal",
			answer(root, "GET /mesh", "epoch=3", "mutable", "0"), "removed", violated, wrong},
		{"a root that tells nothing after the removal",
			dropRow(root, "GET /mesh", "epoch=3", "role="), "removed", violated, wrong},
		{"a removal that leaves two members", set(root, removed, "members", "2"),
			"removed", violated, wrong},
		{"a home row of the old epoch",
			atRemoval(answer(root, "GET /mesh/homes", "object=", "home_epoch", "2")),
			"homes-recomputed", violated, wrong},
		{"a home row that is missing", atRemoval(dropRow(root, "GET /mesh/homes", "", "name=lab-3")),
			"homes-recomputed", violated, wrong},
		{"a home row of the dead member",
			atRemoval(answer(root, "GET /mesh/homes", "object=", "home", n1)),
			"homes-recomputed", violated, wrong},
		{"a fence that is missing", remove(root, fence, 1), "fences", violated, wrong},
		{"fences without a cause", unsilenced, "fences", inconclusive, open},
		{"no fence at all", drop(root, fence), "fences", violated, wrong},
		{"a repeated fence", again(root, fence), "fences", violated, wrong},
		{"a fence of an object that was at the root", func(rs []journal.Record) []journal.Record {
			text := rs[pick(rs, root, fence, 1)].Line
			return after(root, fence, line(change(text, "object", homed(root))))(rs)
		}, "fences", violated, wrong},
		{"a fence of an unknown object", func(rs []journal.Record) []journal.Record {
			text := rs[pick(rs, root, fence, 1)].Line
			other := id.ObjectOf("nobody's").String()
			return after(root, fence, line(change(text, "object", other)))(rs)
		}, "fences", violated, wrong},
		{"a fence that names the root as stale", set(root, fence, "stale_home", n0),
			"fences", violated, wrong},
		{"a fence that names the member as the new home", set(root, fence, "home", n1),
			"fences", violated, wrong},
		{"a fence of the old epoch", set(root, fence, "home_epoch", "2"), "fences", violated, wrong},
		{"a root that had no route to the member", func(rs []journal.Record) []journal.Record {
			for i := range rs {
				if h := rs[i].HTTP; h != nil && is(rs[i], root, "GET /mesh/homes") {
					h.Body = strings.ReplaceAll(h.Body, "home="+n1, "home="+n0)
				}
			}
			return drop(root, fence)(rs)
		}, "fences", inconclusive, wrong},
	}
}

func stepDamages() []damage {
	const counters = "mesh-route: counters"
	return []damage{
		{"a send in step 6", result(root, 6, "sends", "1"), "step-6", violated, wrong},
		{"a move in step 6", result(root, 6, "moved", "1"), "step-6", violated, wrong},
		{"a timeout in step 6", result(root, 6, "timeouts", "1"), "step-6", violated, wrong},
		{"a send that only the counters show",
			behind("POST /mesh/step/6", answer(root, "GET /mesh/route", counters, "sends", "77")),
			"step-6", violated, wrong},
		{"a step 6 of an object without a fence", result(root, 6, "object", homedObject(root, 2)),
			"step-6", violated, wrong},
		{"a step 6 of an object whose fence is missing", remove(root, fence, 1),
			"step-6", violated, wrong},
		{"an old frame that is served", result(root, 7, "status", "ok"), "step-7", violated, wrong},
		{"an old frame refused as a replay", result(root, 7, "status", "replay"),
			"step-7", violated, wrong},
		{"a counter that does not say stale-epoch", behind("POST /mesh/step/7",
			answer(root, "GET /mesh/route", counters, "last_replay", "replay")),
			"step-7", violated, wrong},
		{"a commit by an old frame", behind("POST /mesh/step/7",
			answer(root, "GET /mesh/route", counters, "commits", "77")), "step-7", violated, wrong},
		{"an answer without counters", behind("POST /mesh/step/7",
			dropRow(root, "GET /mesh/route", "", counters)), "step-7", violated, wrong},
		{"no counters", drop(root, "GET /mesh/route"), "step-7", inconclusive, open},
		{"a commit at the old epoch", result(root, 8, "epoch", "2"), "step-8", violated, wrong},
		{"a commit to an object of the root", result(root, 8, "object", homedObject(root, 2)),
			"step-8", violated, wrong},
		{"a commit to another object than was read",
			result(root, 8, "object", homedObject(member, 2)), "step-8", violated, wrong},
	}
}

// behind does a damage to what comes after the root's answer to a request.
func behind(
	request string, do func([]journal.Record) []journal.Record,
) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		i := pick(records, root, request, 1)
		return append(records[:i+1:i+1], do(records[i+1:])...)
	}
}
