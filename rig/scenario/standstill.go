package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/rig/judge"
	"holdfast/rig/world"
)

// How long a machine stands still: less than the lease, between the lease and the failure window,
// and longer than both.
var standstills = []time.Duration{3 * time.Second, 8 * time.Second, 20 * time.Second}

// freezePeer stops the member together with its counter.
func freezePeer() *Fault { return frozenPeer("freeze-peer", standstills...) }

// freezePeer20s is the longest one alone.
func freezePeer20s() *Fault {
	f := frozenPeer("freeze-peer-20s", standstills[2])
	f.Short = true
	return f
}

func frozenPeer(name string, times ...time.Duration) *Fault {
	return &Fault{
		Name: name,
		About: "the hypervisor stops the member, and its counter with it, for " + list(times) +
			": its second clock must tell it, so that it refuses on waking; removed after 12 s, it " +
			"rejoins",
		Proof: "a member that was stopped with its counter committed nothing on waking before it " +
			"had a new lease, and came back by itself",
		Nodes: 2,
		Steps: standSteps(member, world.Freeze, times...),
		Checks: slices.Concat(loadChecks(), standChecks(member, times...), []judge.Check{
			judge.Removals(member, root, judge.Times{Least: 1, Most: 1},
				"the member is removed once, in the longest standstill"),
			judge.SameBoot(member),
		}),
	}
}

// freezeRoot stops the root together with its counter.
func freezeRoot() *Fault {
	return &Fault{
		Name: "freeze-root",
		About: "the hypervisor stops the root, and its counter with it, for 3, 8 and 20 s: its own " +
			"pause is nobody's silence, so that it removes nobody; the member goes immutable " +
			"meanwhile, and both go on",
		Proof: "an authority that was stopped with its counter convicted nobody for it",
		Nodes: 2,
		Steps: standSteps(root, world.Freeze, standstills...),
		Checks: slices.Concat(loadChecks(), standChecks(root, standstills...), []judge.Check{
			judge.Removals(member, root, judge.Times{}, "nobody is removed"),
			judge.SameBoot(root),
		}),
	}
}

// stallPeer stops the member's emulator: its counter jumps, and its watchdog bites.
func stallPeer() *Fault {
	return stalledPeer("stall-peer", judge.Times{Least: 1, Most: 1},
		"the member is removed once, in the longest standstill", standstills...)
}

// stallPeer8s is one that ends before the member is removed.
func stallPeer8s() *Fault {
	f := stalledPeer("stall-peer-8s", judge.Times{}, "the member is not removed", standstills[1])
	f.Short = true
	return f
}

func stalledPeer(
	name string, removals judge.Times, claim string, times ...time.Duration,
) *Fault {
	return &Fault{
		Name: name,
		About: "the member's whole machine stops for " + list(times) + " while time goes on: its " +
			"lease is over on waking, and when its watchdog of 3 s was not fed it is reset and rejoins",
		Proof: "a member that stood still committed nothing on waking, and its watchdog brought it " +
			"back as a new boot",
		Nodes: 2,
		Steps: standSteps(member, world.Stall, times...),
		Checks: slices.Concat(loadChecks(), standChecks(member, times...), []judge.Check{
			judge.Bitten(member, watchdogMember),
			judge.Removals(member, root, removals, claim),
		}),
	}
}

// list writes times for people.
func list(times []time.Duration) string {
	var texts []string
	for _, t := range times {
		texts = append(texts, t.String())
	}
	return strings.Join(texts, ", ")
}

// stallRoot stops the root's emulator: its counter jumps.
func stallRoot() *Fault {
	return &Fault{
		Name: "stall-root",
		About: "the root's whole machine stops for 3, 8 and 20 s while time goes on: it drains what " +
			"arrived before it judges, and its own pause is nobody's silence; its watchdog of 30 s " +
			"lets it be",
		Proof: "an authority that stood still convicted nobody for it",
		Nodes: 2,
		Steps: standSteps(root, world.Stall, standstills...),
		Checks: slices.Concat(loadChecks(), standChecks(root, standstills...), []judge.Check{
			judge.Bitten(root, watchdogRoot),
			judge.Removals(member, root, judge.Times{}, "nobody is removed"),
			judge.SameBoot(root),
		}),
	}
}

// The watchdogs (rule L15).
const (
	watchdogMember = 3 * time.Second
	watchdogRoot   = 30 * time.Second
)

func standChecks(node string, times ...time.Duration) []judge.Check {
	return []judge.Check{judge.StoodStill(node, times...), judge.Noticed(node)}
}

// standSteps make a node stand still, for each of the times, and let it come back.
func standSteps(node string, how world.Stop, times ...time.Duration) []Step {
	steps := loadSteps()
	for _, d := range times {
		steps = append(steps, stand{node, how, d})
		steps = append(steps, againSteps()...)
	}
	return append(steps, endSteps()...)
}

// stand makes a node stand still for a time.
type stand struct {
	node string
	how  world.Stop
	time time.Duration
}

func (s stand) String() string       { return fmt.Sprintf("%s to %v %s", s.node, s.time, s.how) }
func (s stand) Limit() time.Duration { return s.time + answerLimit }
func (s stand) Do(ctx context.Context, w *world.World) error {
	if err := w.Halt(ctx, s.node, s.how); err != nil {
		return err
	}
	if err := elapse(ctx, s.time); err != nil {
		return err
	}
	return w.GoOn(ctx, s.node, s.how)
}
