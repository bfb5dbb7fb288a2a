// Package trace writes a judged run as trace.json, in the trace event format of Chrome's tracing
// that Perfetto opens (ui.perfetto.dev, or offline in trace_processor): nodes are processes, what
// was so for a time is a slice, a frame is an arrow between two of them, a check is an instant of
// the rig at its newest proof.
//
// Perfetto leaves out, cuts or moves what breaks these rules, so that they are kept here: slices of
// one thread nest or follow each other; a thread's number is its own among all processes, because a
// thread's name is kept by it alone; a slice has a length; an arrow begins and ends behind a slice
// of its thread, and no other frame's slice begins with that; what a node did is on a thread,
// because asynchronous events are nobody's. (Read in the sources of its version 58.2,
// src/trace_processor/importers/json and slice_tracker.cc.)
//
// It owns that file's form and never judges. Times are microseconds of the rig's clock, as in the
// journal; what a guest printed stays text, since all of it goes through encoding/json.
package trace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"holdfast/rig/journal"
	"holdfast/rig/report"
	"holdfast/rig/report/timeline"
)

// File is the artefact's name.
const File = "trace.json"

// The phases of an event that are used.
const (
	phaseSlice   = "X"
	phaseInstant = "i"
	phaseStart   = "s" // of an arrow
	phaseFinish  = "f"
	phaseName    = "M" // of a process or a thread
)

// What an event of phaseName tells.
const (
	processName  = "process_name"
	processOrder = "process_sort_index"
	threadName   = "thread_name"
)

