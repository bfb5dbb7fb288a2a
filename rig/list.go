package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"holdfast/rig/scenario"
)

// listCommand lists the faults.
type listCommand struct {
	Plan bool `help:"Also print each fault's steps, with their limits, and its checks."`

	Scenario []string `short:"s" placeholder:"FILE" help:"Print those of files instead."`
}

// Help is the example of --help.
func (*listCommand) Help() string { return "Example: rig list --plan --scenario my.scenario" }

// Run prints the list.
func (c *listCommand) Run() error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	faults := scenario.All()
	if len(c.Scenario) > 0 {
		var err error
		faults, err = (&faultFlags{Scenario: c.Scenario}).faults()
		if err != nil {
			return err
		}
	}
	for _, f := range faults {
		about := f.About
		if f.Long {
			about += "; takes minutes, so that it runs only when it is named"
		}
		if f.Short {
			about += "; a part of another, and runs only when it is named"
		}
		fmt.Fprintf(table, "%s\t%s\n", f.Name, about)
		if c.Plan {
			if err := table.Flush(); err != nil {
				return err
			}
			plan(f)
		}
	}
	if err := table.Flush(); err != nil || c.Plan || len(c.Scenario) > 0 {
		return err
	}
	fmt.Println("\nGroups:")
	for _, g := range scenario.Groups() {
		fmt.Fprintf(table, "%s\t%s\n", g.Name, g.About)
	}
	return table.Flush()
}

// plan prints what a fault does and asks.
func plan(f *scenario.Fault) {
	fmt.Println("\n  steps, at most")
	for _, s := range f.Steps {
		fmt.Printf("    %5.4g s  %s\n", s.Limit().Seconds(), s)
	}
	fmt.Println("\n  checks")
	for _, check := range f.AllChecks() {
		fmt.Printf("    %-20s %-8s %s\n", check.Name, check.Source, check.Claim)
	}
	fmt.Println()
}
