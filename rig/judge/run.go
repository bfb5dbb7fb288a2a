// Package judge computes the verdict on a run from its journal, and from nothing else: a stored
// journal gives the same verdict again. It owns the checks, what they may conclude, and the mapping
// of guest time to the rig's. It must never touch a machine, a file or a clock.
//
// A check asks one question and answers held, violated or inconclusive. Inconclusive is the zero
// value and what remains when nothing was there to judge: unknown is not pass. A held or violated
// check cites the records that show it, and where a bound is involved says how much of it was left.
//
// The questions come from ADR-0008 and from the system's specification, sections 4 to 9; each check
// names its section.
//
// # What the answers to traffic prove
//
// While the rig breaks things it asks every node, all the time, to commit and to read objects. A
// request that was answered with ok says that its home did it at some instant between the request
// and the answer, both on the rig's clock; no guest's clock is asked. Which home, in which term,
// and which version it made or read stands in the answer. A request without an answer, or with a
// refusal, proves nothing: it may have been done, or be done later.
//
// A term is the time in which one boot of one node is the home of an object under one home epoch.
// The authority makes terms one after the other, and a later one must not begin to act before the
// earlier one has ended for good. So whatever the instants between request and answer were, two
// things break the promise of one home at a time: that two boots act in one term, and that
// something done in an earlier term was asked for after something done in a later one had been
// answered. When neither is there, instants can be chosen such that one home acts at a time: more
// than these two answers alone cannot show (OneHome).
//
// Nor do they show what a home could have done and was not asked to do. The traffic is dense for
// that reason, and two more checks look at the right to commit itself. RoundTrip: a lease needs a
// request and an answer that passed the relay, so that a commit of a member without a round trip in
// the time of a lease before it was made without one. LeaseOver: the authority, whose removal is
// the first instant at which it can commit in a member's place, must not remove before the member's
// last lease is over.
package judge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/rig/journal"
)

// Run is a journal prepared for judging.
type Run struct {
	Info    journal.Run
	Records []journal.Record
	Rows    []Row        // the evidence on all consoles, in the journal's order
	End     journal.End  // Outcome is empty when the journal has no end
	EndAt   journal.Time // when the journal ends: nothing is known of later
	Nodes   []id.Node    // the ids of Info.Nodes
	times   timing.Timing
	hazards map[int]hazard // by record number, see Watch
	names   map[id.Object]string
}

// Times is the timing that the run's mesh was given.
func (r *Run) Times() timing.Timing { return r.times }

// timesOf is the timing of a run, which an older journal does not have, or not all of: there the
// nodes' word counts.
func timesOf(info journal.Run, records []journal.Record) (timing.Timing, error) {
	given := info.Times
	t, ok := timesTold(records)
	if !ok {
		t = timing.Default
	}
	if given == nil {
		return t, nil
	}
	acks := t.AcksAll
	if given.Fence != "" {
		acks = given.Fence == timing.FenceAcks
	}
	t = timing.Timing{Heartbeat: when.Span(given.Heartbeat), Suspect: when.Span(given.Suspect),
		Fail: when.Span(given.Fail), WriteLease: when.Span(given.Lease), AcksAll: acks}
	if given.Fence != "" && given.Fence != t.FencedBy() {
		return t, fmt.Errorf("judge: no mesh is fenced by %q", given.Fence)
	}
	return t, nil
}

// timesTold is the timing that the first node tells of that tells one.
func timesTold(records []journal.Record) (t timing.Timing, ok bool) {
	for _, r := range records {
		if r.Kind != journal.KindHTTP || r.HTTP.Path != "/mesh" || r.HTTP.Status != 200 {
			continue
		}
		for line := range strings.Lines(r.HTTP.Body) {
			if !strings.HasPrefix(line, "times ") {
				continue
			}
			l, err := evidence.ParseStatus(strings.TrimSuffix(line, "\n"))
			if err != nil {
				continue
			}
			fence, _ := l.Get("fence")
			t.AcksAll, ok = fence == timing.FenceAcks, true
			for key, span := range map[string]*when.Span{"heartbeat_ms": &t.Heartbeat,
				"suspect_ms": &t.Suspect, "fail_ms": &t.Fail, "lease_ms": &t.WriteLease} {
				var has bool
				*span, has = l.GetSpan(key)
				ok = ok && has
			}
			if ok {
				return t, true
			}
		}
	}
	return timing.Timing{}, false
}

// Row is one line of evidence on a node's console.
type Row struct {
	evidence.Line
	N    int // of its record
	Node string
	Boot int
	Seen journal.Time // when the rig had read the whole line
}