// event is one trace event.
type event struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	At       journal.Time   `json:"ts"`
	Duration journal.Time   `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	ID       int            `json:"id,omitempty"` // of an arrow
	Bind     string         `json:"bp,omitempty"` // what an arrow's end belongs to
	Scope    string         `json:"s,omitempty"`  // of an instant
	Args     map[string]any `json:"args,omitempty"`
}

// rigProcess is the rig's; the nodes' follow.
const rigProcess = 1

// The threads of the rig's process.
const (
	threadSteps = 1 + iota
	threadFaults
	threadChecks
)

// The threads of a node's process.
const (
	threadMachine = 1 + iota
	threadView
	threadWrite
	threadFrames
	threadConsole
	threadPeers // one for each peer from here on; the lease and the answers follow
)

// threadsMax is more threads than a process has: an answer under way is a TCP connection to one
// address, and has a port of its own.
const threadsMax = 1 << 16

// frameLong is how long a frame's slice is, unless the thread's next one begins before: an arrow
// needs something to begin and end at.
const frameLong journal.Time = 100 // us

// writer collects events.
type writer struct {
	t      *timeline.Timeline
	events []event
	// starts is when the slices of frames begin, by process, ascending; at says it of each.
	starts map[int][]journal.Time
	at     map[end]journal.Time
}

// end is one end of a frame, by its process and the frame's record.
type end struct{ process, record int }

// add takes an event. Its thread is numbered within its process.
func (c *writer) add(e event) {
	if e.Thread > 0 {
		e.Thread += e.Process * threadsMax
	}
	c.events = append(c.events, e)
}

// Write writes the trace.
func Write(w io.Writer, t *timeline.Timeline, result report.Result) error {
	c := &writer{t: t}
	c.name(rigProcess, 0, "rig")
	c.name(rigProcess, threadSteps, "steps")
	c.name(rigProcess, threadFaults, "faults")
	c.name(rigProcess, threadChecks, "checks")
	c.bands(rigProcess, threadSteps, "step", t.Steps)
	c.bands(rigProcess, threadFaults, "fault", t.Faults)
	for i := range t.Nodes {
		c.node(&t.Nodes[i], rigProcess+1+i)
	}
	c.begins()
	for _, f := range t.Frames {
		c.frame(f)
	}
	c.consoles()
	c.checks(result)
	encoder := json.NewEncoder(w)
	err := encoder.Encode(map[string]any{
		"displayTimeUnit": "ms",
		"otherData": map[string]any{"fault": result.Fault, "seed": fmt.Sprint(result.Seed),
			"image_sha256": result.Image},
		"traceEvents": c.events,
	})
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}

// name names a process, or a thread of it unless that is 0. Threads are shown in the order of their
// numbers; processes have to be told to be, or the one with the most slices is the first.
func (c *writer) name(process, thread int, name string) {
	what := threadName
	if thread == 0 {
		what = processName
	}
	c.add(event{Name: what, Phase: phaseName, Process: process, Thread: thread,
		Args: map[string]any{"name": name}})
	if thread == 0 {
		c.add(event{Name: processOrder, Phase: phaseName, Process: process,
			Args: map[string]any{"sort_index": process}})
	}
}

// bands adds slices, and instants for what took no time. Slices of one thread must nest or follow
// each other; bands that overlap otherwise are cut short by the later one.
func (c *writer) bands(process, thread int, category string, bands []timeline.Band) {
	for i, b := range bands {
		e := event{Name: b.Text, Category: category, Phase: phaseSlice, At: b.From,
			Duration: b.To - b.From, Process: process, Thread: thread,
			Args: map[string]any{"record": b.N, "kind": b.Kind}}
		if b.Instant() {
			e.Phase, e.Scope, e.Duration = phaseInstant, "t", 0
		}
		for _, later := range bands[i+1:] {
			if later.From > b.From && later.From < b.To && later.To > b.To {
				e.Duration = min(e.Duration, later.From-b.From)
			}
		}
		c.add(e)
	}
}

func (c *writer) node(n *timeline.Node, process int) {
	c.name(process, 0, n.Name)
	right := "may commit"
	if !c.t.Leased {
		right = "takes commits"
	}
	for _, lane := range []struct {
		thread int
		name   string
		bands  []timeline.Band
	}{
		{threadMachine, "machine", n.Machine}, {threadView, "view", n.Views},
		{threadWrite, right, only(n.Write, timeline.Told, timeline.Denied)},
		{threadFrames, "frames", nil}, {threadConsole, "console", nil},
	} {
		c.name(process, lane.thread, lane.name)
		c.bands(process, lane.thread, lane.name, lane.bands)
	}
	thread := threadPeers
	for _, peer := range c.t.Nodes {
		var seen []timeline.Band
		for _, b := range n.Peers {
			if b.Peer == peer.Name {
				seen = append(seen, b)
			}
		}
		if len(seen) > 0 {
			c.name(process, thread, "sees "+peer.Name)
			c.bands(process, thread, "peer", seen)
			thread++
		}
	}
	if c.t.Leased {
		c.name(process, thread, "lease possible")
		c.bands(process, thread, "lease", only(n.Write, timeline.Possible))
		thread++
	}
	c.answers(n, process, thread)
}

// only returns the bands of some kinds.
func only(bands []timeline.Band, kinds ...string) []timeline.Band {
	var some []timeline.Band
	for _, b := range bands {
		for _, k := range kinds {
			if b.Kind == k {
				some = append(some, b)
			}
		}
	}
	return some
}

// answers are requests, of which several can be under way: each stands on the first of the threads
// from this one on whose last one is over. (As asynchronous events they would not be the node's:
// Perfetto has one group for those of all processes, with a track for each text.)
func (c *writer) answers(n *timeline.Node, process, thread int) {
	sorted := slices.SortedStableFunc(slices.Values(n.Answers), func(a, b timeline.Answer) int {
		return cmp.Compare(a.From, b.From)
	})
	var over []journal.Time // when the last answer of each thread is over
	for _, a := range sorted {
		free := slices.IndexFunc(over, func(at journal.Time) bool { return at <= a.From })
		if free < 0 {
			free = len(over)
			over = append(over, 0)
			c.name(process, thread+free, "answers")
		}
		over[free] = a.To
		c.bands(process, thread+free, "answer "+string(a.Class), []timeline.Band{a.Band})
	}
}

// process is that of a node, 0 when the run has none of that name.
func (c *writer) process(node string) int {
	for i, n := range c.t.Nodes {
		if n.Name == node {
			return rigProcess + 1 + i
		}
	}
	return 0
}

// begins settles when the slices of frames begin: in the order of their times, each a microsecond
// after the one before on its thread at least. Of two that begin at one time Perfetto gives an
// arrow to the wrong one. None arrives before it was sent.
func (c *writer) begins() {
	type mark struct {
		of      end
		at      journal.Time
		from    end // of an arrival
		arrives bool
	}
	var marks []mark
	for _, f := range c.t.Frames {
		from, to := c.process(f.From), c.process(f.To)
		if from == 0 || to == 0 {
			continue
		}
		sent := end{from, f.N}
		marks = append(marks, mark{of: sent, at: f.Sent})
		if f.Fate == timeline.Passed {
			marks = append(marks, mark{of: end{to, f.N}, at: f.At, from: sent, arrives: true})
		}
	}
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	c.starts, c.at = make(map[int][]journal.Time), make(map[end]journal.Time)
	for _, m := range marks {
		list := c.starts[m.of.process]
		if n := len(list); n > 0 {
			m.at = max(m.at, list[n-1]+1)
		}
		if m.arrives {
			m.at = max(m.at, c.at[m.from])
		}
		c.starts[m.of.process], c.at[m.of] = append(list, m.at), m.at
	}
}

// long is how long a frame's slice can be: no longer than until the next one of its process.
func (c *writer) long(process int, at journal.Time) journal.Time {
	list := c.starts[process]
	next, _ := slices.BinarySearch(list, at+1)
	if next == len(list) {
		return frameLong
	}
	return min(frameLong, list[next]-at)
}

// frame adds a slice at the sender, and, when it passed, one at the receiver with an arrow to it.
// The arrow's ends follow their slices, which they belong to.
func (c *writer) frame(f timeline.Frame) {
	from, to := c.process(f.From), c.process(f.To)
	if from == 0 || to == 0 {
		return
	}
	sent, at := c.at[end{from, f.N}], c.at[end{to, f.N}]
	slice := event{Name: fmt.Sprintf("to %s: %s", f.To, f.Fate), Category: "frame",
		Phase: phaseSlice, At: sent, Duration: c.long(from, sent), Process: from,
		Thread: threadFrames, Args: map[string]any{"record": f.N, "frame": f.Text}}
	c.add(slice)
	if f.Fate != timeline.Passed {
		return
	}
	arrow := event{Name: "frame", Category: "frame", Phase: phaseStart, At: sent, Process: from,
		Thread: threadFrames, ID: f.N}
	c.add(arrow)
	slice.Name, slice.At, slice.Process = "from "+f.From, at, to
	slice.Duration = c.long(to, at)
	c.add(slice)
	arrow.Phase, arrow.At, arrow.Process, arrow.Bind = phaseFinish, at, to, "e"
	c.add(arrow)
}

func (c *writer) consoles() {
	for _, r := range c.t.Run.Records {
		process := c.process(r.Node)
		if r.Kind != journal.KindConsole || process == 0 {
			continue
		}
		c.add(event{Name: c.t.Names.Replace(r.Line), Category: "console", Phase: phaseInstant,
			At: r.At, Process: process, Thread: threadConsole, Scope: "t",
			Args: map[string]any{"record": r.N}})
	}
}

func (c *writer) checks(result report.Result) {
	for _, check := range result.Checks {
		at := c.t.End
		if n := len(check.Evidence); n > 0 && check.Evidence[n-1] <= len(c.t.Run.Records) {
			at = c.t.Run.Records[check.Evidence[n-1]-1].At
		}
		args := map[string]any{"status": check.Status.String(), "claim": check.Claim,
			"found": check.Detail, "records": check.Evidence}
		if check.Margin != nil {
			args["slack_ms"] = check.Margin.Slack.Milliseconds()
		}
		c.add(event{Name: check.Name + ": " + check.Status.String(),
			Category: "check", Phase: phaseInstant, At: at, Process: rigProcess,
			Thread: threadChecks, Scope: "t", Args: args})
	}
}
