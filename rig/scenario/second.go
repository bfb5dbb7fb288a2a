package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/nvram/config"
	"holdfast/rig/judge"
	"holdfast/rig/provision"
	"holdfast/rig/world"
)

// second is the timing of the faults here: no lease gives a right, every commit waits for the
// acknowledgements of all (docs/decisions/0012-acks-all.md). So there is no lab either: objects are
// committed under their names over HTTP.
var second = timing.OneSecond

// isSecond tells the faults of this file.
func isSecond(f *Fault) bool { return strings.HasSuffix(f.Name, "-second") }

// acked provisions a node of these faults.
func acked(cast *provision.Cast, i int, node *config.Config) {
	timed(second)(cast, i, node)
	node.AcksAll, node.Lab = true, false
}

// killPeerSecond is killPeer without leases.
func killPeerSecond() *Fault {
	return &Fault{
		Name:  "kill-peer-second",
		About: "kill-peer without leases: every commit needs all acknowledgements, detection a second",
		Proof: "the root noticed the death at 0.6 and 1 s and took the homes over at once, nothing " +
			"acknowledged was lost, and the member came back at epoch 4",
		Nodes:     2,
		Times:     second,
		Configure: acked,
		Steps: slices.Concat(joinAcked(), killSteps(second), servedAlone(),
			[]Step{boot{member}}, returnAcked()),
		Checks: slices.Concat(joinAckedChecks(), judge.Steady(removedChecks(second)...), keptChecks(),
			judge.Steady(judge.Joined("rejoin", rejoinEpoch, root, member), judge.NewBoot(member))),
	}
}

// partitionSecond is partition without leases.
func partitionSecond() *Fault {
	removal := row{root, "mesh-fail: removed", []string{"epoch=3"},
		judge.Failed.In(second).After + rowSlack}
	return &Fault{
		Name:  "partition-second",
		About: "partition without leases: every commit needs all acknowledgements, detection a second",
		Proof: "the isolated member could commit nothing that the root did not acknowledge, which took " +
			"its homes over after a second, and it came back at epoch 4 without a reboot",
		Nodes:     2,
		Times:     second,
		Configure: acked,
		Steps: slices.Concat(joinAcked(), []Step{
			survey{root},
			survey{member},
			cut{root, member},
			keptDuring(root),
			insist{member, joinEpoch, removal},
		}, servedAlone(), []Step{
			row{member, "mesh-fail: authority", []string{"state=lost"}, rowSlack},
			survey{member},
			heal{root, member},
			row{member, "mesh-fail: stale", []string{"epoch=2", "current=3"}, joinLimit},
		}, returnAcked(), []Step{
			row{member, "mesh-fail: authority", []string{"state=restored"}, rowSlack},
			survey{member},
		}),
		Checks: slices.Concat(joinAckedChecks(), judge.Steady(removedChecks(second)...), keptChecks(),
			judge.Steady(
				judge.OwnClock(judge.Lost.In(second), member, root),
				judge.RigClock(judge.Lost.In(second), member, root),
				judge.AuthorityLost(joinEpoch, member, root, second),
				judge.ViewKept(joinEpoch, member),
				judge.ToldStale(joinEpoch, removeEpoch, member, root),
				judge.Joined("rejoin", rejoinEpoch, root, member),
				judge.SameBoot(member),
				judge.Restored(rejoinEpoch, member, root))),
	}
}

// joinAcked brings a pair up to where these faults begin: every object of the cast has been
// committed, and each node was asked for what it must refuse.
func joinAcked() []Step {
	return slices.Concat(pairSteps(), []Step{founded{root, joinEpoch}}, keptBefore(), []Step{
		demand{root, joinEpoch},
		demand{member, joinEpoch},
		survey{root},
		survey{member},
	})
}

func joinAckedChecks() []judge.Check {
	return append(judge.Steady(
		judge.Joined("join", joinEpoch, root, member), judge.Rendezvous(root, member)),
		judge.OnlyAcked(root, member))
}

// removedChecks are those of removeChecks that need no lab.
func removedChecks(t timing.Timing) []judge.Check {
	suspect, failed := judge.Suspect.In(t), judge.Failed.In(t)
	return []judge.Check{
		judge.OwnClock(suspect, root, member),
		judge.RigClock(suspect, root, member),
		judge.OwnClock(failed, root, member),
		judge.RigClock(failed, root, member),
		judge.Removed(removeEpoch, root, member),
		judge.Recomputed(removeEpoch, root, member),
		judge.Fenced(removeEpoch, root, member),
	}
}

