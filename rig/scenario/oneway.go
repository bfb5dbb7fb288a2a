package scenario

import (
	"slices"
	"time"

	"holdfast/rig/judge"
)

// oneWayIn loses what goes to the member, while the root still hears it.
func oneWayIn() *Fault {
	return oneWay("one-way-in", root, member,
		"frames to the member are lost, the root still hears it: talking is no proof of life to "+
			"somebody who is not heard, so that the root removes a member that hears nothing; it "+
			"stops committing 6 s after it asked last",
		"a member that could talk and not hear stopped committing, was removed, and came back when "+
			"the way healed")
}

// oneWayOut loses what the member sends, while it still hears the root.
func oneWayOut() *Fault {
	return oneWay("one-way-out", member, root,
		"frames from the member are lost, it still hears the root: hearing renews no lease, so that "+
			"it stops committing 6 s after it asked last, and the root removes it",
		"a member that could hear and not talk stopped committing, was removed, and came back when "+
			"the way healed")
}

func oneWay(name, from, to, about, proof string) *Fault {
	// In the worst case the root hears, until just before the cut, an echo that is good for 6 s, and
	// the failure window begins only then.
	const removal = 6*time.Second + 12*time.Second + rowSlack
	return &Fault{
		Name: name, About: about, Proof: proof, Nodes: 2,
		Steps: slices.Concat(loadSteps(), []Step{
			impair{from, to, loses, "lose what goes"},
			row{root, "mesh-fail: removed", []string{"epoch=3"}, removal},
			pass{settled, "traffic"},
			heal{root, member},
		}, againSteps(), endSteps()),
		Checks: slices.Concat(loadChecks(), []judge.Check{
			judge.Removals(member, root, judge.Times{Least: 1, Most: 1},
				"the root removes the member once"),
			judge.StoppedServing(member, root),
			judge.SameBoot(member),
		}),
	}
}
