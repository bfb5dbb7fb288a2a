package scenario

import (
	"slices"

	"holdfast/rig/judge"
)

// halfOpen kills the member so that the root's end of the session stays open, and starts it again
// before anybody could miss it.
func halfOpen() *Fault {
	return &Fault{
		Name: "half-open",
		About: "the member is killed without a word and started again at once: the root asks the " +
			"half-open session for life before it takes the new boot for the member, admits it in a " +
			"new epoch, and serves nothing of the old boot's before its lease is over",
		Proof: "a member that came back before it was missed was one boot at a time",
		Nodes: 2,
		Steps: slices.Concat(loadSteps(), []Step{
			kill{member},
			boot{member},
			row{member, "mesh-join: confirmed", nil, joinLimit},
		}, againSteps(), endSteps()),
		Checks: slices.Concat(loadChecks(), []judge.Check{
			judge.NewBoot(member),
			judge.SameBoot(root),
		}),
	}
}
