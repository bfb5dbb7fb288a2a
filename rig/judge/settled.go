package judge

import (
	"fmt"
	"slices"

	"holdfast/mesh/refusal"
	"holdfast/rig/journal"
)

// UnderWay begins the value of a commit whose home is killed before it has answered.
const UnderWay = "under way at "

// Settled asks what has become of a commit whose home was killed before it answered: with made, all
// who read the object afterwards, until somebody commits to it again, find the value, and else
// nobody does. Each of the readers has to have read it, and whoever is asked for the same commit
// again, under its name, answers what has become of it.
func Settled(home string, made bool, readers ...string) Check {
	outcome := "nowhere"
	if made {
		outcome = "everywhere"
	}
	return Check{
		Name: "settled", Source: "spec 5",
		Claim: fmt.Sprintf("the commit that was under way when %s was killed has been made %s, by every "+
			"answer of %v", home, outcome, readers),
		ask: func(q *inquiry) { q.settled(home, made, readers) },
	}
}

func (q *inquiry) settled(home string, made bool, readers []string) {
	wishes := q.run.wishes()
	at := slices.IndexFunc(wishes, func(w *wish) bool { return w.value == UnderWay+home })
	kills := q.run.actions(home, journal.ActionKill)
	if at < 0 || len(kills) == 0 {
		q.missing("no commit was under way when %s was killed", home)
		return
	}
	w, killed := wishes[at], q.run.done(kills[0])
	first := w.requests[0]
	q.cite(first.N, kills[0].N)
	if first.HTTP.Status != 0 || first.HTTP.Sent > kills[0].At {
		q.missing("%s was not killed while the commit was under way: it was answered with %d", home,
			first.HTTP.Status)
		return
	}
	until := q.run.EndAt // of what the commit decides about the object
	for _, next := range wishes[at+1:] {
		if next.object == w.object {
			until = min(until, next.requests[0].HTTP.Sent)
		}
	}
	read := make(map[string]int)
	for _, d := range append(q.history(), q.nothings()...) {
		if d.commit || d.object != w.object || d.from < killed || d.to > until {
			continue
		}
		q.cite(d.n)
		read[d.node]++
		if found := d.value == w.value; found != made {
			q.violated("%s gives %q", d.what(), d.value)
		}
	}
	for _, node := range readers {
		if read[node] == 0 {
			q.missing("%s did not read %s before its next commit", node, w.object)
		}
	}
	q.askedAgain(w, made)
	q.fact("read %d times", total(read))
}

// askedAgain violates when somebody who was asked for a commit again answers otherwise than what
// has become of it.
func (q *inquiry) askedAgain(w *wish, made bool) {
	for _, r := range w.requests[1:] {
		q.cite(r.N)
		switch h := r.HTTP; {
		case h.Status == 0 || h.Error != "":
			q.missing("%s did not answer when it was asked again", r.Node)
		case made && h.Status == 200:
			q.fact("asked again, %s said ok", r.Node)
		case !made && word(h) == refusal.UnknownOutcome.String():
			q.fact("asked again, %s said %s", r.Node, word(h))
		default:
			q.violated("asked again, %s answered %d %s", r.Node, h.Status, word(h))
		}
	}
	if len(w.requests) == 1 {
		q.missing("nobody was asked for the commit again")
	}
}

func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}
