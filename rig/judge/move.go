package judge

import (
	"fmt"

	"holdfast/rig/journal"
)

// Moved asks for the step that moves an object's lease, in the order that keeps two nodes from
// holding it: the giver drains, then the taker is active, and both say so over HTTP, too. other is
// the step whose object it must be.
func Moved(s, other LabStep, from, to string) Check {
	c := s.Check(fmt.Sprintf("%s stops taking commits to the object before %s takes them",
		from, to))
	c.ask = func(q *inquiry) { q.moved(s, other, from, to) }
	return c
}

func (q *inquiry) moved(s, other LabStep, from, to string) {
	move, ok := s.ask(q)
	if !ok {
		return
	}
	q.sameObject(s, other)
	object := fieldOf(move.Line, "object")
	drains, ok1 := q.leaseRow(from, object, "draining", from)
	holds, ok2 := q.leaseRow(to, object, "active", to)
	if !ok1 || !ok2 {
		return
	}
	request, _ := s.request(q)
	for node, lease := range map[string]string{from: "draining", to: "active"} {
		a, ok := q.pick(node, "GET", "/mesh/homes", false, after(request.At))
		if !ok {
			continue
		}
		for _, h := range a.homes() {
			if h.object.String() == object {
				q.want(node+"'s row of "+q.short(object), h.line, "lease="+lease,
					"home="+q.run.ID(to).String(), "home_epoch="+fieldOf(holds.Line, "home_epoch"))
			}
		}
	}
	q.order(drains, holds)
	q.fact("%s from %s to %s at move epoch %s", q.short(object), from, to,
		fieldOf(holds.Line, "home_epoch"))
}

// leaseRow returns the first row in which a node says that it holds a lease of an object in a
// state, after it was assigned to holder.
func (q *inquiry) leaseRow(node, object, state, holder string) (Row, bool) {
	for _, row := range q.run.rows(node, "mesh-route", "lease") {
		if fieldOf(row.Line, "object") == object && fieldOf(row.Line, "state") == state {
			q.cite(row.N)
			q.want(node+"'s lease", row.Line, "home="+q.run.ID(holder).String())
			return row, true
		}
	}
	q.missing("%s printed no lease of %s that is %s", node, q.short(object), state)
	return Row{}, false
}

// order violates when, by the rig's clock, the second of two leases was certainly there before the
// first was: the clocks are known to some ten milliseconds, which may be more than what lies
// between.
func (q *inquiry) order(first, second Row) {
	from, _, ok1 := q.instant(first)
	_, to, ok2 := q.instant(second)
	if ok1 && ok2 && to < from {
		q.violated("%s was %s %s before %s was %s", second.Node, fieldOf(second.Line, "state"),
			seconds(from.Sub(to)), first.Node, fieldOf(first.Line, "state"))
	}
}

// instant is the span of the rig's time in which a row was made.
func (q *inquiry) instant(row Row) (from, to journal.Time, ok bool) {
	clock, ok := q.run.clockAt(row.Node, row.N)
	if !ok {
		q.missing("the clock of %s cannot be mapped to the rig's", row.Node)
		return 0, 0, false
	}
	at, _ := row.Time()
	from, to = clock.at(at)
	return from, min(to, row.Seen), true // it was made before it was read
}

// Rerouted asks for a step that a stale route takes to the old home first, which answers MOVED.
// other is the step whose object it must be.
func Rerouted(s, other LabStep, claim string) Check {
	c := s.Check(claim)
	c.ask = func(q *inquiry) {
		if _, ok := s.ask(q); !ok {
			return
		}
		q.sameObject(s, other)
		if earlier, later, ok := q.around(s); ok {
			q.counted(s, earlier, later, "moved", 1)
		}
	}
	return c
}

// Replayed asks for a step that must be refused because its request has the identity of another
// one's and another body: nothing is committed, and the counters say why.
func Replayed(s, other LabStep, claim string) Check {
	c := s.Check(claim)
	c.ask = func(q *inquiry) {
		row, ok := s.ask(q)
		if !ok {
			return
		}
		q.sameObject(s, other)
		if first, ok := other.find(q); ok {
			q.want(fmt.Sprintf("step %d", s.Number), row.Line,
				"request="+fieldOf(first.Line, "request"))
		}
		if earlier, later, ok := q.around(s); ok {
			q.counted(s, earlier, later, "replays", 1)
			q.counted(s, earlier, later, "commits", 0)
			q.want(s.At+"'s counters", later, "last_replay=replay")
		}
	}
	return c
}
