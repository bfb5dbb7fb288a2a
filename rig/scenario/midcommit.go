package scenario

import (
	"slices"
	"strings"
	"time"

	"holdfast/mesh/timing"
	"holdfast/rig/judge"
)

// The member is killed in the middle of a commit. Where in the middle is what the relay lets pass:
// links are TLS, so the rig cannot tell a record from an acknowledgement, and every frame of one
// direction is lost from just before the commit on.
//
//	killMidSend   nothing of the member's arrives: it has staged the record, and nobody else has it
//	killMidAck    nothing of the root's arrives: the root has the record, and the member does not
//	              know it, so that its client has no answer
//
// Either way the outcome is not known to the client. What was acknowledged before is there, and the
// commit has been made everywhere or nowhere.
func killMidSend() *Fault {
	return killMid("kill-mid-send", "a record is on its way to the root", member, root)
}

func killMidAck() *Fault {
	return killMid("kill-mid-ack", "an acknowledgement is on its way to it", root, member)
}

// isMid says whether a fault is one of these.
func isMid(f *Fault) bool { return strings.HasPrefix(f.Name, "kill-mid-") }

// staging is more than a commit takes to get to the other node and back.
const staging = 500 * time.Millisecond

func killMid(name, when, from, to string) *Fault {
	failed := judge.Failed.In(timing.Default).After
	return &Fault{
		Name:  name,
		About: "the member is killed while " + when,
		Proof: "what was acknowledged before is there at epochs 3 and 4, and what was under way has " +
			"been done everywhere or nowhere",
		Nodes: 2,
		Steps: slices.Concat([]Step{
			boot{root},
			boot{member},
			row{member, "mesh-join: confirmed", []string{"epoch=2"}, joinLimit},
			state{root, joinEpoch},
			state{member, joinEpoch},
		}, keptBefore(), []Step{
			survey{member}, // its clock, before it ends
			impair{from, to, loses, "lose everything"},
			commit{member, joinEpoch, "mid", true},
			pass{staging, "the commit"},
			kill{member},
			row{root, "mesh-fail: removed", []string{"epoch=3"}, failed + rowSlack},
			heal{root, member},
			state{root, removeEpoch},
		}, keptAt(removeEpoch, root), []Step{
			boot{member},
			row{member, "mesh-join: confirmed", []string{"epoch=4"}, joinLimit},
			state{root, rejoinEpoch},
			state{member, rejoinEpoch},
		}, keptAt(rejoinEpoch, root, member), []Step{survey{root}, survey{member}}),
		Checks: []judge.Check{
			judge.Removed(removeEpoch, root, member),
			judge.Joined("rejoin", rejoinEpoch, root, member),
			judge.NewBoot(member),
			judge.Durable(removeEpoch, rejoinEpoch),
			judge.Linearizable(),
		},
	}
}
