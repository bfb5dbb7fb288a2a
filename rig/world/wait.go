package world

import (
	"context"

	"holdfast/mesh/evidence"
	"holdfast/rig/journal"
)

// Await waits for a line of evidence on a node's console, printed since the rig last started or
// ended a machine, or cut or healed the way between two.
func (w *World) Await(ctx context.Context, node string, want func(evidence.Line) bool) error {
	_, err := w.Journal.Await(ctx, w.since, func(r journal.Record) bool {
		if r.Kind != journal.KindConsole || r.Node != node {
			return false
		}
		line, err := evidence.Parse(r.Line)
		return err == nil && want(line)
	})
	return err
}

// Rows returns the evidence that a node has printed so far.
func (w *World) Rows(node string) []evidence.Line {
	var lines []evidence.Line
	for _, r := range w.Journal.Records() {
		if r.Kind != journal.KindConsole || r.Node != node {
			continue
		}
		if line, err := evidence.Parse(r.Line); err == nil {
			lines = append(lines, line)
		}
	}
	return lines
}
