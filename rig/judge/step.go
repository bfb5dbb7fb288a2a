package judge

import (
	"fmt"
	"strconv"
	"strings"

	"holdfast/mesh/evidence"
	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// LabStep is what the result of a lab step must show (spec section 7).
type LabStep struct {
	Number int
	At     string   // the node that is asked
	HomeAt string   // the node that homes the object by its score in a view of all nodes; "" is any
	Fields []string // "key=value" that the result row must have; a node's name stands for its id
}

// path is where a lab step is asked for.
func (s LabStep) path() string { return "/mesh/step/" + strconv.Itoa(s.Number) }

// Check returns the question, with the claim that its user reads.
func (s LabStep) Check(claim string) Check {
	return Check{
		Name: fmt.Sprintf("step-%d", s.Number), Source: "ADR 7", Claim: claim,
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
	q.fact("%s of %s: %s", fieldOf(row.Line, "op"), q.run.object(object), summary(row.Line))
	return row, true
}

// find returns the row on the console that the node's answer to the step is.
func (s LabStep) find(q *inquiry) (Row, bool) {
	anytime := func(journal.Record) bool { return true }
	a, ok := q.pick(s.At, "POST", s.path(), false, anytime)
	if !ok {
		return Row{}, false
	}
	line, ok := a.first("mesh-route", "result")
	if !ok || len(a.lines) != 1 {
		q.violated("%s did not answer step %d with one result row", s.At, s.Number)
		return Row{}, false
	}
	for _, row := range q.run.rows(s.At, "mesh-route", "result") {
		if row.Line == line {
			q.cite(row.N)
			return row, true
		}
	}
	q.missing("the result of step %d is not on %s's console", s.Number, s.At)
	return Row{}, false
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
		if a, b := fieldOf(earlier, c), fieldOf(later, c); a != b {
			q.violated("%s's counter %s went from %s to %s in step %d", s.At, c, a, b, s.Number)
		}
	}
}

// around returns the node's counters before and after a step.
func (q *inquiry) around(s LabStep) (earlier, later evidence.Line, ok bool) {
	steps := q.run.requests(s.At, "POST", s.path())
	if len(steps) == 0 {
		return earlier, later, false // find has said so
	}
	a, ok1 := q.pick(s.At, "GET", "/mesh/route", true, before(steps[0].HTTP.Sent))
	b, ok2 := q.pick(s.At, "GET", "/mesh/route", false, after(steps[0].At))
	if !ok1 || !ok2 {
		return earlier, later, false
	}
	earlier, ok1 = a.first("mesh-route", "counters")
	later, ok2 = b.first("mesh-route", "counters")
	if !ok1 || !ok2 {
		q.violated("GET /mesh/route of %s has no counters", s.At)
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
		a, ok1 := s.ask(q)
		b, ok2 := other.find(q)
		if x, y := fieldOf(a.Line, "object"), fieldOf(b.Line, "object"); ok1 && ok2 && x != y {
			q.violated("step %d took %s, step %d took %s",
				s.Number, q.short(x), other.Number, q.short(y))
		}
	}
	return c
}
