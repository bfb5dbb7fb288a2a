package search

import (
	"testing"

	"holdfast/mesh/when"
)

// narrow are scopes with little trouble at a time, each of which goes past the second in which a
// silent member is removed: what a rule is for often shows only then.
var narrow = []Scope{
	{Name: "changes", Seconds: 16, Changes: 2},
	{Name: "late", Seconds: 15, Late: 1},
	{Name: "loss", Seconds: 15, Loss: true},
	{Name: "two-sessions", Seconds: 15, Sessions: 2, Changes: 1, Resets: 1, Early: true},
	{Name: "event", Seconds: 18, Events: 1},
	{Name: "event-and-change", Seconds: 14, Events: 1, Changes: 1, Early: true},
	{Name: "commit", Seconds: 16, Events: 1, Commits: true, Early: true},
	{Name: "marks", Seconds: 16, Events: 1, Slow: true, Early: true},
	{Name: "move", Seconds: 14, Moves: 1, Changes: 1, Early: true},
	{Name: "move-and-event", Seconds: 10, Moves: 1, Events: 1, Early: true},
	{Name: "newcomer", Seconds: 12, Third: Newcomer, Changes: 1, Early: true},
	{Name: "newcomer-and-move", Seconds: 6, Third: Newcomer, Moves: 1, Early: true},
	{Name: "twin", Seconds: 12, Third: Twin, Changes: 1, Early: true},
	{Name: "twin-and-move", Seconds: 10, Third: Twin, Moves: 1, Early: true},
	{Name: "replicate", Seconds: 14, Writes: 1, Events: 1},
	{Name: "replicate-and-change", Seconds: 16, Writes: 1, Changes: 1},
	{Name: "replicate-twice", Seconds: 8, Writes: 2, Changes: 1, Within: 2 * when.Second},
	{Name: "replicate-and-local", Seconds: 8, Writes: 3, Local: true, Early: true},
	{Name: "replicate-and-move", Seconds: 10, Writes: 2, Moves: 1, Early: true},
	{Name: "replicate-three", Seconds: 5, Third: Settled, Writes: 1, Changes: 1, Early: true},
	{Name: "replicate-newcomer", Seconds: 5, Third: Newcomer, Writes: 1, Early: true},
}

// TestNoNarrowScheduleGivesTwoHomes searches narrow scopes. Each is a line in the table of mutants
// (internal/mutants): a rule that is switched off shows here.
func TestNoNarrowScheduleGivesTwoHomes(t *testing.T) {
	for _, s := range narrow {
		t.Run(s.Name, func(t *testing.T) {
			r := s.Run(nil)
			if r.Violation != "" {
				t.Fatalf("in second %d: %s\n%s", r.At, r.Violation, r.Script)
			}
			t.Logf("%d states, %d transitions, %d s, closed: %v", r.States, r.Transitions, r.Seconds,
				r.Closed)
		})
	}
}
