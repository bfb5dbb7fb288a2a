package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holdfast/mesh/evidence"
	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// LabStep is what the result of a lab step must show (spec section 7).
type LabStep struct {
	Name   string // of the check; "" is that of the step
	Number int
	Nth    int      // of several requests, from 1; 0 is the first, too
	At     string   // the node that is asked
	HomeAt string   // the node that homes the object by its score in a view of all nodes; "" is any
	Fields []string // "key=value" that the row must have; a node's name stands for its id
}

// LastOne as LabStep.Nth means the last of several requests.
const LastOne = -1

// moveNumber is the step that is answered with the row of a move, not of a result.
const moveNumber = 2

// path is where a lab step is asked for.
func (s LabStep) path() string { return "/mesh/step/" + strconv.Itoa(s.Number) }

// Check returns the question, with the claim that its user reads.
func (s LabStep) Check(claim string) Check {
	name := s.Name
	if name == "" {
		name = fmt.Sprintf("step-%d", s.Number)
	}
	return Check{
		Name: name, Source: "ADR 7", Claim: claim,
		ask: func(q *inquiry) { s.ask(q) },
	}
}

// ask checks the step's result and returns it.
func (s LabStep) ask(q *inquiry) (Row, bool) {
	row, ok := s.find(q)
	if !ok {
		return Row{}, false
	}
	where := fmt.Sprintf("step %d", s.Number)
	q.want(where, row.Line, q.ids(s.Fields)...)
	object, _ := row.GetObject("object")
	if s.HomeAt != "" {
		if scored := home.Of(object, q.run.Nodes); scored != q.run.ID(s.HomeAt) {
			q.violated("%s took %s, whose home is %s, not %s", where, q.run.object(object),
				q.run.Name(scored), s.HomeAt)
		}
	}
	if op := fieldOf(row.Line, "op"); op != "" {
		q.fact("%s of %s: %s", op, q.run.object(object), summary(row.Line))
	}
	return row, true
}

// find returns the row on the console that the node's answer to the step is.
func (s LabStep) find(q *inquiry) (Row, bool) {
	rows, ok := s.rows(q, 1)
	if !ok {
		return Row{}, false
	}
	return rows[0], true
}

// rows returns the rows on the console that the node's answer to the step is, so many of them.
func (s LabStep) rows(q *inquiry, count int) ([]Row, bool) {
	request, ok := s.request(q)
	if !ok {
		return nil, false
	}
	a, ok := q.read(request)
	if !ok {
		return nil, false
	}
	word := "result"
	if s.Number == moveNumber {
		word = "move"
	}
	var found []Row
	for _, l := range a.lines {
		if !l.Is("mesh-route", word) {
			q.violated("%s answered step %d with %q", s.At, s.Number, l.String())
			continue
		}
		for _, row := range q.run.rows(s.At, "mesh-route", word) {
			// The row of a move is printed when it begins and answered when it is through.
			if row.Line == l || s.Number == moveNumber && timeless(row.Line) == timeless(l) {
				found = append(found, row)
				q.cite(row.N)
				break
			}
		}
	}
	switch {
	case len(a.lines) != count:
		q.violated("%s answered step %d with %d rows, not %d", s.At, s.Number, len(a.lines), count)
	case len(found) != count:
		q.missing("the %s of step %d is not on %s's console", word, s.Number, s.At)
	}
	return found, len(found) == count
}

// timeless is a line without its instant.
func timeless(l evidence.Line) string {
	text, _, _ := strings.Cut(l.String(), " at=")
	return text
}

// request returns the request that is meant.
func (s LabStep) request(q *inquiry) (journal.Record, bool) {
	requests := slices.DeleteFunc(q.run.requests(s.At, "POST", s.path()),
		func(r journal.Record) bool { return r.HTTP.Status == 0 })
	nth := max(1, s.Nth)
	if s.Nth == LastOne {
		nth = len(requests)
	}
	if nth == 0 || nth > len(requests) {
		q.missing("no answer of %s to POST %s at the right time", s.At, s.path())
		return journal.Record{}, false
	}
	return requests[nth-1], true
}

// ids replaces nodes' names by their ids in fields.
func (q *inquiry) ids(fields []string) []string {
	var replaced []string
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		if q.run.has(value) {
			value = q.run.ID(value).String()
		}
		replaced = append(replaced, key+"="+value)
	}
	return replaced
}

