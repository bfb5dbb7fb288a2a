package report

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/golden"
	"holdfast/mesh/id"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

// results are one of each kind of run.
func results() map[string]Result {
	held := judge.Result{Name: "fences", Source: "ADR 3", Claim: "each route is fenced once",
		Status: judge.Held, Detail: "lab-0, lab-3", Evidence: []int{7, 8}}
	timed := judge.Result{Name: "suspect-own-clock", Source: "ADR 1", Claim: "n0 says suspect in time",
		Status: judge.Held, Detail: "suspect after 6.004 s", Evidence: []int{5},
		Margin: &judge.Margin{What: "suspect after", Value: 6004 * time.Millisecond,
			Least: 6 * time.Second, Most: 6500 * time.Millisecond, Slack: 496 * time.Millisecond,
			Unsharp: 9 * time.Millisecond}}
	wrong := judge.Result{Name: "join", Source: "ADR 2", Claim: "both kernels confirm n1 at epoch 2",
		Status: judge.Violated, Detail: "n1's confirmation has members=1, not 2",
		Evidence: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}}
	open := judge.Result{Name: "step-5", Source: "ADR 7", Claim: "the root commits at the member",
		Detail: "step 5 was not asked for", Evidence: []int{}}
	wall := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	base := Result{Schema: Schema, Fault: "kill-peer", Seed: 42, Wall: wall, Seconds: 15.25,
		Outcome: journal.Complete, Image: "0ff3", QEMU: "7.2.22", RAM: "128M"}
	with := func(code judge.Code, checks ...judge.Result) Result {
		r := base
		r.Exit, r.Meaning, r.Checks = code, code.String(), checks
		return r
	}
	early := with(judge.CodeInconclusive, held, open)
	early.Outcome, early.Reason = journal.Deadline, "n0 to serve at epoch 2: not within 20s"
	early.Tails = []Tail{{Node: "n0", Lines: []Line{{1250000, "holdfast"}, {12345678, "hm"}}}}
	return map[string]Result{
		"held":     with(judge.CodeHeld, held, timed),
		"violated": with(judge.CodeViolated, held, wrong, open),
		"early":    early,
	}
}

func TestWhatPeopleRead(t *testing.T) {
	for name, r := range results() {
		for suffix, style := range map[string]Style{
			"": {}, "-color": {Color: true}, "-quiet": {Quiet: true},
		} {
			t.Run(name+suffix, func(t *testing.T) {
				var text bytes.Buffer
				if err := r.WriteText(&text, "it works", "runs/x", style); err != nil {
					t.Fatal(err)
				}
				compare(t, name+suffix+".txt", text.Bytes())
			})
		}
	}
}

func TestWhatProgramsRead(t *testing.T) {
	for name, r := range results() {
		var text bytes.Buffer
		if err := r.WriteJSON(&text); err != nil {
			t.Fatal(err)
		}
		compare(t, name+".json", text.Bytes())
		var back Result
		if err := json.Unmarshal(text.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, back); diff != "" {
			t.Errorf("%s.json is read back with a difference:\n%s", name, diff)
		}
	}
}

func TestArtefactsThatWereNotKeptAreNotNamed(t *testing.T) {
	var text strings.Builder
	if err := results()["held"].WriteText(&text, "it works", "", Style{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "Artefacts") {
		t.Error(text.String())
	}
}

func TestARunThatEndedEarlyIsExplained(t *testing.T) {
	node := id.Node(id.Sum([]byte("n0"))).String()
	object := id.ObjectOf("lab-0").String()
	records := []journal.Record{
		{N: 1, Kind: journal.KindRun, Run: &journal.Run{
			Nodes:   []journal.Node{{Name: "n0", ID: node}},
			Objects: []journal.Object{{Name: "lab-0", ID: object}},
		}},
	}
	for n := 2; n < 20; n++ {
		records = append(records, journal.Record{N: n, At: 5, Kind: journal.KindConsole, Node: "n0",
			Boot: 1, Line: node + " has " + object})
	}
	for _, c := range []struct {
		end             []journal.Record
		reason, meaning string
	}{
		{nil, "its journal has no end: the rig was killed, or could not write",
			judge.CodeInconclusive.String()},
		{[]journal.Record{{Kind: journal.KindEnd, End: &journal.End{
			Outcome: journal.Interrupted, Reason: "interrupted by the user",
		}}}, "interrupted by the user", "interrupted by the user"},
	} {
		run, err := judge.New(append(records, c.end...))
		if err != nil {
			t.Fatal(err)
		}
		r := Of(run, judge.Judge(run, nil))
		if r.Reason != c.reason || r.Meaning != c.meaning {
			t.Errorf("reason %q, meaning %q; want %q, %q", r.Reason, r.Meaning, c.reason, c.meaning)
		}
		if len(r.Tails) != 1 || len(r.Tails[0].Lines) != tailMost ||
			r.Tails[0].Lines[0] != (Line{5, "n0 has lab-0"}) {
			t.Errorf("last lines are %+v", r.Tails)
		}
	}
}

func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	golden.Check(t, filepath.Join("testdata", name), string(got))
}
