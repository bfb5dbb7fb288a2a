package timeline

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/golden"
	"holdfast/mesh/timing"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/scenario"
)

// stored reads a run that is kept for tests.
func stored(t *testing.T, name string) *judge.Run {
	t.Helper()
	records, err := scenario.StoredRun(name)
	if err != nil {
		t.Fatal(err)
	}
	run, err := judge.New(records)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// given is a run that is kept for tests, as if its mesh had been given other times.
func given(t *testing.T, name string, times journal.Times) *judge.Run {
	t.Helper()
	records, err := scenario.StoredRun(name)
	if err != nil {
		t.Fatal(err)
	}
	records[0].Run.Times = &times
	run, err := judge.New(records)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// dump writes a timeline for people.
func dump(t *Timeline) string {
	var b strings.Builder
	list := func(name string, bands []Band) {
		for _, x := range bands {
			fmt.Fprintf(&b, "%-10s %9s to %9s  %-8s %s (%d)\n",
				name, x.From, x.To, x.Kind, x.Text, x.N)
		}
	}
	list("fault", t.Faults)
	list("step", t.Steps)
	for _, n := range t.Nodes {
		list(n.Name+" is", n.Machine)
		list(n.Name+" view", n.Views)
		list(n.Name+" write", n.Write)
		list(n.Name+" sees", n.Peers)
		counts := make(map[string]int)
		for _, a := range n.Answers {
			counts[string(a.Class)]++
		}
		fmt.Fprintf(&b, "%s answers  %v\n", n.Name, counts)
	}
	counts := make(map[string]int)
	for _, f := range t.Frames {
		counts[fmt.Sprintf("%s to %s %s", f.From, f.To, f.Fate)]++
		if f.Sent != f.At {
			fmt.Fprintf(&b, "%s to %s: kept from %s to %s\n", f.From, f.To, f.Sent, f.At)
		}
	}
	fmt.Fprintf(&b, "frames  %v\n", counts)
	return b.String()
}

func TestStoredRunsHaveTheirTimeline(t *testing.T) {
	for _, name := range []string{"kill-peer", "partition", "no-peer", "restart"} {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, filepath.Join("testdata", name+".txt"), dump(Of(stored(t, name))))
		})
	}
}

// TestALeaseLastsAsLongAsInItsRun looks at the lease that the member had when it was cut off, in a
// run of the usual times and in one that was given others.
func TestALeaseLastsAsLongAsInItsRun(t *testing.T) {
	last := func(run *judge.Run) (to journal.Time) {
		line := Of(run)
		for _, b := range line.Node("n1").Write {
			if b.Kind == Possible && b.From < line.Faults[0].From {
				to = max(to, b.To)
			}
		}
		return to
	}
	usual := last(stored(t, "partition"))
	fast := last(given(t, "partition", journal.Times{Heartbeat: 300, Suspect: 1_200, Fail: 2_400,
		Lease: 400, Fence: timing.FenceLease}))
	if usual.Sub(fast) != 5_600*time.Millisecond {
		t.Errorf("the lease ends at %v, with the usual times at %v; want 5.6 s between", fast, usual)
	}
}

// TestWithoutLeasesNoneIsDrawn looks at what a member of such a mesh says, in a run whose journal
// is older than the word for it, and in one whose journal has it.
func TestWithoutLeasesNoneIsDrawn(t *testing.T) {
	for name, run := range map[string]*judge.Run{
		"an old journal": stored(t, "kill-peer-second"),
		"a new one": given(t, "kill-peer", journal.Times{Heartbeat: 300, Suspect: 600, Fail: 1_000,
			Lease: 600, Fence: timing.FenceAcks}),
	} {
		line := Of(run)
		if line.Leased {
			t.Errorf("%s: leases are said to give a right", name)
		}
		said := false
		for _, b := range line.Node("n1").Write {
			if b.Kind == Possible || strings.Contains(b.Text, "may commit") {
				t.Errorf("%s: %s at %v: %s", name, b.Kind, b.From, b.Text)
			}
			said = said || b.Kind == Told && strings.HasPrefix(b.Text, "takes commits")
		}
		if !said {
			t.Errorf("%s: nothing is shown of what the member says", name)
		}
	}
	if !Of(stored(t, "kill-peer")).Leased {
		t.Error("leases are said to give no right in a run of the usual times")
	}
}
