package scenario

import (
	"slices"
	"time"

	"holdfast/mesh/capability"
	"holdfast/mesh/timing"
	"holdfast/rig/judge"
)

// partition cuts the two nodes from each other while both live on, and heals.
func partition() *Fault {
	return &Fault{
		Name:  "partition",
		About: "the way between the two nodes is cut, both live on; later it heals",
		Proof: "the isolated member stopped committing before the root took its homes over, " +
			"re-homed nothing, and came back at epoch 4 without a reboot",
		Nodes: 2,
		Steps: slices.Concat(joinSteps(), keptBefore(), cutSteps(timing.Default), isolatedSteps(),
			keptAt(removeEpoch, root), healSteps(), keptAt(rejoinEpoch, root, member)),
		Checks: slices.Concat(joinChecks(), removeChecks(timing.Default), isolatedChecks(timing.Default),
			healChecks(), []judge.Check{judge.Durable(removeEpoch, rejoinEpoch),
				judge.Linearizable()}),
	}
}

// partitionLong is a partition that outlasts the read leases.
func partitionLong() *Fault {
	const readLease = timing.ReadLeaseMS * time.Millisecond
	return &Fault{
		Name:  "partition-long",
		About: "a partition that goes on until the member's read leases have run out",
		Proof: "the isolated member served reads for 120 s and not longer, " +
			"and came back at epoch 4 without a reboot",
		Nodes: 2,
		Long:  true,
		Steps: slices.Concat(joinSteps(), cutSteps(timing.Default), isolatedSteps(), []Step{
			readOut{member, joinEpoch, readLease + rowSlack},
			survey{member},
			survey{root},
		}, healSteps()),
		Checks: slices.Concat(joinChecks(), removeChecks(timing.Default), isolatedChecks(timing.Default),
			[]judge.Check{judge.ReadLease(member, root)}, healChecks()),
	}
}

// cutSteps cut and go on until the root has removed the member and serves its objects, while the
// member is pressed to commit.
func cutSteps(t timing.Timing) []Step {
	removal := row{root, "mesh-fail: removed", []string{"epoch=3"},
		judge.Failed.In(t).After + rowSlack}
	return append([]Step{
		survey{root},
		survey{member},
		cut{root, member},
		strand{member, root, joinEpoch},
		keptDuring(root),
		keptDuring(member),
		press{member, joinEpoch, removal},
	}, takeoverSteps()...)
}

// isolatedSteps ask the cut-off member what it still does, and let old frames of it arrive late.
func isolatedSteps() []Step {
	return []Step{
		row{member, "mesh-fail: authority", []string{"state=lost"}, rowSlack},
		lab{3, member, joinEpoch, capability.RightStat, moved},
		lab{9, member, joinEpoch, capability.RightCommit, heldByMember},
		survey{member},
		late{member, root},
		survey{root},
	}
}

func isolatedChecks(t timing.Timing) []judge.Check {
	return []judge.Check{
		judge.OwnClock(judge.Lost.In(t), member, root),
		judge.RigClock(judge.Lost.In(t), member, root),
		judge.AuthorityLost(joinEpoch, member, root, t),
		judge.LeaseBound(member, t),
		judge.LeaseBoundByFrames(member, root, t),
		judge.BeforeRehome(removeEpoch, member, root),
		judge.ViewKept(joinEpoch, member),
		judge.IsolatedStep(step9, member,
			"the isolated member refuses a commit and a remote read with no-authority"),
		isolatedRead.Check("the isolated member reads an object that it homes under its read lease"),
		judge.LateFrames(member, root),
	}
}

// healSteps heal and let the member come back and work.
func healSteps() []Step {
	return append([]Step{
		heal{root, member},
		row{member, "mesh-fail: stale", []string{"epoch=2", "current=3"}, joinLimit},
	}, append(returnSteps(),
		row{member, "mesh-fail: authority", []string{"state=restored"}, rowSlack},
		survey{member})...)
}

func healChecks() []judge.Check {
	return []judge.Check{
		judge.ToldStale(joinEpoch, removeEpoch, member, root),
		judge.Joined("rejoin", rejoinEpoch, root, member),
		judge.SameBoot(member),
		judge.Restored(rejoinEpoch, member, root),
		step10.Check("the root commits to an object at the returned member"),
	}
}
