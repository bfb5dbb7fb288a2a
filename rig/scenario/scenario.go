// Package scenario holds the faults: for each one the steps that bring it about, in order, and the
// checks that its journal is judged by. A fault is a value: of Go where its steps compute what they
// ask for, and else of a file of text (Parse), as a user's own are. To add one to the rig, put it
// into the table of All.
//
// The package owns what is done and asked. It must never decide how: steps act through
// world.World, checks are package judge's, and a step never judges. The faults are those of spec
// section 8, the lab steps those of section 7.
package scenario

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/mesh/timing"
	"holdfast/nvram/config"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/provision"
	"holdfast/rig/world"
)

// Fault is one thing that can be done to a mesh, and what has to be true of it.
type Fault struct {
	Name  string
	About string        // one line: what the rig does
	Proof string        // one sentence: what has been shown when every check held
	Nodes int           // of the cast
	Clone bool          // one more machine has the member's key
	Long  bool          // runs for minutes
	Short bool          // is a part of another fault, for those in a hurry
	Alone bool          // keeps this host busy: nothing else is to run beside it
	Text  string        // of the file that it was read from, when it is the user's
	Times timing.Timing // of the nodes; zero: the ADR's
	// Configure changes what the cast's i-th node is provisioned with; nil leaves it as it is.
	Configure func(cast *provision.Cast, i int, node *config.Config)
	Steps     []Step
	// Checks are asked before judge.Health, which every fault has.
	Checks []judge.Check
}

// Step is one thing that the rig does or waits for.
type Step interface {
	// String says it for people, so that "waiting for" can stand before it.
	String() string
	// Limit is how long it may take. It bounds the rig's patience, not the system's behaviour.
	Limit() time.Duration
	// Do does it. ctx ends with the limit and with the run.
	Do(ctx context.Context, w *world.World) error
}

// All returns every fault, in the order in which they are listed and run.
func All() []*Fault {
	return append([]*Fault{
		none(), killPeer(), partition(), partitionLong(),
		killPeerFast(), partitionFast(), killPeerSecond(), partitionSecond(),
		noPeer(), wrongAuthority(), noRoute(), restart(),
		freezePeer(), freezePeer20s(), freezeRoot(), stallPeer(), stallPeer8s(), stallRoot(),
		written("one-way-in"), written("one-way-out"), written("hold"), written("hold-short"),
		written("flap"), written("lossy"), written("half-open"),
		written("kill-peer-of-three"), written("partition-of-three"),
		clone(), restartRoot(), restartRootOnce(), restartRootGone(),
		restartRootWiped(),
		written("restart-root-of-three"), hostile(),
	}, killMidCommit()...)
}

// faults are those that are files of text.
//
//go:embed faults/*.scenario
var faults embed.FS

// written is the fault of a file of the rig's own.
func written(name string) *Fault {
	text, err := faults.ReadFile("faults/" + name + ".scenario")
	if err != nil {
		panic("scenario: " + err.Error())
	}
	f, err := Parse(string(text))
	if err != nil {
		panic(fmt.Sprintf("scenario: %s: %v", name, err))
	}
	return f
}

// Group is a set of faults that run together.
type Group struct {
	Name  string
	About string // what is in it
	has   func(*Fault) bool
}

// quick is what a quick look at clocks, network and restarts consists of: about two minutes, two
// faults at a time.
var quick = []string{
	"freeze-peer-20s", "stall-peer-8s", "one-way-in", "one-way-out", "hold-short", "half-open",
	"clone", "restart-root-once",
}

// Groups returns the sets.
func Groups() []Group {
	return []Group{
		{"quick", strings.Join(quick, ", "),
			func(f *Fault) bool { return slices.Contains(quick, f.Name) }},
		{MidCommit, "the home is killed at each place in the middle of a commit: first the member, " +
			"then the root", isMid},
		{"fast", "kill-peer and partition with the shortest times; want a host that does nothing else",
			isFast},
		{"all", "all but those that take minutes and those that are a part of another",
			func(f *Fault) bool { return !f.Long && !f.Short }},
		{"every", "all but those that are a part of another",
			func(f *Fault) bool { return !f.Short }},
	}
}

// FindGroup returns the faults of the group of this name.
func FindGroup(name string) ([]*Fault, bool) {
	for _, g := range Groups() {
		if g.Name == name {
			return slices.DeleteFunc(All(), func(f *Fault) bool { return !g.has(f) }), true
		}
	}
	return nil, false
}

// Find returns the fault of this name.
func Find(name string) (*Fault, bool) {
	for _, f := range All() {
		if f.Name == name {
			return f, true
		}
	}
	return nil, false
}

// Cast draws who takes part.
func (f *Fault) Cast(seed uint64) *provision.Cast {
	cast := provision.Draw(seed, f.Nodes)
	if f.Clone {
		cast.Clone(1)
	}
	return cast
}

// AllChecks is the fault's own checks, then those of every run.
func (f *Fault) AllChecks() []judge.Check {
	return append(slices.Clone(f.Checks), judge.Health()...)
}

// Patience is the longest time that the steps may take together.
func (f *Fault) Patience() time.Duration {
	var sum time.Duration
	for _, s := range f.Steps {
		sum += s.Limit()
	}
	return sum
}

// Overdue is a step that was not through within its limit.
type Overdue struct {
	Step  string
	Limit time.Duration
}

func (o *Overdue) Error() string { return fmt.Sprintf("%s: not within %v", o.Step, o.Limit) }

// Watcher is told of each step: it returns what is to be called with the result, nil for success.
type Watcher func(step string, limit time.Duration) (through func(error))

// Run does the steps in order, up to the first that fails, and says how it ended. It journals every
// step. interrupted is the cause that the world's context has when the user ended the run.
func (f *Fault) Run(w *world.World, watcher Watcher, interrupted error) journal.End {
	for _, step := range f.Steps {
		limit := w.Patience(step.Limit())
		through := watcher(step.String(), limit)
		err := do(w, step, limit)
		through(err)
		if err != nil {
			return Ending(err, interrupted)
		}
	}
	return journal.End{Outcome: journal.Complete}
}

func do(w *world.World, step Step, limit time.Duration) error {
	record := func(result string) {
		w.Journal.Add(time.Now(), journal.Record{Kind: journal.KindStep, Step: &journal.Step{
			Name: step.String(), LimitMS: limit.Milliseconds(), Result: result,
		}})
	}
	record("")
	ctx, cancel := context.WithTimeoutCause(w.Context(), limit, &Overdue{step.String(), limit})
	defer cancel()
	err := context.Cause(ctx) // the world may have ended between two steps
	if err == nil {
		err = step.Do(ctx, w)
	}
	if err != nil {
		record(err.Error())
		return err
	}
	record("ok")
	return nil
}

// Ending classifies why a run did not come to its end. interrupted is the cause that the world's
// context has when the user ended the run.
func Ending(err, interrupted error) journal.End {
	end := journal.End{Outcome: journal.Trouble, Reason: err.Error()}
	var (
		stopped *world.Stopped
		overdue *Overdue
		refusal *world.Refusal
	)
	switch {
	case errors.Is(err, interrupted):
		end.Outcome = journal.Interrupted
	case errors.As(err, &stopped) && !stopped.Trouble:
		end.Outcome = journal.Stopped
	case errors.As(err, &overdue):
		end.Outcome = journal.Deadline
	case errors.As(err, &refusal):
		end.Outcome = journal.Refused
	}
	return end
}
