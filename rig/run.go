package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/scenario"
)

// runCommand runs faults.
type runCommand struct {
	faultFlags
	sessionFlags
	formatFlags

	Keep string `default:"always" enum:"always,fail,never" help:"Which folders stay: ${enum}."`

	Hold bool `help:"After the steps, keep the nodes up and reachable until Ctrl-C."`

	RecordSteps bool `help:"Take along what the nodes' protocol was given, for rig replay."`

	RecordGaps string `placeholder:"FILE" help:"Write the gaps between the member's frames here."`
}

// faultFlags choose faults; kill-peer when there are none.
type faultFlags struct {
	Fault []string `short:"f" help:"Any of: ${faults}; or a group: ${groups}."`

	Nodes int `default:"2" help:"2, or 3 for those faults that exist with a third node."`

	Scenario []string `short:"s" placeholder:"FILE" help:"Also those of files (docs/scenarios.md)."`
}

// Help is the example of --help.
func (*runCommand) Help() string {
	return "Example: rig run --fault kill-peer --fault no-peer --seed 42. --slow 3 waits three " +
		"times as long for everything, on a slow host; it changes no time of the nodes', no fault's " +
		"length and no bound of a check's. --format json is a result a line, github a workflow's " +
		"commands and its step summary."
}

// Validate refuses what the flags' types let through.
func (c *runCommand) Validate() error {
	if err := c.sessionFlags.check(); err != nil {
		return err
	}
	faults, err := c.faults()
	switch {
	case err != nil:
		return err
	case c.Hold && len(faults) != 1:
		return errors.New("--hold takes one fault")
	case c.RecordGaps != "" && len(faults) != 1:
		return errors.New("--record-gaps takes one fault")
	case c.Hold && c.Format != "text":
		return errors.New("--hold needs --format text: it prints where the nodes are")
	}
	return nil
}

// readScenario reads a fault from a file. It may not have a name of the rig's own.
func readScenario(path string) (*scenario.Fault, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := scenario.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.Text = string(text)
	_, known := scenario.Find(f.Name)
	if _, group := scenario.FindGroup(f.Name); known || group {
		return nil, fmt.Errorf("%s: the rig has a %s of its own", path, f.Name)
	}
	return f, nil
}

// faultOf is the fault of a stored run: of the rig's, or of the text that the journal has.
func faultOf(run *journal.Run) (*scenario.Fault, error) {
	if run.Scenario == "" {
		return findFault(run.Fault)
	}
	f, err := scenario.Parse(run.Scenario)
	if err != nil {
		return nil, fmt.Errorf("its scenario: %w", err)
	}
	f.Text = run.Scenario
	return f, nil
}

// faults are those that were asked for, each once.
func (c *faultFlags) faults() ([]*scenario.Fault, error) {
	var faults []*scenario.Fault
	add := func(f *scenario.Fault) {
		if !slices.ContainsFunc(faults, func(g *scenario.Fault) bool { return g.Name == f.Name }) {
			faults = append(faults, f)
		}
	}
	names := c.Fault
	if len(names) == 0 && len(c.Scenario) == 0 {
		names = []string{"kill-peer"}
	}
	for _, name := range names {
		if group, ok := scenario.FindGroup(name); ok {
			for _, f := range group {
				add(f)
			}
			continue
		}
		f, err := c.fault(name)
		if err != nil {
			return nil, err
		}
		add(f)
	}
	for _, path := range c.Scenario {
		f, err := readScenario(path)
		if err != nil {
			return nil, err
		}
		add(f)
	}
	return faults, nil
}

// ofThree is what the name of a fault ends with in its form for three nodes.
const ofThree = "-of-three"

// fault is the fault of that name, for as many nodes as were asked for.
func (c *faultFlags) fault(name string) (*scenario.Fault, error) {
	switch {
	case c.Nodes == 3:
		f, ok := scenario.Find(strings.TrimSuffix(name, ofThree) + ofThree)
		if !ok {
			return nil, fmt.Errorf("there is no %s with three nodes", name)
		}
		return f, nil
	case c.Nodes != 2 && c.Nodes != 0:
		return nil, errors.New("--nodes is 2 or 3")
	}
	return findFault(name)
}

// Run runs the faults, one after the other or at the same time, and ends with the worst code.
func (c *runCommand) Run(ctx context.Context) error {
	faults, err := c.faults()
	if err != nil {
		return err
	}
	s := session{sessionFlags: c.sessionFlags, keep: c.Keep, hold: c.Hold,
		record: c.RecordSteps}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	out, err := newOutput(c.formatFlags)
	if err != nil {
		return err
	}
	s.show = func(j *judged, folder string) error {
		err := out.write(j.result, j.fault.Proof, folder)
		if c.RecordGaps != "" {
			err = errors.Join(err, writeGaps(c.RecordGaps, j.run.Records))
		}
		return err
	}
	slots := newSlots(c.Parallel)
	var runs sync.WaitGroup
	for _, f := range faults {
		release, err := slots.take(ctx, f)
		if err != nil {
			break
		}
		runs.Go(func() {
			defer release()
			s.run(ctx, f, s.seed)
		})
	}
	runs.Wait()
	if err := out.close(); err != nil {
		return err
	}
	if len(faults) > 1 && out.text() {
		fmt.Printf("%d of %d faults: every check held\n", s.held, len(faults))
	}
	return s.end(ctx)
}

// end is what a command with a session returns: the worst code of its runs.
func (s *session) end(ctx context.Context) error {
	if ctx.Err() != nil && !s.released {
		s.worsen(judge.CodeTrouble)
	}
	if s.worst != judge.CodeHeld {
		return verdict(s.worst)
	}
	return nil
}

// complain says something on standard error and makes it trouble. The lock is held.
func (s *session) complain(err error) {
	fmt.Fprintf(os.Stderr, "rig: %v\n", err)
	s.worsen(judge.CodeTrouble)
}
