package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/mesh/id"
	"holdfast/qemu/relay"
	"holdfast/rig/judge"
	"holdfast/rig/world"
)

// Each node is asked to commit ten times a second: an object that it homes, and one that it has to
// route to the other node, in turn.
const laneEvery = 200 * time.Millisecond

// servedLimit is the longest that it may take until everything is served. A fence is part of it.
const servedLimit = 30 * time.Second

// convergeLimit is the longest that two nodes may take to work together again: an authority that
// was restarted waits for the failure window, a fence may follow, and a host may be busy.
const convergeLimit = 60 * time.Second

// loadSteps bring a pair up, with traffic through both nodes.
func loadSteps() []Step {
	return []Step{
		boot{root},
		boot{member},
		row{root, "mesh-join: confirmed", []string{"epoch=2"}, joinLimit},
		row{member, "mesh-join: confirmed", []string{"epoch=2"}, joinLimit},
		state{root, joinEpoch},
		state{member, joinEpoch},
		load{[]string{root, member}},
		served{},
	}
}

// againSteps wait until both nodes work together again, and watch them do so.
func againSteps() []Step {
	return []Step{converge{[]string{root, member}}, served{}}
}

// endSteps end the traffic and ask both nodes for what they know.
func endSteps() []Step {
	return []Step{hush{}, survey{root}, survey{member}}
}

// loadChecks are what every fault with traffic is judged by.
func loadChecks() []judge.Check {
	return []judge.Check{
		judge.OneHome(),
		judge.Ordered(),
		judge.RoundTrip(member, root),
		judge.LeaseOver(member, root),
		judge.Served(root, member),
		judge.Agreed(root, member),
	}
}

// load starts the traffic through nodes: each is asked for one object of every node's.
type load struct{ nodes []string }

func (s load) String() string       { return fmt.Sprintf("commits through %v to begin", s.nodes) }
func (s load) Limit() time.Duration { return answerLimit }
func (s load) Do(_ context.Context, w *world.World) error {
	var lanes []world.Lane
	for _, at := range s.nodes {
		for _, home := range s.nodes {
			lanes = append(lanes, world.Lane{Node: at, Object: loadObject(w, home), Every: laneEvery})
		}
	}
	w.Traffic(lanes...)
	return nil
}

// loadObject is the name of the object which the traffic asks a node for that homes it while every
// node is a member. No lab step takes it.
func loadObject(w *world.World, home string) string {
	for i := 0; ; i++ {
		if name := fmt.Sprintf("load-%d", i); w.Cast.HomeOf(id.ObjectOf(name)) == node(w, home).ID {
			return name
		}
	}
}

// served waits until every object was committed and read through every node.
type served struct{}

func (served) String() string       { return "every object to be committed and read everywhere" }
func (served) Limit() time.Duration { return servedLimit }
func (served) Do(ctx context.Context, w *world.World) error {
	return w.AwaitServed(ctx)
}

// hush ends the traffic.
type hush struct{}

func (hush) String() string       { return "the commits to end" }
func (hush) Limit() time.Duration { return answerLimit }
func (hush) Do(_ context.Context, w *world.World) error {
	w.Hush()
	return nil
}

// pass lets time pass: what is broken stays so for that long.
type pass struct {
	time time.Duration
	of   string
}

func (s pass) String() string       { return fmt.Sprintf("%v of %s", s.time, s.of) }
func (s pass) Limit() time.Duration { return s.time + rowSlack }
func (s pass) Do(ctx context.Context, _ *world.World) error {
	return elapse(ctx, s.time)
}

// elapse returns after so much time of the rig's clock, or with the reason why it cannot.
func elapse(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// converge waits until all nodes say that they are members of one and the same view and may
// commit, whichever it is.
type converge struct{ nodes []string }

func (s converge) String() string       { return fmt.Sprintf("%v to serve in one view", s.nodes) }
func (s converge) Limit() time.Duration { return convergeLimit }
func (s converge) Do(ctx context.Context, w *world.World) error {
	for {
		var digests []string
		for _, node := range s.nodes {
			a, err := w.Get(ctx, node, "/mesh")
			if err == nil && len(a.Lines) > 0 &&
				hasFields(a.Lines[0], []string{"mesh=joined", "mutable=1"}) {
				digest, _ := a.Lines[0].Get("digest")
				digests = append(digests, digest)
			}
		}
		if len(digests) == len(s.nodes) && len(slices.Compact(digests)) == 1 {
			return nil
		}
		if err := elapse(ctx, pollSoon); err != nil {
			return err
		}
	}
}

// impair makes what a node sends to another one pass by a rule.
type impair struct {
	node, peer string
	rule       relay.Rule
	detail     string
}

func (s impair) String() string {
	return fmt.Sprintf("the relay to %s from %s to %s", s.detail, s.node, s.peer)
}
func (s impair) Limit() time.Duration { return answerLimit }
func (s impair) Do(_ context.Context, w *world.World) error {
	return w.Impair(s.node, s.peer, s.rule, s.detail)
}

// The rules that faults use.
var (
	loses = relay.Block
	keeps = relay.Rule{Hold: true}
)

// yield heals, and lets what the relay has kept go on.
type yield struct{ node, peer string }

func (s yield) String() string {
	return "the relay to join " + s.node + " and " + s.peer + ", with what it has kept"
}
func (s yield) Limit() time.Duration { return answerLimit }
func (s yield) Do(_ context.Context, w *world.World) error {
	return w.Yield(s.node, s.peer)
}