// keptChecks judge what clients were answered.
func keptChecks() []judge.Check {
	return []judge.Check{
		judge.Acknowledged(member, root),
		judge.OneHome(),
		judge.DurableByCopies(root, removeEpoch, rejoinEpoch),
		judge.LinearizableByCopies(root),
	}
}

// servedAlone lets the root serve what it has taken over.
func servedAlone() []Step {
	return slices.Concat([]Step{state{root, removeEpoch}, survey{root}},
		copiedAt(removeEpoch, root), []Step{survey{root}})
}

// returnAcked goes on until both nodes work at epoch 4.
func returnAcked() []Step {
	return slices.Concat(confirmSteps(rejoinEpoch), copiedAt(rejoinEpoch, root, member),
		[]Step{survey{root}, survey{member}})
}

// copiedAt commits through nodes at an epoch, and reads everything as the root has it before and
// after that: a copy there whose age is 0 is the newest.
func copiedAt(epoch id.Epoch, nodes ...string) []Step {
	var steps []Step
	for _, at := range nodes {
		steps = append(steps, copies{root, epoch}, commit{at, epoch, "after", false},
			copies{root, epoch})
	}
	return steps
}

// founded commits every object that a cast's nodes are told apart by.
type founded struct {
	at    string
	epoch id.Epoch
}

func (s founded) String() string       { return "the first commits through " + s.at }
func (s founded) Limit() time.Duration { return keptLimit }
func (s founded) Do(ctx context.Context, w *world.World) error {
	for _, o := range provision.LabObjects() {
		if err := w.Replicate(ctx, s.at, s.epoch, w.NewCommit(o.Name, "first", s.epoch)); err != nil {
			return err
		}
	}
	return nil
}

// demand asks a node for what rests on a lease alone: a local commit and an authoritative read of
// an object of every node. Whether it is refused is for a check to say.
type demand struct {
	at    string
	epoch id.Epoch
}

func (s demand) String() string       { return s.at + " to be asked for what takes a lease" }
func (s demand) Limit() time.Duration { return answerLimit }
func (s demand) Do(ctx context.Context, w *world.World) error {
	for _, home := range []string{root, member} {
		name := keptObject(w, home)
		token := w.Cast.Mint(id.ObjectOf(name), node(w, s.at).ID,
			capability.RightStat|capability.RightCommit, s.epoch)
		w.PutAside(s.at, name, token, fmt.Sprintf("local by %s for %s", s.at, home))
		// It is answered before the read is, or it will have shown nothing.
		if err := w.Recall(ctx, s.at, name, token); err == nil {
			return &world.Refusal{Reason: s.at + " gave an authoritative read"}
		}
	}
	return nil
}

// insist has a node commit, as replicated, again and again until another one has printed a row, and
// once more. Nobody waits for the answers.
type insist struct {
	node  string
	epoch id.Epoch
	until row
}

func (s insist) String() string {
	return s.node + " to try commits until " + s.until.String()
}
func (s insist) Limit() time.Duration { return s.until.limit }
func (s insist) Do(ctx context.Context, w *world.World) error {
	name := keptObject(w, s.node)
	return pressUntil(ctx, w, s.until, func(n int) {
		c := w.NewCommit(name, fmt.Sprintf("insisted %d by %s", n, s.node), s.epoch)
		w.ReplicateAside(s.node, s.epoch, c)
	})
}

// copies has a node read its copies of what was committed, until each is as new as can be.
type copies struct {
	at    string
	epoch id.Epoch
}

func (s copies) String() string {
	return fmt.Sprintf("%s to read the newest of what was committed, at epoch %v", s.at, s.epoch)
}
func (s copies) Limit() time.Duration { return answerLimit }
func (s copies) Do(ctx context.Context, w *world.World) error {
	names := []string{keptObject(w, root), keptObject(w, member)}
	for _, o := range provision.LabObjects() {
		names = append(names, o.Name)
	}
	for _, name := range names {
		token := w.Cast.Mint(id.ObjectOf(name), node(w, s.at).ID, capability.RightStat, s.epoch)
		for {
			age, err := w.RecallCopy(ctx, s.at, name, token)
			if err != nil {
				return err
			}
			if age == 0 {
				break
			}
			if err := elapse(ctx, pollSoon); err != nil {
				return err
			}
		}
	}
	return nil
}
