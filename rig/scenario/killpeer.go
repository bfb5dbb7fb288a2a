package scenario

import (
	"slices"

	"holdfast/mesh/capability"
	"holdfast/mesh/timing"
	"holdfast/rig/judge"
)

// killPeer ends the member like a power cut, watches the root take its homes over, and starts it
// again.
func killPeer() *Fault {
	return &Fault{
		Name:  "kill-peer",
		About: "the member is killed without a word; later it boots again and rejoins",
		Proof: "the root noticed the death at 6 and 12 s, took the homes over behind a fence, " +
			"and the member came back at epoch 4",
		Nodes: 2,
		Steps: slices.Concat(joinSteps(), keptBefore(), killSteps(timing.Default), takeoverSteps(),
			keptAt(removeEpoch, root), rejoinSteps(), keptAt(rejoinEpoch, root, member)),
		Checks: slices.Concat(joinChecks(), removeChecks(timing.Default), rejoinChecks(),
			[]judge.Check{judge.Durable(removeEpoch, rejoinEpoch), judge.Linearizable()}),
	}
}

// killSteps kill the member and go on until the root has removed it.
func killSteps(t timing.Timing) []Step {
	suspect, failed := judge.Suspect.In(t).After, judge.Failed.In(t).After
	return []Step{
		survey{root}, // with the routes that will have to be fenced
		kill{member},
		keptDuring(root),
		row{root, "mesh-fail: suspect", nil, suspect + rowSlack},
		row{root, "mesh-fail: failed", nil, failed - suspect + rowSlack},
		row{root, "mesh-fail: removed", []string{"epoch=3"}, rowSlack},
	}
}

// takeoverSteps let the root serve what it has taken over, and refuse an old frame.
func takeoverSteps() []Step {
	return []Step{
		state{root, removeEpoch},
		survey{root},
		lab{6, root, removeEpoch, capability.RightStat, fencedAt(root, removeEpoch)},
		survey{root},
		lab{number: 7, at: root},
		survey{root},
		lab{8, root, removeEpoch, capability.RightCommit, fencedAt(root, removeEpoch)},
		survey{root},
	}
}

func removeChecks(t timing.Timing) []judge.Check {
	return append(removedChecks(t),
		judge.LocalStep(step6, removeEpoch,
			"the root reads a taken-over object in one attempt, without a send or a timeout"),
		judge.StaleStep(step7, "a frame of the old epoch is refused as stale and commits nothing"),
		judge.SameObject(step8, step6, "the root commits to the same object at epoch 3"))
}

// rejoinSteps start the member again and let it work.
func rejoinSteps() []Step {
	return append([]Step{boot{member}}, returnSteps()...)
}

// returnSteps go on until both nodes work at epoch 4.
func returnSteps() []Step {
	return append(confirmSteps(rejoinEpoch),
		lab{10, root, rejoinEpoch, capability.RightCommit, homedAt(member)},
		survey{root},
		survey{member})
}

func rejoinChecks() []judge.Check {
	return []judge.Check{
		judge.Joined("rejoin", rejoinEpoch, root, member),
		judge.NewBoot(member),
		step10.Check("the root commits to an object at the returned member"),
	}
}
