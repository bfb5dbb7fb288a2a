package scenario

import (
	"context"
	"fmt"
	"time"

	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/rig/judge"
	"holdfast/rig/world"
)

// keptLimit is the longest that a replicated commit may take: until a silent member is removed.
const keptLimit = 20 * time.Second

// keptObject is the name of an object that a node homes while every node is a member, and that
// nobody but the steps of this file touches.
func keptObject(w *world.World, home string) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%d", judge.KeptPrefix, i)
		if w.Cast.HomeOf(id.ObjectOf(name)) == node(w, home).ID {
			return name
		}
	}
}

// commit has a node commit new values to one object of every node's, as replicated. With aside
// nobody waits: the answers come when the fault lets them.
type commit struct {
	at    string
	epoch id.Epoch
	tag   string // makes the values its own
	aside bool
}

func (s commit) String() string {
	return fmt.Sprintf("replicated commits through %s at epoch %v", s.at, s.epoch)
}
func (s commit) Limit() time.Duration { return keptLimit }
func (s commit) Do(ctx context.Context, w *world.World) error {
	for _, home := range []string{root, member} {
		name := keptObject(w, home)
		c := w.NewCommit(name, fmt.Sprintf("%s by %s for %s", s.tag, s.at, home), s.epoch)
		if s.aside {
			w.ReplicateAside(s.at, s.epoch, c)
			continue
		}
		if err := w.Replicate(ctx, s.at, s.epoch, c); err != nil {
			return err
		}
	}
	return nil
}

// recall has a node read those objects at their homes.
type recall struct {
	at    string
	epoch id.Epoch
}

func (s recall) String() string {
	return fmt.Sprintf("%s to read what was committed, at epoch %v", s.at, s.epoch)
}
func (s recall) Limit() time.Duration { return answerLimit }
func (s recall) Do(ctx context.Context, w *world.World) error {
	for _, home := range []string{root, member} {
		name := keptObject(w, home)
		token := w.Cast.Mint(id.ObjectOf(name), node(w, s.at).ID, capability.RightStat, s.epoch)
		if err := w.Recall(ctx, s.at, name, token); err != nil {
			return err
		}
	}
	return nil
}

// keptBefore commits through both nodes before a fault; keptDuring while it lasts, through a node
// that lives on; keptAt reads everything at an epoch and commits once more.
func keptBefore() []Step {
	return []Step{
		commit{root, joinEpoch, "before", false},
		commit{member, joinEpoch, "before", false},
	}
}

func keptDuring(at string) Step { return commit{at, joinEpoch, "during", true} }

func keptAt(epoch id.Epoch, nodes ...string) []Step {
	var steps []Step
	for _, at := range nodes {
		steps = append(steps, recall{at, epoch}, commit{at, epoch, "after", false}, recall{at, epoch})
	}
	return steps
}