// New prepares a journal, without what it was judged to be before. Its error says that the records
// are no journal of a run.
func New(records []journal.Record) (*Run, error) {
	records, _ = journal.Split(records)
	if len(records) == 0 || records[0].Run == nil {
		return nil, errors.New("judge: no journal of a run")
	}
	r := &Run{Info: *records[0].Run, Records: records, hazards: make(map[int]hazard),
		names: make(map[id.Object]string)}
	var err error
	if r.times, err = timesOf(r.Info, records); err != nil {
		return nil, err
	}
	for _, n := range r.Info.Nodes {
		node, err := id.ParseNode(n.ID)
		if err != nil {
			return nil, fmt.Errorf("judge: id of node %s: %w", n.Name, err)
		}
		r.Nodes = append(r.Nodes, node)
	}
	for _, o := range r.Info.Objects {
		object, err := id.ParseObject(o.ID)
		if err != nil {
			return nil, fmt.Errorf("judge: id of object %s: %w", o.Name, err)
		}
		r.names[object] = o.Name
	}
	torn := tornLines(records)
	var watch Watch
	for _, record := range records {
		if h := watch.see(record); h != harmless {
			r.hazards[record.N] = h
		}
		r.EndAt = max(r.EndAt, record.At)
		switch record.Kind {
		case journal.KindConsole:
			line, err := evidence.Parse(record.Line)
			switch {
			case torn[boot{record.Node, record.Boot}] == record.N:
			case err == nil:
				r.Rows = append(r.Rows, Row{line, record.N, record.Node, record.Boot, record.At})
			case console(record.Line) == unparsable && !watch.broken[record.N]:
				r.hazards[record.N] = unparsable
			}
		case journal.KindHTTP: // whoever was asked for an object by its name knows the id
			if name, ok := strings.CutPrefix(record.HTTP.Path, ObjectsPath); ok {
				r.names[id.ObjectOf(name)] = name
			}
		case journal.KindEnd:
			r.End = *record.End
		}
	}
	return r, nil
}

// tornLines has, for each boot that the rig ended, the record of the last line that its console
// gave from then on: it may have broken off anywhere, even in a number.
func tornLines(records []journal.Record) map[boot]int {
	last, ended := make(map[boot]int), make(map[boot]bool)
	for _, r := range records {
		b := boot{r.Node, r.Boot}
		switch {
		case r.Kind == journal.KindAction && r.Action.Ends():
			ended[b] = true
		case r.Kind == journal.KindConsole && ended[b]:
			last[b] = r.N
		}
	}
	return last
}

// ID is the id of the node with the given name.
func (r *Run) ID(name string) id.Node {
	for i, n := range r.Info.Nodes {
		if n.Name == name {
			return r.Nodes[i]
		}
	}
	panic("judge: no node " + name + " in this run")
}

// has says whether the run has a node of this name.
func (r *Run) has(name string) bool {
	return slices.ContainsFunc(r.Info.Nodes, func(n journal.Node) bool { return n.Name == name })
}

// Name is the node's name, or its id when no node of the run has it.
func (r *Run) Name(node id.Node) string {
	if i := slices.Index(r.Nodes, node); i >= 0 {
		return r.Info.Nodes[i].Name
	}
	return node.String()
}

// object is the name of an object of the run, or its id.
func (r *Run) object(o id.Object) string {
	if name, ok := r.names[o]; ok {
		return name
	}
	return o.String()
}

// sorted is the snapshot that a view of these nodes has in evidence.
func sorted(nodes []id.Node) string {
	nodes = slices.SortedFunc(slices.Values(nodes), id.Node.Compare)
	text := ""
	for i, n := range nodes {
		if i > 0 {
			text += ","
		}
		text += n.String()
	}
	return text
}

// rows returns the rows of a node that start so, in order. An empty node means all nodes.
func (r *Run) rows(node, prefix string, words ...string) []Row {
	var found []Row
	for _, row := range r.Rows {
		if (node == "" || row.Node == node) && row.Is(prefix, words...) {
			found = append(found, row)
		}
	}
	return found
}

// actions returns the records of an action on a node, in order.
func (r *Run) actions(node, name string) []journal.Record {
	var found []journal.Record
	for _, record := range r.Records {
		if record.Kind == journal.KindAction && record.Node == node && record.Action.Name == name {
			found = append(found, record)
		}
	}
	return found
}

// done is when an action had taken effect: the end of a journal that does not tell.
func (r *Run) done(action journal.Record) journal.Time {
	if !action.Action.Ends() {
		return action.Action.Done
	}
	for _, record := range r.Records {
		if record.Kind == journal.KindExit && record.Node == action.Node &&
			record.Boot == action.Boot {
			return record.At
		}
	}
	return r.EndAt
}

// requests returns the requests to a node, in order.
func (r *Run) requests(node, method, path string) []journal.Record {
	var found []journal.Record
	for _, record := range r.Records {
		if record.Kind == journal.KindHTTP && record.Node == node &&
			record.HTTP.Method == method && record.HTTP.Path == path {
			found = append(found, record)
		}
	}
	return found
}