func fieldOf(l evidence.Line, key string) string {
	value, _ := l.Get(key)
	return value
}

// summary is the part of a result that a person wants to see.
func summary(l evidence.Line) string {
	var parts []string
	for _, key := range []string{"status", "epoch", "attempts", "sends"} {
		parts = append(parts, key+"="+fieldOf(l, key))
	}
	return strings.Join(parts, " ")
}

// LocalStep asks for a step whose object must be one that the latest view change fenced, at a node
// that must not have sent anything for it: the counters before and after tell.
func LocalStep(s LabStep, epoch id.Epoch, claim string) Check {
	c := s.Check(claim)
	c.Source = "ADR 3"
	c.ask = func(q *inquiry) {
		row, ok := s.ask(q)
		if !ok {
			return
		}
		object, _ := row.GetObject("object")
		if !q.fenced(s.At, object, epoch) {
			q.violated("step %d took %s, for which no fence was printed", s.Number,
				q.run.object(object))
		}
		q.unmoved(s, "sends", "moved", "timeouts")
	}
	return c
}

// fenced says whether a node printed a fence of an object at an epoch.
func (q *inquiry) fenced(node string, o id.Object, epoch id.Epoch) bool {
	for _, row := range q.run.leftView(node) {
		object, _ := row.GetObject("object")
		at, _ := row.GetEpoch("home_epoch")
		if object == o && at == epoch {
			q.cite(row.N)
			return true
		}
	}
	return false
}

// unmoved checks that counters have the same value before and after a step.
func (q *inquiry) unmoved(s LabStep, counters ...string) {
	earlier, later, ok := q.around(s)
	if !ok {
		return
	}
	for _, c := range counters {
		q.counted(s, earlier, later, c, 0)
	}
}

// counted checks by how much a counter has grown in a step.
func (q *inquiry) counted(s LabStep, earlier, later evidence.Line, counter string, by uint64) {
	a, ok1 := earlier.GetUint(counter)
	b, ok2 := later.GetUint(counter)
	if !ok1 || !ok2 || b-a != by {
		q.violated("%s's counter %s went from %s to %s in step %d, not up by %d", s.At, counter,
			fieldOf(earlier, counter), fieldOf(later, counter), s.Number, by)
	}
}

// around returns the node's counters before and after a step.
func (q *inquiry) around(s LabStep) (earlier, later evidence.Line, ok bool) {
	step, ok := s.request(q)
	if !ok {
		return earlier, later, false
	}
	return q.counters(s.At, step.HTTP.Sent, step.At)
}

// counters returns a node's counters before one instant and after another.
func (q *inquiry) counters(
	node string, from, to journal.Time,
) (earlier, later evidence.Line, ok bool) {
	a, ok1 := q.pick(node, "GET", "/mesh/route", true, before(from))
	b, ok2 := q.pick(node, "GET", "/mesh/route", false, after(to))
	if !ok1 || !ok2 {
		return earlier, later, false
	}
	earlier, ok1 = a.first("mesh-route", "counters")
	later, ok2 = b.first("mesh-route", "counters")
	if !ok1 || !ok2 {
		q.violated("GET /mesh/route of %s has no counters", node)
	}
	return earlier, later, ok1 && ok2
}

// StaleStep asks for a step in which a frame of an old epoch arrived: it is refused, and the
// counters say why.
func StaleStep(s LabStep, claim string) Check {
	c := s.Check(claim)
	c.Source = "ADR 3"
	c.ask = func(q *inquiry) {
		s.ask(q)
		_, later, ok := q.around(s)
		if ok {
			q.want(s.At+"'s counters", later, "last_replay=stale-epoch")
		}
		q.unmoved(s, "commits")
	}
	return c
}

// SameObject asks for a step that must take the object of another one.
func SameObject(s, other LabStep, claim string) Check {
	c := s.Check(claim)
	c.Source = "ADR 4"
	c.ask = func(q *inquiry) {
		if _, ok := s.ask(q); ok {
			q.sameObject(s, other)
		}
	}
	return c
}

func (q *inquiry) sameObject(s, other LabStep) {
	a, ok1 := s.find(q)
	b, ok2 := other.find(q)
	if x, y := fieldOf(a.Line, "object"), fieldOf(b.Line, "object"); ok1 && ok2 && x != y {
		q.violated("step %d took %s, step %d took %s",
			s.Number, q.short(x), other.Number, q.short(y))
	}
}
