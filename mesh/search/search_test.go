package search

import (
	"strings"
	"testing"
)

// TestNoSmallScheduleGivesTwoHomes runs every scope of the full search for fewer seconds.
func TestNoSmallScheduleGivesTwoHomes(t *testing.T) {
	for _, s := range Scopes {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			s.Seconds = quick[s.Name]
			if s.Seconds == 0 {
				t.Fatal("no depth is given for this scope")
			}
			r := s.Run(nil)
			if r.Violation != "" {
				t.Fatalf("in second %d: %s\n%s", r.At, r.Violation, r.Script)
			}
			t.Logf("%d states, %d transitions, %d s, closed: %v", r.States, r.Transitions, r.Seconds,
				r.Closed)
		})
	}
}

// quick is how many seconds of each scope the test goes through.
var quick = map[string]int{
	"changes": 6, "two-sessions": 9, "loss": 14, "late": 13, "late-loss": 7, "late-losses": 9,
	"events": 2, "event-change": 4, "event-changes": 3, "events-change": 2, "everything": 2,
	"commits": 2, "slow-marks": 3, "move": 4, "move-event": 3, "newcomer": 2, "newcomer-event": 1,
	"twin": 2, "twin-event": 1, "commit-event": 2, "commit-change": 4, "commit-wait": 5,
	"commit-local": 3, "commit-move": 4, "commit-newcomer": 2, "commit-three": 2, "acks-event": 2,
	"acks-change": 4, "acks-newcomer": 2, "acks-twin": 2,
}

// TestTheSearchSeesTheLeaseOfTheADR judges the same states by the lease of the ADR, which counts
// from the arrival of whatever comes from the authority. The search must find that it is not safe,
// and at the earliest time at which that can be: when the member is removed.
func TestTheSearchSeesTheLeaseOfTheADR(t *testing.T) {
	for _, s := range []Scope{
		{Name: "a cut of one direction", Seconds: 24, Changes: 1},
		{Name: "loss", Seconds: 24, Loss: true},
		{Name: "frames held", Seconds: 24, Changes: 2, Early: true},
	} {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			s.ADR = true
			r := s.Run(nil)
			if r.Violation == "" || r.At != 12 {
				t.Errorf("in second %d: %q, want two homes in second 12", r.At, r.Violation)
			}
			if !strings.Contains(r.Script, "VIOLATION") {
				t.Errorf("the conversation does not lead there:\n%s", r.Script)
			}
		})
	}
}

// TestTheSearchSeesAFrozenCounter: without the second clock a frozen machine does not know that its
// lease has run out (rule L6).
func TestTheSearchSeesAFrozenCounter(t *testing.T) {
	r := Scope{Seconds: 24, Events: 1, OneClock: true}.Run(nil)
	if r.Violation == "" || r.At != 12 {
		t.Errorf("in second %d: %q, want two homes in second 12", r.At, r.Violation)
	}
}
