package main

import (
	"errors"
	"fmt"
	"os"

	"holdfast/mesh/timing"
	"holdfast/rig/journal"
	"holdfast/rig/lab/trace"
	"holdfast/rig/scenario"
)

// gapsOf is the trace of a run: what the authority heard of the first member, until something was
// done to either of them.
func gapsOf(records []journal.Record) (*trace.Trace, error) {
	var authority, member string
	for _, n := range records[0].Run.Nodes {
		switch {
		case n.Authority && authority == "":
			authority = n.Name
		case !n.Authority && member == "":
			member = n.Name
		}
	}
	if authority == "" || member == "" {
		return nil, errors.New("gaps: the run has no member to hear")
	}
	times := timing.Default
	if f, ok := scenario.Find(records[0].Run.Fault); ok && f.Times != (timing.Timing{}) {
		times = f.Times
	}
	return trace.OfRun(records, member, authority, times.Ask())
}

// writeGaps writes the trace of a run into a file.
func writeGaps(path string, records []journal.Record) error {
	t, err := gapsOf(records)
	if err != nil {
		return err
	}
	t.About += fmt.Sprintf("\nfault %s, seed %d, %d gaps, the longest %d ms", records[0].Run.Fault,
		records[0].Run.Seed, len(t.Gaps), t.Worst())
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("gaps: %w", err)
	}
	return errors.Join(t.Write(file), file.Close())
}
