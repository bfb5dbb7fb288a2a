package judge

import (
	"strings"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/mesh/wire"
	"holdfast/rig/journal"
)

// commit is a client's commit that a node accepted as the object's home: the result in its answer.
type commit struct {
	Row
	sent journal.Time // when the client asked
}

// refusals are the commits that a node refused after one that it accepted.
type refusals struct {
	count int
	sent  journal.Time // when the client asked for the first of them
	word  string       // its answer
}

// lastCommit returns the last commit that a node accepted while it was cut off, on its own clock,
// and what it refused after it. That it refused nothing leaves the question open, but for what the
// accepted one shows. A request without an answer shows nothing.
func (q *inquiry) lastCommit(node string) (last commit, after refusals, ok bool) {
	cut, ok := q.isolated(node)
	if !ok {
		return last, after, false
	}
	var tried []journal.Record
	for _, r := range q.run.Records {
		if r.Kind != journal.KindHTTP || r.Node != node || r.HTTP.Method != "PUT" ||
			!cut.within(r.N) || r.HTTP.Status == 0 ||
			r.HTTP.Durability == wire.Replicated.String() { // that needs more than a lease
			continue
		}
		tried = append(tried, r)
		at, _ := last.Time()
		if c, ok := q.run.accepted(r); ok {
			if now, _ := c.Time(); last.N == 0 || now >= at {
				last = c
			}
		}
	}
	if last.N == 0 {
		q.missing("%s committed nothing after the cut", node)
		return last, after, false
	}
	q.cite(last.N)
	for _, r := range tried {
		if r.HTTP.Status == 200 || r.HTTP.Sent < last.sent {
			continue
		}
		after.count++
		if after.count == 1 || r.HTTP.Sent < after.sent {
			after.sent = r.HTTP.Sent
			after.word, _, _ = strings.Cut(strings.TrimSpace(r.HTTP.Body), ":")
		}
	}
	if after.count == 0 {
		q.missing("%s tried no commit after the last accepted one", node)
	}
	return last, after, true
}

// accepted reads the answer to a commit, if the node that was asked accepted it as the home.
func (r *Run) accepted(answer journal.Record) (commit, bool) {
	first, _, _ := strings.Cut(answer.HTTP.Body, "\n")
	line, err := evidence.Parse(first)
	if err != nil || answer.HTTP.Status != 200 || !line.Is("mesh-route", "result") ||
		fieldOf(line, "status") != "ok" || fieldOf(line, "home") != r.ID(answer.Node).String() {
		return commit{}, false
	}
	row := Row{line, answer.N, answer.Node, answer.Boot, answer.At}
	return commit{row, answer.HTTP.Sent}, true
}

// sparse is how far apart two tries to commit may be for the bound between them to be tested.
const sparse = 2 * time.Second
