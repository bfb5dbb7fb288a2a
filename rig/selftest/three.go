package selftest

import (
	"slices"
	"strings"

	"holdfast/rig/journal"
)

// third is the other member of three nodes: the one that is lost, while member stays.
const third = "n2"

// learnt is the row by which the member knows that the third node was removed.
const learnt = "mesh-view: installed epoch=4"

// killOfThreeDamages are what a member would leave that is drawn into the death of another one.
func killOfThreeDamages() []damage {
	n0, n1 := idIn(trio, root), idIn(trio, member)
	return append(elsewhereDamages(), []damage{
		{"a third node that is removed late", lateRecord(root, removed, 2_000), "removed",
			violated, wrong},
		{"a member that joins again", after(member, learnt, line("mesh-join: confirmed node="+n1+
			" epoch=4 members=2 digest="+digest(4)+" snapshot="+n0+","+n1+" incarnation=4 at=15805")),
			"not-joined-again", violated, wrong},
		{"a member that drops a lease", after(member, learnt, line("mesh-route: lease object="+
			homedIn(trio, member, 1)+" state=dropped home="+n0+" home_epoch=4 at=15805")),
			"lost-nothing", violated, wrong},
	}...)
}

// partitionOfThreeDamages are those of a member that is drawn into another one's coming back, too.
func partitionOfThreeDamages() []damage {
	const back = "mesh-view: installed epoch=5"
	return append(elsewhereDamages(), []damage{
		{"a member that learns twice who came back", again(member, back), "learnt-again",
			violated, wrong},
		{"a member that does not learn who came back", drop(member, back), "learnt-again",
			inconclusive, open},
		{"a member that is confirmed twice", again(member, confirmed), "joined-once", violated, wrong},
		{"a member that boots again", again(member, start), "never-rebooted", violated, wrong},
	}...)
}

// elsewhereDamages are what both runs have in common.
func elsewhereDamages() []damage {
	n0, n1 := idIn(trio, root), idIn(trio, member)
	takeover := func(r journal.Record) bool { return strings.Contains(r.Line, fence) }
	return []damage{
		{"a member that commits nothing in the new view", neverAgain, "goes-on", violated, wrong},
		{"a member that is asked for nothing in the new view", leaveOut(inEpoch("4",
			request(member, "PUT", 200))), "goes-on", inconclusive, wrong},
		{"a member that learns the view twice", again(member, learnt), "learnt", violated, wrong},
		{"a member that does not learn the view", drop(member, learnt), "learnt", inconclusive, open},
		{"a member that is told that it is stale", after(member, learnt,
			line("mesh-fail: stale epoch=3 current=4 at=15805")), "not-told-stale", violated, wrong},
		{"homes that nobody takes over", leaveOut(takeover), "took-over", inconclusive, open},
		{"a member that is fenced too", after(root, removed, line("mesh-route: fence object="+
			homedIn(trio, member, 1)+" stale_home="+n1+" stale_home_epoch=3 home="+n0+
			" home_epoch=4 reason=left-view at=17400")), "nobody-else-fenced", violated, wrong},
	}
}

// olderDamages are to the run in which a member with an old view comes to a restarted root first.
func olderDamages() []damage {
	return []damage{
		{"an old member that does not come", leaveOut(inBoot(2, printed(root, "mesh-link: up node="+
			idIn(trio, third)))), "older-came", inconclusive, open},
	}
}

// inEpoch is the answers that were given in a view.
func inEpoch(epoch string, m matches) matches {
	return func(r journal.Record) bool { return m(r) && r.HTTP.Header["epoch"] == epoch }
}

// neverAgain has the member refuse every commit to one object in the new view, and has the last of
// these requests, and what follows it, come when nobody waits for a fence any more.
func neverAgain(records []journal.Record) []journal.Record {
	asked := inEpoch("4", request(member, "PUT", 200))
	object := records[found(slices.IndexFunc(records, asked))].HTTP.Path
	last := 0
	for i, r := range records {
		if asked(r) && r.HTTP.Path == object {
			r.HTTP.Status, last = 503, i
		}
	}
	return shiftFrom(records, last, 20_000)
}
