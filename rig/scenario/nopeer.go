package scenario

import (
	"time"

	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/rig/judge"
)

// The epoch of a root that nobody has joined, and for how long a run watches that nothing happens
// that takes the failure window: longer than it.
const (
	firstEpoch id.Epoch = 1
	longer              = timing.FailMS*time.Millisecond + 3*time.Second
)

// noPeer leaves the root alone for longer than the failure window.
func noPeer() *Fault {
	return &Fault{
		Name:  "no-peer",
		About: "the root listens and no second machine exists",
		Proof: "the root stayed at epoch 1, removed nobody and served on",
		Nodes: 2, // the member that is allowed, and never boots
		Steps: []Step{
			boot{root},
			state{root, firstEpoch},
			survey{root},
			uptime{root, longer},
			survey{root},
		},
		Checks: append(judge.Alone(root), judge.Quiet()),
	}
}
