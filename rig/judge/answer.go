package judge

import (
	"strings"

	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// answer is a node's HTTP answer as lines of evidence.
type answer struct {
	n     int // of its record
	at    journal.Time
	lines []evidence.Line
}

// pick looks for a request to a node whose record satisfies want: the first or the last.
func (q *inquiry) pick(
	node, method, path string, last bool, want func(journal.Record) bool,
) (answer, bool) {
	requests := q.run.requests(node, method, path)
	for i := range requests {
		record := requests[i]
		if last {
			record = requests[len(requests)-1-i]
		}
		if want(record) && record.HTTP.Status != 0 {
			return q.read(record)
		}
	}
	q.missing("no answer of %s to %s %s at the right time", node, method, path)
	return answer{}, false
}

// read parses an answer. One that the node should not have given violates.
func (q *inquiry) read(record journal.Record) (answer, bool) {
	h := record.HTTP
	a := answer{n: record.N, at: record.At}
	q.cite(record.N)
	if h.Status != 200 {
		q.violated("%s answered %s %s with %d %s", record.Node, h.Method, h.Path, h.Status,
			strings.TrimSpace(h.Body))
		return a, false
	}
	if h.Error != "" {
		q.missing("%s's answer to %s %s broke off: %s", record.Node, h.Method, h.Path, h.Error)
		return a, false
	}
	for text := range strings.Lines(h.Body) {
		text = strings.TrimSuffix(text, "\n")
		line, err := evidence.Parse(text)
		if err != nil {
			line, err = evidence.ParseStatus(text)
		}
		if err != nil {
			q.violated("%s's answer to %s %s is malformed: %v", record.Node, h.Method, h.Path, err)
			return a, false
		}
		a.lines = append(a.lines, line)
	}
	return a, true
}

// before says whether a request was answered by an instant, after whether it was sent from one on.
func before(t journal.Time) func(journal.Record) bool {
	return func(r journal.Record) bool { return r.At <= t }
}

func after(t journal.Time) func(journal.Record) bool {
	return func(r journal.Record) bool { return r.HTTP.Sent >= t }
}

// homeRow is a row of GET /mesh/homes.
type homeRow struct {
	object id.Object
	node   id.Node // zero: none
	line   evidence.Line
}

// homes reads the rows of an answer to GET /mesh/homes.
func (a *answer) homes() []homeRow {
	var rows []homeRow
	for _, l := range a.lines {
		if o, ok := l.GetObject("object"); ok {
			n, _ := l.GetNode("home")
			rows = append(rows, homeRow{o, n, l})
		}
	}
	return rows
}

// first returns the first line of an answer that starts so.
func (a *answer) first(prefix string, words ...string) (evidence.Line, bool) {
	for _, l := range a.lines {
		if l.Is(prefix, words...) {
			return l, true
		}
	}
	return evidence.Line{}, false
}

// nodeRow returns the row in which a node tells its state (GET /mesh).
func (a *answer) nodeRow() (evidence.Line, bool) {
	for _, l := range a.lines {
		if strings.HasPrefix(l.String(), nodeHead) {
			return l, true
		}
	}
	return evidence.Line{}, false
}

// members is how many members an answer lists (GET /mesh).
func (a *answer) members() (count int) {
	for _, l := range a.lines {
		if strings.HasPrefix(l.String(), memberHead) {
			count++
		}
	}
	return count
}

// The starts of those rows.
const (
	nodeHead   = "node "
	memberHead = "member "
)
