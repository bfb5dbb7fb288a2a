package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/rig/journal"
)

// StoodStill asks whether the rig did what the run is about: a machine stood still so often, each
// time for at least so long.
func StoodStill(node string, times ...time.Duration) Check {
	return Check{
		Name: "stood-still", Source: "spec 8",
		Claim: fmt.Sprintf("%s stood still for %v", node, times),
		ask: func(q *inquiry) {
			halts := q.run.halts(node)
			if len(halts) != len(times) {
				q.missing("%s stood still %d times", node, len(halts))
			}
			for i, h := range halts {
				q.cite(h.stop.N)
				if h.goOn.Action == nil {
					q.missing("%s never went on", node)
					return
				}
				q.cite(h.goOn.N)
				lasted := h.goOn.At.Sub(h.stop.Action.Done)
				if i < len(times) && lasted < times[i] {
					q.missing("for %s only, the %dth time", seconds(lasted), i+1)
				}
				q.fact("%s", seconds(lasted))
			}
		},
	}
}

// Noticed asks whether a node noticed each time in which it stood still: it says so as soon as it
// goes on, and for about how long it was away.
func Noticed(node string) Check {
	return Check{
		Name: "pauses-noticed", Source: "L5, L6",
		Claim: node + " says that it was paused each time it went on, unless it was reset",
		ask:   func(q *inquiry) { q.noticed(node) },
	}
}

func (q *inquiry) noticed(node string) {
	for _, h := range q.run.halts(node) {
		if h.goOn.Action == nil {
			continue
		}
		q.cite(h.goOn.N)
		said := false
		for _, row := range q.run.rows(node, "mesh-fail", "paused") {
			if row.Seen < h.goOn.At || row.Seen > h.until().Add(wakes) {
				continue
			}
			said = true
			q.cite(row.N)
			ms, _ := row.GetSpan("ms")
			away, lasted := time.Duration(ms)*time.Millisecond, h.until().Sub(h.stop.At)
			if away > lasted+2*secondClock {
				q.violated("%s says that it was paused for %s, and stood still for %s", node,
					seconds(away), seconds(lasted))
			}
			q.fact("%s of %s (%s)", seconds(away), seconds(lasted), fieldOf(row.Line, "kind"))
		}
		switch reset, ok := q.run.resetAfter(h); {
		case said:
		case ok:
			q.cite(reset.N)
			q.fact("reset after %s", seconds(h.until().Sub(h.stop.At)))
		case q.run.EndAt > h.until().Add(wakes):
			q.violated("%s went on at %s and did not say that it was away", node, h.goOn.At)
		default:
			q.missing("%s was not watched after it went on", node)
		}
	}
}

// Bitten asks whether the watchdog of a stalled machine did its work: it resets the machine when it
// was not fed for its time, and not when the standstill was so short that it was. In between, by
// the half second of its feeding and that of its counting, both are right.
func Bitten(node string, after time.Duration) Check {
	const between = time.Second
	return Check{
		Name: "watchdog", Source: "L15",
		Claim: fmt.Sprintf("%s is reset on waking if it stood still for longer than %v, "+
			"not if for less", node, after),
		ask: func(q *inquiry) {
			for _, h := range q.run.halts(node) {
				q.cite(h.stop.N)
				if h.goOn.Action == nil {
					q.missing("%s never went on", node)
					continue
				}
				lasted := h.until().Sub(h.stop.At)
				reset, bitten := q.run.resetAfter(h)
				if bitten {
					q.cite(reset.N)
				}
				switch {
				case bitten && lasted < after-between:
					q.violated("%s was reset after %s", node, seconds(lasted))
				case !bitten && lasted > after+between:
					q.violated("%s was not reset after %s", node, seconds(lasted))
				case bitten:
					q.fact("reset after %s", seconds(lasted))
				default:
					q.fact("not after %s", seconds(lasted))
				}
			}
		},
	}
}

// resetAfter returns the reset that a halt has led to.
func (r *Run) resetAfter(h halted) (journal.Record, bool) {
	for _, record := range r.Records {
		if record.Kind == journal.KindEvent && record.Node == h.stop.Node &&
			record.Event.Name == eventReset && h.goOn.At <= record.At &&
			record.At <= h.until().Add(wakes) {
			return record, true
		}
	}
	return journal.Record{}, false
}

// Agreed asks whether, at the end, all nodes are members of one view and may commit.
func Agreed(nodes ...string) Check {
	return Check{
		Name: "agreed-at-the-end", Source: "spec 4",
		Claim: fmt.Sprintf("%v end in one view, joined and mutable", nodes),
		ask: func(q *inquiry) {
			if !q.watched() {
				return // the nodes may have been on their way there
			}
			digest := ""
			for _, node := range nodes {
				a, ok := q.pick(node, "GET", "/mesh", true, func(journal.Record) bool { return true })
				if !ok {
					return
				}
				status, ok := a.nodeRow()
				if !ok {
					q.violated("GET /mesh of %s has no node row", node)
					return
				}
				if digest == "" {
					digest = fieldOf(status, "digest")
				}
				q.want(node, status, "mesh=joined", "mutable=1", "digest="+digest)
				q.fact("%s at epoch %s", node, fieldOf(status, "epoch"))
			}
		},
	}
}

// StoppedServing asks whether a member that lost the authority stopped to commit, and said so in
// answers: what it was asked for later than a write lease after the last round trip was refused.
func StoppedServing(member, authority string) Check {
	return Check{
		Name: "refused-with-words", Source: "spec 9",
		Claim: fmt.Sprintf("cut off, %s answers commits to its own objects with a refusal, "+
			"not with silence", member),
		ask: func(q *inquiry) { q.stoppedServing(member, authority) },
	}
}

func (q *inquiry) stoppedServing(member, authority string) {
	removals := q.run.rows(authority, "mesh-fail", "removed")
	if len(removals) == 0 {
		q.missing("%s removed nobody", authority)
		return
	}
	until := removals[0].Seen
	f, ok := lastTrip(q.run.fresh(member, authority), q.run.fresh(authority, member), until)
	if !ok {
		q.missing("no frames passed before the removal")
		return
	}
	over := f.At.Add(writeLease + grain)
	words := make(map[string]int)
	for _, r := range q.run.Records {
		if r.Kind != journal.KindHTTP || r.Node != member || r.HTTP.Method != "PUT" ||
			r.HTTP.Sent < over || r.HTTP.Sent > until {
			continue
		}
		q.cite(r.N)
		switch {
		case r.HTTP.Status == 200 && r.HTTP.Header["home"] == q.run.ID(member).String():
			q.violated("%s accepted a commit %s after its lease", member,
				seconds(r.HTTP.Sent.Sub(over)))
		case r.HTTP.Status != 0:
			words[word(r.HTTP)]++
		}
	}
	if len(words) == 0 {
		q.missing("%s answered nothing between the end of its lease and its removal", member)
	}
	q.cite(f.N, removals[0].N)
	var counts []string
	for _, w := range slices.Sorted(maps.Keys(words)) {
		counts = append(counts, fmt.Sprintf("%s %d", w, words[w]))
	}
	q.fact("%s in %s", strings.Join(counts, ", "), seconds(until.Sub(over)))
}

// word is the word of a refusal.
func word(h *journal.HTTP) string {
	for i := range h.Body {
		if h.Body[i] == ':' || h.Body[i] == ' ' || h.Body[i] == '\n' {
			return h.Body[:i]
		}
	}
	return h.Body
}
