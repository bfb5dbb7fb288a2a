package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/report"
	"holdfast/rig/report/timeline"
	"holdfast/rig/scenario"
)

// read writes the trace of a stored run and reads it as a viewer would.
func read(t *testing.T, path string) (*timeline.Timeline, []event) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := journal.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	run, err := judge.New(records)
	if err != nil {
		t.Fatal(err)
	}
	fault, ok := scenario.Find(run.Info.Fault)
	if !ok {
		t.Fatalf("no fault %s", run.Info.Fault)
	}
	var b bytes.Buffer
	line := timeline.Of(run)
	if err := Write(&b, line, report.Of(run, judge.Judge(run, fault.AllChecks()))); err != nil {
		t.Fatal(err)
	}
	var trace struct {
		Events []event `json:"traceEvents"`
	}
	if err := json.Unmarshal(b.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	return line, trace.Events
}

// TestATraceIsWhatAViewerAccepts holds every stored run to the rules of the format: every thread
// has a name, slices of one thread nest, every arrow begins and ends inside a slice, and what
// begins asynchronously ends.
func TestATraceIsWhatAViewerAccepts(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "scenario", "testdata", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d stored runs, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			line, events := read(t, path)
			type thread struct{ process, thread int }
			named, slices := make(map[thread]bool), make(map[thread][]event)
			starts, ends := make(map[string]int), make(map[string]int)
			for _, e := range events {
				at := thread{e.Process, e.Thread}
				switch e.Phase {
				case phaseName:
					named[at] = true
				case phaseSlice:
					slices[at] = append(slices[at], e)
				case phaseStart, "b":
					starts[fmt.Sprint(e.Category, e.ID)]++
				case phaseFinish, "e":
					ends[fmt.Sprint(e.Category, e.ID)]++
				}
			}
			for _, e := range events {
				at := thread{e.Process, e.Thread}
				if !named[at] || e.At < 0 || e.At+e.Duration > line.End+frameLong {
					t.Errorf("%+v: its thread has a name: %t; the run ends at %d", e, named[at], line.End)
				}
				if e.Phase != phaseStart && e.Phase != phaseFinish {
					continue
				}
				inside := false
				for _, s := range slices[at] {
					inside = inside || s.At <= e.At && e.At <= s.At+s.Duration
				}
				if !inside {
					t.Errorf("an arrow ends at nothing: %+v", e)
				}
			}
			for key, n := range starts {
				if n != 1 || ends[key] != 1 {
					t.Errorf("%s begins %d times and ends %d times", key, n, ends[key])
				}
			}
			for at, all := range slices {
				if at.process > rigProcess && at.thread == threadFrames {
					continue // an instant's length, drawn as if it took longer
				}
				for i, a := range all {
					for _, b := range all[i+1:] {
						if a.At < b.At && b.At < a.At+a.Duration && b.At+b.Duration > a.At+a.Duration {
							t.Errorf("slices of thread %v overlap: %+v and %+v", at, a, b)
						}
					}
				}
			}
		})
	}
}

func TestATraceHasWhatTheTimelineHas(t *testing.T) {
	line, events := read(t, filepath.Join("..", "..", "scenario", "testdata", "partition.jsonl"))
	counts := make(map[string]int)
	for _, e := range events {
		counts[e.Category+" "+e.Phase]++
	}
	passed, console := 0, 0
	for _, f := range line.Frames {
		if f.Fate == timeline.Passed {
			passed++
		}
	}
	for _, r := range line.Run.Records {
		if r.Kind == journal.KindConsole {
			console++
		}
	}
	for what, want := range map[string]int{
		"frame s": passed, "frame f": passed, "frame X": len(line.Frames) + passed,
		"console i": console, "fault X": 1, "fault i": 1, "step X": len(line.Steps),
	} {
		if counts[what] != want {
			t.Errorf("%d events %q, want %d", counts[what], what, want)
		}
	}
}
