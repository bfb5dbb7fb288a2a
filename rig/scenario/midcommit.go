package scenario

import (
	"context"
	"slices"
	"strings"
	"time"

	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/wire"
	"holdfast/qemu/relay"
	"holdfast/rig/judge"
	"holdfast/rig/world"
)

// The home of an object is killed in the middle of a replicated commit, once at each place where
// something else is known to somebody else:
//
//	stage    the home has staged the record, and has not sent it: nobody else will ever know of it
//	send     it has sent the record, and the relay has lost it: the same, but the home has let it go
//	ack      everybody else has stored the record, and the home has not counted the acknowledgement
//	answer   the home has published the record, and has not answered its client
//
// The client knows as little in all four cases. Behind stage and send the commit has been made
// nowhere, behind ack and answer everywhere: anything else is a mistake of the protocol's.
//
// Where the home is, is exact. It is stopped by a breakpoint of QEMU's where a function of its
// begins, and killed there: the image is the one that is shipped, and knows nothing of it. For send
// the relay loses what the home sends from just before the commit on, and the home is killed once a
// frame as long as the record has been lost: links are TLS, but nothing else at that time is as
// long.
type place struct {
	name     string // ends the fault's name
	when     string // the home is killed, for people
	function string // which the home is about to begin; "": its record has been lost
	made     bool   // everywhere, and else nowhere
}

var places = []place{
	{"stage", "has staged the record, before it sends it", "holdfast/mesh.(*Node).distribute", false},
	{"send", "has sent the record, which is lost", "", false},
	{"ack", "is about to count the acknowledgement", "holdfast/mesh.(*Node).acknowledged", true},
	{"answer", "has published the commit, before it answers", "holdfast/kernel/node/web.Result", true},
}

// MidCommit is the group of these faults, and begins their names but for its last word.
const (
	MidCommit = "kill-mid-commit"
	midPrefix = "kill-mid-"
)

// isMid says whether a fault is one of these.
func isMid(f *Fault) bool { return strings.HasPrefix(f.Name, midPrefix) }

// killMidCommit is all of them: the member is the home, and the root is.
func killMidCommit() []*Fault {
	var all []*Fault
	for _, p := range places {
		all = append(all, killMember(p))
	}
	for _, p := range places {
		all = append(all, killRoot(p))
	}
	return all
}

// killMember kills the member. The root finds out and goes on without it, with what it has itself;
// the member comes back, forgetful, and is given what the root has.
func killMember(p place) *Fault {
	failed := judge.Failed.In(timing.Default).After
	return &Fault{
		Name:  midPrefix + p.name,
		About: "the member is killed in the middle of a commit: it " + p.when,
		Proof: "what was acknowledged before is there at epochs 3 and 4, and what was under way has " +
			"been done " + p.outcome() + ", for all readers",
		Nodes: 2,
		Steps: slices.Concat(quietSteps(), p.killSteps(member, root), []Step{
			row{root, "mesh-fail: removed", []string{"epoch=3"}, failed + rowSlack},
			state{root, removeEpoch},
			recall{root, removeEpoch},
			again{root, removeEpoch},
			recall{root, removeEpoch},
			boot{member},
		}, confirmSteps(rejoinEpoch), settledSteps(rejoinEpoch)),
		Checks: []judge.Check{
			judge.Removed(removeEpoch, root, member),
			judge.Joined("rejoin", rejoinEpoch, root, member),
			judge.NewBoot(member),
			judge.OneHome(),
			judge.Durable(removeEpoch, rejoinEpoch),
			judge.Settled(member, p.made, root, member),
			judge.Linearizable(),
		},
	}
}

