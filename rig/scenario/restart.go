package scenario

import (
	"slices"

	"holdfast/mesh/capability"
	"holdfast/nvram/config"
	"holdfast/rig/judge"
	"holdfast/rig/provision"
)

// restart starts the member again while nobody watches for failures: once at once, and once after
// it was gone for longer than any failure window.
func restart() *Fault {
	again := step1
	again.Name, again.Nth = "step-1-again", judge.LastOne
	return &Fault{
		Name:  "restart",
		About: "failure detection is off; the member is killed and started again, twice",
		Proof: "each new boot of the member came back into the same epoch with the same digest, " +
			"and nobody was ever suspected",
		Nodes: 2,
		Configure: func(_ *provision.Cast, _ int, node *config.Config) {
			node.Fail = false
		},
		Steps: slices.Concat(pairSteps(), []Step{
			survey{root},
			survey{member},
			lab{1, member, joinEpoch, capability.RightStat, homedAt(root)},
		}, restartSteps(), restartSteps(uptimeMore{root, longer}), []Step{
			lab{1, member, joinEpoch, capability.RightStat, homedAt(root)},
			survey{root},
			survey{member},
		}),
		Checks: []judge.Check{
			// Neither has to do with detection: a node's own clock, and how often it is admitted.
			judge.Disabled("detection-off", "mesh-fail", []string{"paused", "degraded"}, root, member),
			judge.Rejoined(joinEpoch, root, member, 3),
			judge.NewBoot(member),
			judge.Rendezvous(root, member),
			step1.Check("the member reads an object at the root"),
			again.Check("its last boot does, too"),
			judge.Unmissed(judge.Failed.After, root, member),
			judge.Quiet(),
		},
	}
}

// restartSteps kill the member, do something while it is dead, and start it again.
func restartSteps(meanwhile ...Step) []Step {
	return slices.Concat([]Step{kill{member}}, meanwhile, []Step{survey{root}, boot{member}},
		confirmSteps(joinEpoch))
}
