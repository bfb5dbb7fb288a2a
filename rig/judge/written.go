package judge

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/rig/journal"
)

// The checks of this file are for scenarios that their users write: each is about rows of evidence,
// and named by whoever asks.

// ownSource is where the rule of such a check stands.
const ownSource = "scenario"

// RowPattern is the beginning of a row of evidence, such as "mesh-fail: suspect", and fields of it,
// each "key=value"; a node's name stands for its id.
type RowPattern struct {
	Node   string // on whose console; "" is any
	Head   string
	Fields []string
}

// String is the pattern for people.
func (p RowPattern) String() string {
	text := strings.Join(append([]string{p.Head}, p.Fields...), " ")
	if p.Node == "" {
		return "`" + text + "`"
	}
	return "`" + text + "` at " + p.Node
}

// matching are the rows that the pattern means, in order.
func (q *inquiry) matching(p RowPattern) []Row {
	prefix, words, _ := strings.Cut(p.Head, ": ")
	var found []Row
	for _, row := range q.run.rows(p.Node, prefix, strings.Fields(words)...) {
		if hasAll(row.Line, q.ids(p.Fields)) {
			found = append(found, row)
		}
	}
	return found
}

func hasAll(l evidence.Line, fields []string) bool {
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		if got, _ := l.Get(key); got != value {
			return false
		}
	}
	return true
}

// Counted asks how often a row is printed: at least so often, or the question stays open, and at
// most so often. {0, 0} is never, {1, ..} is what must happen.
func Counted(name string, p RowPattern, times Times) Check {
	claim := fmt.Sprintf("%v is printed %d to %d times", p, times.Least, times.Most)
	switch {
	case times.Most == 0:
		claim = fmt.Sprintf("%v is never printed", p)
	case times.Most == math.MaxInt:
		claim = fmt.Sprintf("%v is printed at least %s", p, often(times.Least))
	case times.Least == times.Most:
		claim = fmt.Sprintf("%v is printed %s", p, often(times.Least))
	}
	return Check{Name: name, Source: ownSource, Claim: claim, ask: func(q *inquiry) {
		rows := q.matching(p)
		for _, row := range rows {
			q.cite(row.N)
		}
		switch {
		case len(rows) > times.Most:
			q.violated("%v is printed %s, at most %d", p, often(len(rows)), times.Most)
			return
		case len(rows) < times.Least:
			q.missing("%v is printed %d times, not %d", p, len(rows), times.Least)
			return
		}
		q.fact("%s", often(len(rows)))
		if times.Most < math.MaxInt {
			q.watched() // one more might have followed
		}
	}}
}

// often says a number of times.
func often(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// Moment is an instant of a run: the first action of a name on a node, or between it and a peer, or
// the first row of a pattern.
type Moment struct {
	Action string // "" means Row
	Node   string // of Action
	Row    RowPattern
}

// String is the moment for people.
func (m Moment) String() string {
	if m.Action == "" {
		return m.Row.String()
	}
	return "the " + m.Action + " of " + m.Node
}

// Within asks for the time between a moment and the first row of a pattern behind it, on the rig's
// clock: a row counts from when it had been read.
func Within(name string, from Moment, p RowPattern, least, most time.Duration) Check {
	return Check{Name: name, Source: ownSource,
		Claim: fmt.Sprintf("%v comes %v to %v after %v", p, least, most, from),
		ask: func(q *inquiry) {
			begin, done, after, ok := q.moment(from)
			if !ok {
				return
			}
			for _, row := range q.matching(p) {
				if row.N > after {
					q.cite(row.N)
					q.margin(p.Head+" after", row.Seen.Sub(begin), done.Sub(begin), least, most)
					return
				}
			}
			if q.run.EndAt.Sub(done) > most+missedAfter && q.run.End.Outcome != journal.Trouble {
				q.cite(len(q.run.Records))
				q.violated("%v has not come by %s after %v", p, seconds(q.run.EndAt.Sub(done)), from)
				return
			}
			q.missing("%v has not come", p)
		}}
}

// moment finds when something happened, when it had taken effect, and its record.
func (q *inquiry) moment(m Moment) (begin, done journal.Time, n int, ok bool) {
	if m.Action == "" {
		rows := q.matching(m.Row)
		if len(rows) == 0 {
			q.missing("%v has not come", m.Row)
			return 0, 0, 0, false
		}
		q.cite(rows[0].N)
		return rows[0].Seen, rows[0].Seen, rows[0].N, true
	}
	for _, r := range q.run.Records {
		if r.Kind == journal.KindAction && r.Action.Name == m.Action &&
			(r.Node == m.Node || r.Action.Peer == m.Node) {
			q.cite(r.N)
			return r.At, max(r.At, r.Action.Done), r.N, true
		}
	}
	q.missing("there is no %s of %s", m.Action, m.Node)
	return 0, 0, 0, false
}
