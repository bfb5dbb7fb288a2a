package scenario

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/mesh/id"
	"holdfast/mesh/wire"
	"holdfast/qemu/relay"
	"holdfast/rig/judge"
	"holdfast/rig/world"
)

// How often a lane asks for a commit. A node of a pair has four lanes: two objects that it homes,
// and two that it has to route to the other node; one of each kind is committed locally, and one by
// all. So it is asked ten times a second, or four times where its journal is stored.
const (
	laneEvery  = 400 * time.Millisecond
	laneSparse = time.Second
)

// servedLimit is the longest that it may take until everything is served. A fence is part of it.
const servedLimit = 30 * time.Second

// hushLimit is more than the longest time that a node takes to answer, twice.
const hushLimit = 45 * time.Second

// convergeLimit is the longest that two nodes may take to work together again: an authority that
// was restarted waits for the failure window, a fence may follow, and a host may be busy.
const convergeLimit = 60 * time.Second

// loadSteps bring a pair up, with traffic through both nodes.
func loadSteps() []Step {
	return append(pairSteps(), load{nodes: []string{root, member}}, served{})
}

// againSteps wait until both nodes work together again, and watch them do so.
func againSteps() []Step {
	return []Step{converge{[]string{root, member}}, served{}}
}

// endSteps end the traffic, read everything once more, and ask both nodes for what they know.
func endSteps() []Step {
	return []Step{hush{}, audit{[]string{root, member}}, survey{root}, survey{member}}
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
		judge.Durable(),
		judge.Linearizable(),
	}
}

// load starts the traffic through nodes: each is asked for two objects of every node's, one that it
// has to commit replicated and one that it may commit locally.
type load struct {
	nodes []string
	homes []string      // whose objects; those of the nodes when empty
	every time.Duration // of a lane; 0: laneEvery
}

func (s load) String() string       { return fmt.Sprintf("commits through %v to begin", s.nodes) }
func (s load) Limit() time.Duration { return answerLimit }
func (s load) Do(_ context.Context, w *world.World) error {
	homes := s.homes
	if len(homes) == 0 {
		homes = s.nodes
	}
	for _, at := range s.nodes {
		for _, home := range homes {
			w.Traffic(lanesOf(w, at, home, cmp.Or(s.every, laneEvery))...)
		}
	}
	return nil
}

// lanesOf are those through a node to the objects of another, or its own.
func lanesOf(w *world.World, at, home string, every time.Duration) []world.Lane {
	return []world.Lane{
		{Node: at, Object: loadObject(w, home, 1), Every: every, Durability: wire.Replicated},
		{Node: at, Object: loadObject(w, home, 2), Every: every, Durability: wire.Local},
	}
}

// loadObject is the name of the nth object, from 1, which the traffic asks a node for that homes it
// while every node is a member. No lab step takes it.
func loadObject(w *world.World, home string, nth int) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("load-%d", i)
		if w.Cast.HomeOf(id.ObjectOf(name)) != node(w, home).ID {
			continue
		}
		if nth--; nth == 0 {
			return name
		}
	}
}

// served waits until every object was committed and read through these nodes, through every one
// when none is named.
type served struct{ nodes []string }

func (s served) String() string {
	if len(s.nodes) == 0 {
		return "every object to be committed and read everywhere"
	}
	return fmt.Sprintf("every object to be committed and read through %v", s.nodes)
}
func (s served) Limit() time.Duration { return servedLimit }
func (s served) Do(ctx context.Context, w *world.World) error {
	return w.AwaitServed(ctx, s.nodes...)
}

// hush ends the traffic through these nodes, all of it when none is named.
type hush struct{ nodes []string }

func (s hush) String() string {
	if len(s.nodes) == 0 {
		return "the commits to end"
	}
	return fmt.Sprintf("the commits through %v to end", s.nodes)
}
func (s hush) Limit() time.Duration { return hushLimit }
func (s hush) Do(_ context.Context, w *world.World) error {
	w.Hush(s.nodes...)
	return nil
}

// audit reads everything that has been committed through each of the nodes.
type audit struct{ nodes []string }

func (s audit) String() string {
	return fmt.Sprintf("everything that was committed to be found through %v", s.nodes)
}
func (s audit) Limit() time.Duration { return servedLimit }
func (s audit) Do(ctx context.Context, w *world.World) error {
	return w.Audit(ctx, s.nodes...)
}

// ask reads everything through a node once, whatever the answer; with stale it reads the copies
// that the node has itself.
type ask struct {
	node  string
	stale bool
}

func (s ask) String() string {
	if s.stale {
		return s.node + " to read its own copies"
	}
	return s.node + " to be asked for everything"
}
func (s ask) Limit() time.Duration { return servedLimit }
func (s ask) Do(ctx context.Context, w *world.World) error {
	return w.Ask(ctx, s.node, s.stale)
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
