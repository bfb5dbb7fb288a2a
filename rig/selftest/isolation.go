package selftest

import (
	"slices"
	"strings"

	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

const (
	lost      = "mesh-fail: authority state=lost"
	restored  = "mesh-fail: authority state=restored"
	stale     = "mesh-fail: stale"
	authority = "mesh-route: authority"
	gap       = "mesh-fail: paused ms=1400 kind=gap at=9000"
)

func partitionDamages() []damage {
	return slices.Concat(joinDamages(), moveDamages(), detectDamages(), fenceDamages(), stepDamages(),
		lossDamages(), leaseDamages(), isolationDamages(), refusalDamages(), healDamages(),
		rejoinDamages(), keptDamages())
}

func lossDamages() []damage {
	n1 := idOf(member)
	return []damage{
		{"a member that suspects 1 ms early", set(member, suspect, "silent_ms", "5999"),
			"member-suspects-own-clock", violated, wrong},
		{"a member that suspects 1 ms late", set(member, suspect, "silent_ms", "6501"),
			"member-suspects-own-clock", violated, wrong},
		{"a member that never suspects", drop(member, suspect),
			"member-suspects-own-clock", violated, wrong},
		{"a member that suspects itself", set(member, suspect, "node", n1),
			"member-suspects-rig-clock", violated, wrong},
		{"a frame that reached the member later than it says", moveFramesOf(root, 200),
			"member-suspects-rig-clock", violated, wrong},
		{"a suspicion that is late because of a pause", both(ahead(member, suspect, gap),
			both(later(member, suspect, "at", 1400), lateRecord(member, suspect, 1400))),
			"member-suspects-rig-clock", inconclusive, open},
		{"a loss after a pause", ahead(member, suspect, gap), "authority-lost", inconclusive, open},
		{"a loss that is never said", drop(member, lost), "authority-lost", inconclusive, open},
		{"a loss said twice", again(member, lost), "authority-lost", violated, wrong},
		{"a loss that leaves the member mutable", set(member, lost, "mutable", "1"),
			"evidence-parses", violated, wrong},
		{"a loss that ends the reads", set(member, lost, "reads", "none"),
			"authority-lost", violated, wrong},
		{"a loss of another epoch", set(member, lost, "epoch", "3"), "authority-lost", violated, wrong},
		{"a loss of itself", set(member, lost, "root", n1), "authority-lost", violated, wrong},
		{"a loss of no lease", set(member, lost, "lease_sent_ms", "none"),
			"authority-lost", violated, wrong},
		{"a loss said too late", later(member, lost, "at", 600), "authority-lost", violated, wrong},
		{"a loss said before it is so", later(member, lost, "at", -200),
			"authority-lost", violated, wrong},
		{"a loss before the cut", func(rs []journal.Record) []journal.Record {
			text := rs[pick(rs, member, lost, 1)].Line
			return after(member, confirmed, line(text))(remove(member, lost, 1)(rs))
		}, "authority-lost", violated, wrong},
		{"a lease left on the page", behindOf(member, lost, answer(member, "GET /mesh/route",
			authority, "write_lease_ms", "1")), "authority-lost", violated, wrong},
		{"a page that says current", behindOf(member, lost, answer(member, "GET /mesh/route",
			authority, "state", "current")), "authority-lost", violated, wrong},
		{"a page with another lease", behindOf(member, lost, answer(member, "GET /mesh/route",
			authority, "lease_sent_ms", "17")), "authority-lost", violated, wrong},
	}
}

func leaseDamages() []damage {
	dead := journal.End{Outcome: journal.Deadline, Reason: "too slow"}
	return []damage{
		{"a commit 1 ms too late", commitAt(6001), "lease-bound", violated, wrong},
		{"a commit in the lease's last millisecond", commitAt(6000), "lease-bound", held, held0},
		{"a refusal that turns into a commit", func(rs []journal.Record) []journal.Record {
			return accept(rs, refusedAfter(rs, lost))
		}, "lease-bound", violated, wrong},
		{"a last lease that was asked for after all commits",
			later(member, lost, "lease_sent_ms", 7000), "lease-bound", inconclusive, wrong},
		{"no commits for a while before the lease ends", commitsUntil(1000),
			"lease-bound", inconclusive, open},
		{"no commit after the last accepted one", dropRefused, "lease-bound", inconclusive, open},
		{"a run that ends while the member commits", until(member, lost, dead),
			"lease-bound", inconclusive, open},
		{"a last frame of the root that passed long before", moveFramesOf(root, -3000),
			"lease-bound-rig-clock", violated, wrong},
		{"no frames of the root", func(rs []journal.Record) []journal.Record {
			return renumber(slices.DeleteFunc(rs, func(r journal.Record) bool {
				return r.Frame != nil && r.Node == root
			}))
		}, "lease-bound-rig-clock", inconclusive, open},
		{"a commit after the re-homing", func(rs []journal.Record) []journal.Record {
			return accept(rs, refusedAfter(rs, ""))
		}, "commits-before-rehome", violated, wrong},
		{"no readings of the member's clock", drop(member, "GET /mesh"),
			"commits-before-rehome", inconclusive, open},
		{"no re-homing", drop(root, "mesh-view: installed epoch=3"),
			"commits-before-rehome", inconclusive, open},
	}
}

// isolated does a change to what comes after the member has lost the root.
func isolated(do change1) change1 { return behindOf(member, lost, do) }

func isolationDamages() []damage {
	n0, n1 := idOf(root), idOf(member)
	dead := journal.End{Outcome: journal.Deadline, Reason: "too slow"}
	return []damage{
		{"a view that the member makes itself", after(member, lost, line(
			"mesh-view: installed epoch=3 members=1 digest="+digest(5)+" snapshot="+n1+" at=9000")),
			"view-kept", violated, wrong},
		{"a removal of the root", after(member, lost, line("mesh-fail: removed node="+n0+
			" epoch=3 members=1 digest="+digest(5)+" snapshot="+n1+" at=9000")),
			"view-kept", violated, wrong},
		{"a conviction of the root", after(member, lost,
			line("mesh-fail: failed node="+n0+" epoch=2 silent_ms=12000 at=9000")),
			"view-kept", violated, wrong},
		{"a fence at the member", after(member, lost, line("mesh-route: fence object="+homed(root)+
			" stale_home="+n0+" stale_home_epoch=2 home="+n1+" home_epoch=3 reason=left-view at=9000")),
			"view-kept", violated, wrong},
		{"a member at epoch 3", isolated(answer(member, "GET /mesh", "role=", "epoch", "3")),
			"view-kept", violated, wrong},
		{"a mutable member", isolated(answer(member, "GET /mesh", "role=", "mutable", "1")),
			"view-kept", violated, wrong},
		{"a member outside the mesh", isolated(answer(member, "GET /mesh", "role=", "mesh", "joining")),
			"view-kept", violated, wrong},
		{"a member with another digest", isolated(answer(member, "GET /mesh", "role=", "digest",
			digest(4))), "view-kept", violated, wrong},
		{"a member that lists itself alone", isolated(dropRow(member, "GET /mesh", "role=",
			"member id="+n0)), "view-kept", violated, wrong},
		{"a cut that nobody did", unsilenced, "view-kept", inconclusive, open},
		{"a run that ends before the way heals", func(rs []journal.Record) []journal.Record {
			return shortened(rs, action(rs, journal.ActionHeal))
		}, "view-kept", inconclusive, open},
		{"a home that the member takes", isolated(answer(member, "GET /mesh/homes",
			homedObject(root, 2), "home", n1)), "view-kept", violated, wrong},
		{"a lease that the member takes", isolated(answer(member, "GET /mesh/homes",
			homedObject(root, 2), "lease", "active")), "view-kept", violated, wrong},
		{"a home that the member forgets", isolated(dropRow(member, "GET /mesh/homes", "",
			homedObject(root, 2))), "view-kept", violated, wrong},
		{"no question while it was isolated", isolated(drop(member, "GET /mesh/homes")),
			"view-kept", inconclusive, open},
		{"a run that ends before the healing", until(root, "mesh-join: confirmed node="+n1+" epoch=4",
			dead), "told-stale", held, open},
		{"a run that ends in isolation", until(root, "POST /mesh/step/8", dead),
			"view-kept", inconclusive, open},
	}
}

func refusalDamages() []damage {
	n1 := idOf(member)
	const counters = "mesh-route: counters"
	return []damage{
		{"a commit in isolation", resultNth(member, 9, 1, "status", "ok"), "step-9", violated, wrong},
		{"a remote read in isolation", resultNth(member, 9, 2, "status", "ok"),
			"step-9", violated, wrong},
		{"a read in the commit's place", resultNth(member, 9, 1, "op", "stat"),
			"step-9", violated, wrong},
		{"a commit in the read's place", resultNth(member, 9, 2, "op", "commit"),
			"step-9", violated, wrong},
		{"a commit that goes out", resultNth(member, 9, 1, "sends", "1"), "step-9", violated, wrong},
		{"a home given up in isolation", isolated(answer(member, "GET /mesh/homes", homed(root),
			"lease", "draining")), "step-9", violated, wrong},
		{"all homes given up in isolation", isolated(answer(member, "GET /mesh/homes", n1,
			"home", idOf(root))), "step-9", violated, wrong},
		{"a remote read that goes out", resultNth(member, 9, 2, "sends", "1"),
			"step-9", violated, wrong},
		{"a step 9 of one row", answerBody(member, "POST /mesh/step/9", func(h *journal.HTTP) {
			h.Body, _, _ = strings.Cut(h.Body, "\n")
			h.Body += "\n"
		}), "step-9", violated, wrong},
		{"a step 9 that was not asked for", drop(member, "POST /mesh/step/9"),
			"step-9", inconclusive, open},
		{"a write lease in isolation", isolated(answer(member, "GET /mesh/homes", homed(root),
			"write_ms", "1")), "step-9", violated, wrong},
		{"an isolated read that is refused", resultLast(member, 3, "status", "not-current"),
			"isolated-read", violated, wrong},
		{"an isolated read that goes out", resultLast(member, 3, "sends", "1"),
			"isolated-read", violated, wrong},

		{"one read only", remove(member, "POST /mesh/step/3", 2), "isolated-read", inconclusive, open},

		{"a late frame that nobody counts", lastAnswerBefore(root, journal.ActionHeal,
			counters, "replays", "1"), "late-frames", violated, wrong},
		{"a late frame and no counters", func(rs []journal.Record) []journal.Record {
			i := action(rs, journal.ActionHeal)
			h := rs[last(rs[:i], root, "GET /mesh/route")].HTTP
			h.Body = h.Body[:strings.Index(h.Body, counters)]
			return rs
		}, "late-frames", violated, wrong},
		{"a late frame refused as a replay", lastAnswerBefore(root, journal.ActionHeal,
			counters, "last_replay", "replay"), "late-frames", violated, wrong},
		{"a late frame that commits", lastAnswerBefore(root, journal.ActionHeal,
			counters, "commits", "77"), "late-frames", violated, wrong},
		{"a late frame that revives the member", after(root, removed,
			line("mesh-fail: recovered node="+n1+" epoch=3 silent_ms=13000 at=16000")),
			"late-frames", violated, wrong},
		{"no late frame", func(rs []journal.Record) []journal.Record {
			i := action(rs, journal.ActionRelease)
			return renumber(append(rs[:i:i], slices.DeleteFunc(rs[i:], func(r journal.Record) bool {
				return r.Frame != nil && r.Node == member
			})...))
		}, "late-frames", inconclusive, open},
		{"nothing released", func(rs []journal.Record) []journal.Record {
			i := action(rs, journal.ActionRelease)
			return renumber(slices.Delete(rs, i, i+1))
		}, "late-frames", inconclusive, open},
	}
}

func healDamages() []damage {
	return []damage{
		{"nobody tells the member", drop(member, stale), "told-stale", inconclusive, open},
		{"nobody tells the member for longer than it can take", both(drop(member, stale), longer(30_000)),
			"told-stale", violated, wrong},
		{"the same, and a host that kept a node from running", both(both(drop(member, stale),
			longer(30_000)), after(member, confirmed, line(paused))), "told-stale", inconclusive, open},
		{"a member that is told twice", again(member, stale), "told-stale", violated, wrong},
		{"a member that is told another epoch", set(member, stale, "current", "4"),
			"told-stale", violated, wrong},
		{"a root that is told", after(root, "mesh-join: confirmed node="+idOf(member)+" epoch=4",
			line("mesh-fail: stale epoch=3 current=4 at=16000")), "told-stale", violated, wrong},
		{"a member that is told in isolation", func(rs []journal.Record) []journal.Record {
			text := rs[pick(rs, member, stale, 1)].Line
			return after(member, lost, line(text))(remove(member, stale, 1)(rs))
		}, "told-stale", violated, wrong},
		{"a second start", again(member, start), "same-boot", violated, wrong},
		{"no start", drop(member, start), "same-boot", inconclusive, open},
		{"an authority that is not restored", drop(member, restored),
			"authority-restored", inconclusive, open},
		{"an authority restored twice", again(member, restored), "authority-restored", violated, wrong},
		{"an authority restored at epoch 3", set(member, restored, "epoch", "3"),
			"authority-restored", violated, wrong},
		{"an authority restored without a lease", set(member, restored, "mutable", "0"),
			"authority-restored", violated, wrong},
		{"another node as the authority", set(member, restored, "root", idOf(member)),
			"authority-restored", violated, wrong},
		{"a page of another epoch", behindOf(member, restored, answer(member, "GET /mesh/route",
			authority, "epoch", "3")), "authority-restored", violated, wrong},
		{"a page without its first row", behindOf(member, restored, dropRow(member,
			"GET /mesh/route", "", authority)), "authority-restored", violated, wrong},
		{"a page that still says lost", behindOf(member, restored, answer(member, "GET /mesh/route",
			authority, "state", "lost")), "authority-restored", violated, wrong},
		{"an authority restored before the join", func(rs []journal.Record) []journal.Record {
			text := rs[pick(rs, member, restored, 1)].Line
			return after(member, stale, line(text))(remove(member, restored, 1)(rs))
		}, "authority-restored", violated, wrong},
	}
}

// partitionLongDamages are only those that a short partition has not.
func partitionLongDamages() []damage {
	return []damage{
		{"a read 1 ms too late", readAt(120_001), "read-lease", violated, wrong},
		{"a read in the lease's last millisecond", readAt(120_000), "read-lease", held, held0},
		{"a refusal in the lease's last millisecond", refusedAt(120_000), "read-lease", violated, wrong},
		{"a refusal with the wrong word", setLast(member, "result step=3", "status", "no-authority"),
			"read-lease", violated, wrong},
		{"a read lease left on the page", lastAnswerBefore(member, journal.ActionHeal,
			"lease=active", "read_ms", "1"), "read-lease", violated, wrong},
		{"a pause before the suspicion", ahead(member, suspect, gap),
			"read-lease", inconclusive, open},
		{"no refused read", func(rs []journal.Record) []journal.Record {
			return remove(member, "result step=3", count(rs, member, "result step=3"))(rs)
		}, "read-lease", inconclusive, open},
	}
}

// Short names for the tables.
const (
	held  = judge.Held
	held0 = judge.CodeHeld
)
