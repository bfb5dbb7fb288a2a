package trace

import (
	"fmt"
	"time"

	"holdfast/mesh/when"
	"holdfast/qemu/relay"
	"holdfast/rig/journal"
)

// OfRun takes the gaps between the frames of the mesh that the relay forwarded from one node to
// another, from the first on until something is done to either of the two: a cut is no gap of a
// healthy peer. interval is what the nodes meant to leave between two.
func OfRun(records []journal.Record, from, to string, interval when.Span) (*Trace, error) {
	t := &Trace{
		Name:     from + "-" + to,
		About:    fmt.Sprintf("frames of the mesh from %s to %s, as the relay forwarded them", from, to),
		Interval: interval,
	}
	var last journal.Time
	seen := false
	for _, r := range records {
		if r.Kind == journal.KindAction && (r.Node == from || r.Node == to) {
			break
		}
		if r.Kind != journal.KindFrame || r.Node != from || r.Frame.To != to ||
			r.Frame.Verdict != relay.Forwarded.String() {
			continue
		}
		if seen {
			gap := max(0, r.At.Sub(last).Round(time.Millisecond).Milliseconds())
			t.Gaps = append(t.Gaps, Gap{Length: min(when.Span(gap), GapMax)})
		}
		last, seen = r.At, true
	}
	if len(t.Gaps) == 0 {
		return nil, fmt.Errorf("trace: the run has no two frames from %s to %s", from, to)
	}
	return t, nil
}
