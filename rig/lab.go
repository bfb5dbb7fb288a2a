package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/mesh/when"
	"holdfast/rig/journal"
	"holdfast/rig/lab"
	"holdfast/rig/lab/trace"
)

// labCommand compares failure detectors.
type labCommand struct {
	Trace []string `placeholder:"FILE|RUN" help:"Replay these: files of gaps, or folders of runs."`

	Kind []string `placeholder:"NAME" help:"Replay these synthetic traces: ${kinds}; or all."`

	Policy []string `placeholder:"NAME" help:"Compare only these: ${policies}."`

	Length time.Duration `default:"6h" help:"Of a synthetic trace."`

	Seed uint64 `default:"1" help:"What the traces and the crashes are drawn from."`

	Crashes int `default:"200" help:"Played for each policy and trace."`

	Members int `default:"5" help:"Of the cluster in which swim and lifeguard probe."`

	PriceSecond float64 `default:"1" help:"Of a second in which a crash is not noticed."`

	PriceConviction float64 `default:"100" help:"Of the conviction of a living peer."`

	CrashesADay float64 `default:"0.033" help:"Of one peer: 0.033 is once a month."`

	HTML string `name:"html" placeholder:"FILE" help:"Draw the comparison here, too."`

	Suggest bool `help:"Propose timing constants for the traces instead."`

	Rate float64 `default:"0.001" help:"With --suggest: false convictions a day, at most."`

	Within time.Duration `placeholder:"TIME" help:"With --suggest: the longest failure window."`
}

// Help is the example of --help.
func (*labCommand) Help() string {
	return "Example: rig lab --suggest --trace gaps.csv --rate 0.01"
}

// The bounds of the flags: a comparison of them all takes minutes.
const (
	labLongest     = 30 * 24 * time.Hour
	labCrashesMost = 100_000
	labMembersMost = 100
)

// Validate refuses what the flags' types let through.
func (c *labCommand) Validate() error {
	positive := func(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }
	switch {
	case c.Length < time.Minute || c.Length > labLongest:
		return fmt.Errorf("--length must be from a minute to %d days", labLongest/(24*time.Hour))
	case c.Crashes < 1 || c.Crashes > labCrashesMost:
		return fmt.Errorf("--crashes must be from 1 to %d", labCrashesMost)
	case c.Members < 2 || c.Members > labMembersMost:
		return fmt.Errorf("--members must be from 2 to %d", labMembersMost)
	case !positive(c.PriceSecond) || !positive(c.PriceConviction) || !positive(c.CrashesADay):
		return errors.New("prices and crashes must not be negative")
	case !positive(c.Rate) || c.Rate == 0:
		return errors.New("--rate must be positive")
	case c.Within < 0 || c.Within%time.Millisecond != 0:
		return errors.New("--within must be a number of milliseconds")
	case c.Suggest && c.HTML != "":
		return errors.New("--suggest draws nothing")
	}
	if _, err := c.contenders(); err != nil {
		return err
	}
	_, err := c.kinds()
	return err
}

// contenders are the policies that were asked for.
func (c *labCommand) contenders() ([]lab.Contender, error) {
	all := lab.Contenders()
	if len(c.Policy) == 0 {
		return all, nil
	}
	var chosen []lab.Contender
	for _, name := range c.Policy {
		i := slices.IndexFunc(all, func(o lab.Contender) bool { return o.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no policy %q; there are %s", name, policyNames())
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// kinds are the synthetic traces that were asked for: all of them when no trace was.
func (c *labCommand) kinds() ([]trace.Kind, error) {
	all := trace.Kinds()
	if slices.Contains(c.Kind, "all") || len(c.Kind) == 0 && len(c.Trace) == 0 {
		return all, nil
	}
	var chosen []trace.Kind
	for _, name := range c.Kind {
		i := slices.IndexFunc(all, func(k trace.Kind) bool { return k.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no kind %q; there are %s", name, kindNames())
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// traces are the recorded ones, then the synthetic ones.
func (c *labCommand) traces() ([]*trace.Trace, error) {
	var all []*trace.Trace
	for _, path := range c.Trace {
		t, err := readTrace(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, t)
	}
	kinds, err := c.kinds()
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		all = append(all, k.Make(when.Span(c.Length.Milliseconds()), c.Seed))
	}
	return all, nil
}

// readTrace reads a file of gaps, or takes them from the folder of a run or its journal.
func readTrace(path string) (*trace.Trace, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() || filepath.Ext(path) == ".jsonl" {
		records, err := readJournal(path)
		if err != nil {
			return nil, err
		}
		records, _ = journal.Split(records)
		return gapsOf(records)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	t, err := trace.Read(file)
	if err != nil {
		return nil, err
	}
	t.Name, t.About = filepath.Base(path), "gaps of a file"
	return t, nil
}

// Run compares, or proposes.
func (c *labCommand) Run() error {
	traces, err := c.traces()
	if err != nil {
		return err
	}
	settings := lab.Settings{Seed: c.Seed, Crashes: c.Crashes, Members: c.Members}
	if c.Suggest {
		return c.suggest(traces, settings)
	}
	contenders, err := c.contenders()
	if err != nil {
		return err
	}
	table := lab.Run(contenders, traces, settings, lab.Prices{
		Second: c.PriceSecond, Conviction: c.PriceConviction, Crashes: c.CrashesADay,
	})
	if err := table.WriteText(os.Stdout); err != nil || c.HTML == "" {
		return err
	}
	file, err := os.Create(c.HTML)
	if err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return errors.Join(table.WriteHTML(file), file.Close())
}

func (c *labCommand) suggest(traces []*trace.Trace, settings lab.Settings) error {
	for i, t := range traces {
		if i > 0 {
			fmt.Println()
		}
		proposal, err := lab.Suggest(t, c.Rate, when.Span(c.Within.Milliseconds()), settings)
		if err != nil {
			fmt.Printf("%s: no proposal: %v\n", t.Name, err)
			continue
		}
		if err := proposal.WriteText(os.Stdout, t); err != nil {
			return err
		}
	}
	return nil
}

func policyNames() string {
	var names []string
	for _, c := range lab.Contenders() {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

func kindNames() string {
	var names []string
	for _, k := range trace.Kinds() {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}
