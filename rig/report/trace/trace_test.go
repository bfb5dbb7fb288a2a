package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/report"
	"holdfast/rig/report/timeline"
	"holdfast/rig/scenario"
)

// write writes the trace of a stored run.
func write(t *testing.T, fault *scenario.Fault) (*timeline.Timeline, []byte) {
	t.Helper()
	records, err := scenario.StoredRun(fault.Name)
	if err != nil {
		t.Fatal(err)
	}
	run, err := judge.New(records)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	line := timeline.Of(run)
	if err := Write(&b, line, report.Of(run, judge.Judge(run, fault.AllChecks()))); err != nil {
		t.Fatal(err)
	}
	return line, b.Bytes()
}

// read writes the trace of a stored run and reads it as a viewer would.
func read(t *testing.T, fault *scenario.Fault) (*timeline.Timeline, []event) {
	t.Helper()
	line, text := write(t, fault)
	return line, parse(t, text)
}

// parse is the events of a trace.
func parse(t *testing.T, text []byte) []event {
	t.Helper()
	var trace struct {
		Events []event `json:"traceEvents"`
	}
	if err := json.Unmarshal(text, &trace); err != nil {
		t.Fatal(err)
	}
	return trace.Events
}

// find is a fault by its name.
func find(t *testing.T, name string) *scenario.Fault {
	t.Helper()
	fault, ok := scenario.Find(name)
	if !ok {
		t.Fatalf("no fault %s", name)
	}
	return fault
}

// viewer takes events in as Perfetto's importer does, and notes what it would leave out.
type viewer struct {
	open   map[int][]event // slices of a thread that are open, the innermost one last
	owner  map[int]int     // the process of a thread
	named  map[int]bool    // threads, and processes by their negative number
	arrows map[int]int     // how many ends an arrow has had
	wrong  []string
}

func newViewer() *viewer {
	return &viewer{open: map[int][]event{}, owner: map[int]int{}, named: map[int]bool{},
		arrows: map[int]int{}}
}

func (v *viewer) fail(e event, what string) {
	v.wrong = append(v.wrong, fmt.Sprintf("%s: %+v", what, e))
}

// see takes events in the order of their times; those of one time stay in the file's order.
func (v *viewer) see(events []event) {
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b event) int { return cmp.Compare(a.At, b.At) })
	for _, e := range events {
		if e.Phase == phaseName {
			v.name(e)
		}
	}
	for _, e := range sorted {
		v.one(e)
	}
	for id, ends := range v.arrows {
		if ends != 2 {
			v.fail(event{ID: id}, "an arrow with one end")
		}
	}
}

func (v *viewer) name(e event) {
	key := e.Thread
	switch e.Name {
	case processOrder:
		return
	case processName:
		key = -e.Process
	}
	if name, ok := e.Args["name"].(string); !ok || name == "" || v.named[key] {
		v.fail(e, "no name, or a second one")
	}
	v.named[key] = true
}

func (v *viewer) one(e event) {
	if e.Phase == phaseName {
		return
	}
	if owner, ok := v.owner[e.Thread]; ok && owner != e.Process {
		v.fail(e, "its thread is another process's")
	}
	v.owner[e.Thread] = e.Process
	if e.At < 0 || e.Name == "" || !v.named[e.Thread] || !v.named[-e.Process] {
		v.fail(e, "no time, or no name for it, its thread or its process")
	}
	switch e.Phase {
	case phaseSlice:
		if e.Duration <= 0 {
			v.fail(e, "a slice without a length")
		}
		v.push(e)
	case phaseInstant:
		if e.Scope != "t" || e.Duration != 0 {
			v.fail(e, "an instant that is none of its thread")
		}
		v.push(e)
	case phaseStart, phaseFinish:
		if (e.Phase == phaseFinish) != (v.arrows[e.ID] == 1) || e.ID == 0 {
			v.fail(e, "an arrow that has ended, or not begun")
		}
		v.arrows[e.ID]++
		stack := v.open[e.Thread]
		if len(stack) == 0 || stack[len(stack)-1].At != e.At {
			v.fail(e, "an arrow at another slice, or at none")
		}
	default:
		v.fail(e, "an unknown phase")
	}
}

// push closes what is over on a slice's thread, and leaves out a slice that goes on when the one
// around it is over.
func (v *viewer) push(e event) {
	stack := v.open[e.Thread]
	if n := len(stack); n > 0 && e.Category == "frame" && stack[n-1].At == e.At {
		v.fail(e, "a frame that begins with another one, to which its arrow may be given")
	}
	for i := len(stack) - 1; i >= 0; i-- {
		end := stack[i].At + stack[i].Duration
		both := stack[i].Duration == 0 && e.Duration == 0
		if end < e.At || end == e.At && !both {
			stack = stack[:i]
			continue
		}
		if e.At < end && e.At+e.Duration > end {
			v.fail(e, fmt.Sprintf("left out, it overlaps %+v", stack[i]))
			return
		}
	}
	v.open[e.Thread] = append(stack, e)
}

