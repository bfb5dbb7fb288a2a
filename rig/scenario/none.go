package scenario

import (
	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/rig/judge"
)

// The nodes of a pair.
const (
	root   = "n0" // the authority
	member = "n1"
)

// The epochs of a pair's life (ADR-0008, section 2).
const (
	joinEpoch   = 2
	removeEpoch = 3
	rejoinEpoch = 4
)

// The lab steps of a pair and what their results must show. Step 7's frame is refused before
// anything is looked up, so that its row names nothing else.
var (
	step1 = judge.LabStep{Number: 1, At: member, HomeAt: root, Fields: []string{
		"op=stat", "status=ok", "home=" + root, "epoch=2", "attempts=1", "moved=0", "timeouts=0"}}
	step2 = judge.LabStep{Number: 2, At: root, HomeAt: root, Fields: []string{
		"from=" + root, "to=" + member, "epoch=2"}}
	step3 = judge.LabStep{Number: 3, At: member, HomeAt: root, Fields: []string{
		"op=stat", "status=ok", "home=" + member, "epoch=2", "attempts=2", "moved=1", "timeouts=0"}}
	step4 = judge.LabStep{Number: 4, At: member, HomeAt: root, Fields: []string{
		"op=commit", "status=replay", "epoch=2", "sends=0", "timeouts=0"}}
	step5 = judge.LabStep{Number: 5, At: root, HomeAt: root, Fields: []string{
		"op=commit", "status=ok", "home=" + member, "epoch=2",
		"attempts=1", "moved=0", "timeouts=0"}}
	step6 = judge.LabStep{Number: 6, At: root, Fields: []string{
		"op=stat", "status=ok", "home=" + root, "epoch=3", "home_epoch=3",
		"attempts=1", "moved=0", "sends=0", "timeouts=0"}}
	step7 = judge.LabStep{Number: 7, At: root, Fields: []string{"status=stale-epoch"}}
	step8 = judge.LabStep{Number: 8, At: root, Fields: []string{
		"op=commit", "status=ok", "home=" + root, "epoch=3", "home_epoch=3",
		"attempts=1", "moved=0", "sends=0", "timeouts=0"}}
	step9 = judge.LabStep{Number: 9, At: member} // two rows: of the commit and of the read
	// isolatedRead is step 3 a second time: by now the member knows that it homes the object.
	isolatedRead = judge.LabStep{Name: "isolated-read", Number: 3, At: member, HomeAt: root, Nth: 2,
		Fields: []string{"op=stat", "status=ok", "home=" + member, "epoch=2", "attempts=1", "sends=0",
			"timeouts=0", "class=lease"}}
	step10 = judge.LabStep{Number: 10, At: root, HomeAt: member, Fields: []string{
		"op=commit", "status=ok", "home=" + member, "epoch=4", "home_epoch=4",
		"attempts=1", "moved=0", "timeouts=0"}}
)

// pairSteps start a pair and let it join.
func pairSteps() []Step {
	return append([]Step{boot{root}, boot{member}}, confirmSteps(joinEpoch)...)
}

// confirmSteps wait until both nodes of a pair have confirmed an epoch, and then until they serve
// at it.
func confirmSteps(epoch id.Epoch) []Step {
	confirmed := []string{"epoch=" + epoch.String()}
	return []Step{
		row{root, "mesh-join: confirmed", confirmed, joinLimit},
		row{member, "mesh-join: confirmed", confirmed, joinLimit},
		state{root, epoch},
		state{member, epoch},
	}
}

// joinSteps bring a pair up to where most faults begin: an object has been moved, and each node has
// read or committed.
func joinSteps() []Step {
	return append(pairSteps(),
		survey{root},
		survey{member},
		lab{1, member, joinEpoch, capability.RightStat, homedAt(root)},
		lab{number: 2, at: root},
		survey{root},
		survey{member},
		lab{3, member, joinEpoch, capability.RightStat, moved},
		survey{member},
		lab{4, member, joinEpoch, capability.RightCommit, moved},
		survey{member},
		lab{5, root, joinEpoch, capability.RightCommit, moved})
}

// joinChecks judge what joinSteps did.
func joinChecks() []judge.Check {
	return []judge.Check{
		judge.Joined("join", joinEpoch, root, member),
		judge.Rendezvous(root, member),
		step1.Check("the member reads an object at the root in one attempt"),
		judge.Moved(step2, step1, root, member),
		judge.Rerouted(step3, step1, "the member finds the moved object after one MOVED"),
		judge.Replayed(step4, step3,
			"the same request with another body is refused as a replay and commits nothing"),
		judge.SameObject(step5, step2, "the root commits to the moved object at the member"),
	}
}

// none does nothing to a pair but let it join and work.
func none() *Fault {
	later := step5 // the same in all but its number: leases have been renewed ever since
	later.Number = 10
	return &Fault{
		Name:  "none",
		About: "two nodes join and route to each other; nothing is broken",
		Proof: "two kernels formed one mesh at epoch 2, each served the other, and for longer than " +
			"the failure window neither missed the other",
		Nodes: 2,
		Steps: append(joinSteps(),
			uptimeMore{root, longer},
			lab{10, root, joinEpoch, capability.RightCommit, moved},
			survey{root},
			survey{member},
		),
		Checks: append(joinChecks(),
			judge.SameObject(later, step5, "the root still commits to the same object at the member"),
			judge.Quiet()),
	}
}