// killRoot kills the root. Nobody can commit without it; it starts again, waits its quarantine, and
// takes back what the member has, also what the member has only staged.
func killRoot(p place) *Fault {
	return &Fault{
		Name: midPrefix + p.name + "-root",
		About: "the root is killed in the middle of a commit: it " + p.when + "; it starts again and " +
			"takes the state back from the member",
		Proof: "what was acknowledged before is there at epoch 3, and what was under way has been " +
			"done " + p.outcome() + ", for all readers",
		Nodes: 2,
		Steps: slices.Concat(quietSteps(), p.killSteps(root, member), []Step{
			boot{root},
			row{root, "mesh-view: installed", []string{"epoch=3"}, joinLimit},
			state{root, removeEpoch},
			state{member, removeEpoch},
		}, settledSteps(removeEpoch)),
		Checks: []judge.Check{
			judge.Quarantine(root, timing.FailMS*time.Millisecond, 2),
			judge.SameBoot(member),
			judge.NewBoot(root),
			judge.OneHome(),
			judge.Durable(removeEpoch),
			judge.Settled(root, p.made, root, member),
			judge.Linearizable(),
		},
	}
}

// outcome is where the commit has been made, for people.
func (p place) outcome() string {
	if p.made {
		return "everywhere"
	}
	return "nowhere"
}

// quietSteps bring a pair up that commits something, and then nothing any more.
func quietSteps() []Step {
	return slices.Concat(pairSteps(), keptBefore())
}

// killSteps kill a home in the middle of a commit to an object of its own, the only one under way.
func (p place) killSteps(home, other string) []Step {
	clock := survey{home} // it tells the time before it ends
	if p.function == "" {
		return []Step{
			clock,
			impair{home, other, loses, "lose everything"},
			under{home, joinEpoch},
			sent{home, other, joinEpoch},
			kill{home},
			heal{home, other},
		}
	}
	return []Step{clock, arm{home, p.function}, under{home, joinEpoch}, reach{home, p.function},
		kill{home}}
}

// settledSteps have both nodes read what was under way, be asked for the same commit again, and
// read again; then they go on.
func settledSteps(epoch id.Epoch) []Step {
	return slices.Concat([]Step{
		recall{root, epoch},
		recall{member, epoch},
		again{root, epoch},
		again{member, epoch},
		recall{root, epoch},
		recall{member, epoch},
	}, keptAt(epoch, root, member), []Step{survey{root}, survey{member}})
}

// under has a node commit a value to an object of its own. The answer will not come.
type under struct {
	home  string
	epoch id.Epoch
}

func (s under) String() string       { return "a commit to get under way at " + s.home }
func (s under) Limit() time.Duration { return answerLimit }
func (s under) Do(_ context.Context, w *world.World) error {
	w.ReplicateAside(s.home, s.epoch,
		w.NewCommit(keptObject(w, s.home), judge.UnderWay+s.home, s.epoch))
	return nil
}

// again asks a node for the commit that was under way, under its name, whatever the answer.
type again struct {
	at    string
	epoch id.Epoch
}

func (s again) String() string       { return s.at + " to be asked for the same commit again" }
func (s again) Limit() time.Duration { return keptLimit }
func (s again) Do(ctx context.Context, w *world.World) error {
	return w.ReplicateAgain(ctx, s.at, s.epoch)
}

// arm makes a node stop where a function begins; reach waits until it has.
type arm struct{ node, function string }

func (s arm) String() string       { return s.node + " to be stopped at " + s.function }
func (s arm) Limit() time.Duration { return answerLimit }
func (s arm) Do(ctx context.Context, w *world.World) error {
	return w.Arm(ctx, s.node, s.function)
}

// reach is described at arm.
type reach struct{ node, function string }

func (s reach) String() string       { return s.node + " to come to " + s.function }
func (s reach) Limit() time.Duration { return answerLimit }
func (s reach) Do(ctx context.Context, w *world.World) error {
	return w.Reach(ctx, s.node)
}

// sent waits until the record of the commit under way has been lost.
type sent struct {
	home, other string
	epoch       id.Epoch
}

func (s sent) String() string       { return "the relay to lose the record of " + s.home }
func (s sent) Limit() time.Duration { return answerLimit }
func (s sent) Do(ctx context.Context, w *world.World) error {
	least := len(wire.Append(nil, s.epoch, &wire.Record{
		Mode: wire.Replicate, Boot: 1, AuthorityBoot: 1, Epoch: s.epoch, Version: 1,
		Request: wire.Request{Boot: 1, Seq: 1}, Value: []byte(judge.UnderWay + s.home),
	}))
	return w.AwaitFrame(ctx, s.home, s.other, relay.Dropped, least)
}