// TestFramesOfOneTimeBeginOneByOne: a relay lets held frames go all at once.
func TestFramesOfOneTimeBeginOneByOne(t *testing.T) {
	line, _ := write(t, find(t, "none"))
	line.Frames = nil
	for i, ends := range [][2]string{{"n0", "n1"}, {"n0", "n1"}, {"n1", "n0"}, {"n0", "n1"}} {
		line.Frames = append(line.Frames, timeline.Frame{N: 1 + i, Sent: 50, At: 50, From: ends[0],
			To: ends[1], Fate: timeline.Passed})
	}
	var b bytes.Buffer
	if err := Write(&b, line, report.Result{}); err != nil {
		t.Fatal(err)
	}
	v := newViewer()
	v.see(parse(t, b.Bytes()))
	for _, wrong := range v.wrong {
		t.Error(wrong)
	}
	if len(v.arrows) != len(line.Frames) {
		t.Errorf("%d arrows of %d frames", len(v.arrows), len(line.Frames))
	}
}

// TestATraceIsWhatAViewerAccepts holds every stored run to the rules of the format.
func TestATraceIsWhatAViewerAccepts(t *testing.T) {
	for _, fault := range scenario.Recorded() {
		t.Run(fault.Name, func(t *testing.T) {
			line, events := read(t, fault)
			v := newViewer()
			v.see(events)
			for _, wrong := range v.wrong {
				t.Error(wrong)
			}
			for _, e := range events {
				if e.At+e.Duration > line.End+frameLong {
					t.Errorf("%+v is behind the run's end at %d", e, line.End)
				}
			}
		})
	}
}

// TestTheViewerNotices breaks a good trace in the ways that the rules forbid.
func TestTheViewerNotices(t *testing.T) {
	_, good := read(t, find(t, "kill-peer"))
	first := func(phase string) int {
		return slices.IndexFunc(good, func(e event) bool { return e.Phase == phase })
	}
	for name, c := range map[string]struct {
		phase string
		spoil func(e *event)
		says  string
	}{
		"a slice without a length": {phaseSlice, func(e *event) { e.Duration = 0 }, "without a length"},
		"a negative time":          {phaseSlice, func(e *event) { e.At = -1 }, "no time"},
		"no name":                  {phaseInstant, func(e *event) { e.Name = "" }, "no time, or no name"},
		"a process without a name": {phaseName, func(e *event) { e.Process = 77 }, "no name for it"},
		"an arrow to nowhere":      {phaseFinish, func(e *event) { e.At += 7 }, "at another slice"},
		"an arrow of another":      {phaseStart, func(e *event) { e.ID = 1 << 20 }, "not begun"},
		"a thread of two":          {phaseSlice, func(e *event) { e.Process++ }, "another process's"},
		"a phase of nobody's":      {phaseInstant, func(e *event) { e.Phase = "Q" }, "unknown phase"},
		"asynchronous, of no node": {phaseSlice, func(e *event) { e.Phase = "b" }, "unknown phase"},
	} {
		events := slices.Clone(good)
		c.spoil(&events[first(c.phase)])
		v := newViewer()
		v.see(events)
		if text := strings.Join(v.wrong, "\n"); !strings.Contains(text, c.says) {
			t.Errorf("%s: noticed %q, want %q", name, text, c.says)
		}
	}
	overlap := []event{{At: 10, Duration: 10}, {At: 15, Duration: 10}, {At: 30, Duration: 5}}
	v := newViewer()
	for _, e := range overlap {
		v.push(e)
	}
	if len(v.wrong) != 1 || len(v.open[0]) != 1 {
		t.Errorf("of two slices that overlap: %q, open %+v", v.wrong, v.open[0])
	}
}

func TestATraceHasWhatTheTimelineHas(t *testing.T) {
	line, events := read(t, find(t, "partition"))
	counts := make(map[string]int)
	for _, e := range events {
		counts[e.Category+" "+e.Phase]++
	}
	passed, console, answers := 0, 0, 0
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
	for _, n := range line.Nodes {
		answers += len(n.Answers)
	}
	answered := 0
	for _, class := range []timeline.Class{timeline.OK, timeline.Refused, timeline.Silent} {
		answered += counts["answer "+string(class)+" X"]
	}
	if answered != answers {
		t.Errorf("%d answers, want %d", answered, answers)
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
