package web

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/golden"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/report"
	"holdfast/rig/report/page/pagetest"
	"holdfast/rig/report/timeline"
	"holdfast/rig/scenario"
)

// stored reads the journal of a run that is kept for tests.
func stored(t *testing.T, fault string) []journal.Record {
	t.Helper()
	records, err := scenario.StoredRun(fault)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// input judges a run.
func input(t *testing.T, records []journal.Record) Input {
	t.Helper()
	run, err := judge.New(records)
	if err != nil {
		t.Fatal(err)
	}
	fault, ok := scenario.Find(run.Info.Fault)
	if !ok {
		t.Fatalf("no fault %s", run.Info.Fault)
	}
	result := report.Of(run, judge.Judge(run, fault.AllChecks()))
	return Input{Run: run, Result: result, About: fault.About, Proof: fault.Proof}
}

func written(t *testing.T, in Input) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sizeMost is what a report of a run of less than a minute may have, in bytes.
const sizeMost = 2 << 20

func TestEveryStoredRunHasAWholePageWithNothingFromOutside(t *testing.T) {
	for _, f := range scenario.Recorded() {
		t.Run(f.Name, func(t *testing.T) {
			page := written(t, input(t, stored(t, f.Name)))
			for _, wrong := range pagetest.Check(page) {
				t.Error(wrong)
			}
			if len(page) > sizeMost {
				t.Errorf("%d bytes, at most %d", len(page), sizeMost)
			}
		})
	}
}

// TestTheContentOfAPage has the file without its style and scripts, which say nothing of a run.
func TestTheContentOfAPage(t *testing.T) {
	page := written(t, input(t, stored(t, "no-peer")))
	_, page, _ = strings.Cut(page, "<body>")
	got, _, _ := strings.Cut(page, "<script>")
	path := filepath.Join("testdata", "no-peer.html")
	golden.Check(t, path, got)
}

func TestWhatAGuestPrintsStaysText(t *testing.T) {
	records := stored(t, "no-peer")
	end := records[len(records)-1]
	records = records[:len(records)-1]
	for _, line := range []string{
		`</script><script>document.title="taken"</script>`,
		`"><img src=x onerror=alert(1)>`,
		`mesh-fail: {{.Run}} <!-- --> ]]>`,
		"\x1b[2J\x07 \u202eevil\u2028next\u200b",
		strings.Repeat("x", 3*textMost),
	} {
		records = append(records, journal.Record{N: len(records) + 1, At: end.At,
			Kind: journal.KindConsole, Node: "n0", Boot: 1, Line: line})
	}
	end.N = len(records) + 1
	page := written(t, input(t, append(records, end)))
	for _, wrong := range pagetest.Check(page) {
		t.Error(wrong)
	}
	for _, forbidden := range []string{"<img", "\x1b", "\x07", "\u202e", "\u2028", "\u200b",
		"<script>document", "<!-- -->"} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the page has %q", forbidden)
		}
	}
	for _, wanted := range []string{"&lt;/script&gt;", `\x1b[2J\x07 \u202eevil\u2028next\u200b`,
		"1200 characters more", "{{.Run}}"} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page has no %q", wanted)
		}
	}
}

func TestManyLinesAndFramesAreShortenedAndProofIsKept(t *testing.T) {
	records := stored(t, "none")
	end := records[len(records)-1]
	records = records[:len(records)-1]
	add := func(r journal.Record) {
		r.N, r.At, r.Node = len(records)+1, journal.Time(len(records)*1000), "n0"
		records = append(records, r)
	}
	for range 2 * lineMost {
		add(journal.Record{Kind: journal.KindConsole, Boot: 1, Line: "noise"})
	}
	for range 3 * frameMost {
		add(journal.Record{Kind: journal.KindFrame,
			Frame: &journal.Frame{To: "n1", Verdict: "forwarded", Payload: 40}})
	}
	end.N, end.At = len(records)+1, journal.Time(len(records)*1000)
	in := input(t, append(records, end))
	middle := len(records) - 3*frameMost - lineMost
	in.Result.Checks[0].Evidence = []int{middle}
	page := written(t, in)
	if len(page) > sizeMost {
		t.Errorf("%d bytes, at most %d", len(page), sizeMost)
	}
	row := newConsoles(timeline.Of(in.Run), newProof(timeline.Of(in.Run), in.Result.Checks))
	kept, out := 0, 0
	for _, r := range row.Rows {
		out += r.LeftOut
		if r.N == middle {
			kept++
		}
	}
	if kept != 1 || out == 0 || !strings.Contains(page, "lines are left out here") {
		t.Errorf("the line that proves is there %d times, %d lines are left out", kept, out)
	}
	if !strings.Contains(page, " frames n0 to n1, passed") {
		t.Error("no arrow stands for several frames")
	}
}

func TestRunsOfOneFaultArePlottedBesideEachOther(t *testing.T) {
	in := input(t, stored(t, "kill-peer"))
	if page := written(t, in); strings.Contains(page, `<figure class="chart">`) {
		t.Error("one run is plotted")
	}
	other, foreign := in.Result, in.Result
	other.Wall, other.Seed = other.Wall.Add(-time.Hour), 7
	foreign.Fault, foreign.Wall = "none", foreign.Wall.Add(-2*time.Hour)
	in.Others = []report.Result{in.Result, foreign, other}
	page := written(t, in)
	for _, wrong := range pagetest.Check(page) {
		t.Error(wrong)
	}
	if !strings.Contains(page, "2 runs of this fault") || !strings.Contains(page, "seed 7: 12.0") ||
		!strings.Contains(page, "at most 12.500 s") {
		t.Error("the other run, or the bound, is not plotted")
	}
}
