package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/rig/judge"
	"holdfast/rig/world"
)

// twin is the machine that has the member's key.
const twin = "n2"

// clone starts a second machine with the member's key.
func clone() *Fault {
	return &Fault{
		Name: "clone",
		About: "a second machine with the member's key joins while the member lives: the root asks " +
			"the member for life and refuses the newcomer as a duplicate; the member goes on",
		Proof: "of two machines with one key one was the member, undisturbed, and the other nothing",
		Nodes: 2,
		Clone: true,
		Steps: slices.Concat(loadSteps(), []Step{
			boot{twin},
			row{root, "mesh-join: refused", []string{"reason=duplicate"}, joinLimit},
			also{twin, member},
			pass{longer, "two machines with one key"},
			survey{twin},
		}, againSteps(), endSteps()),
		Checks: slices.Concat(loadChecks(), []judge.Check{
			judge.Duplicate(root, twin),
			judge.Removals(member, root, judge.Times{}, "nobody is removed"),
			judge.SameBoot(member),
		}),
	}
}

// also asks another machine for the objects which a node homes, with that node's capabilities.
type also struct{ node, as string }

func (s also) String() string       { return fmt.Sprintf("commits through %s to begin", s.node) }
func (s also) Limit() time.Duration { return answerLimit }
func (s also) Do(_ context.Context, w *world.World) error {
	for _, l := range lanesOf(w, s.node, s.as, laneEvery) {
		l.Epoch = s.as
		w.Traffic(l)
	}
	return nil
}
