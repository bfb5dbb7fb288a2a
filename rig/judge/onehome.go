package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"holdfast/mesh/id"
)

// OneHome asks whether at most one node acted as the home of an object at any instant, as far as
// the answers to the traffic can tell: see history.go for what they can.
func OneHome() Check {
	return Check{
		Name: "one-home", Source: "spec 9",
		Claim: "no two nodes acted as the home of one object at one instant, by the rig's clock: " +
			"a term has one home, and none acts in a term after one has in a later term",
		ask: (*inquiry).oneHome,
	}
}

func (q *inquiry) oneHome() {
	history := q.history()
	if len(history) == 0 {
		q.missing("no request for an object was answered with ok")
		return
	}
	changes := 0
	for _, terms := range termsOf(history) {
		for _, t := range terms {
			q.oneHolder(t)
		}
		for i, earlier := range terms {
			for _, later := range terms[i+1:] {
				q.inOrder(earlier, later)
			}
		}
		changes += len(terms) - 1
	}
	q.watched()
	q.found = q.found[:0] // one for each pair of terms says too much; the margin is the tightest
	q.fact("%d acts of homes, %d changes of a home", len(history), changes)
}

// term is what was done to an object under one home epoch, in the order of the answers.
type term struct {
	object string
	epoch  id.Epoch
	acts   []done
}

// termsOf sorts a history into the terms of each object, objects by name and earlier terms first.
func termsOf(history []done) [][]term {
	byObject := make(map[string]map[id.Epoch]term)
	for _, d := range history {
		if byObject[d.object] == nil {
			byObject[d.object] = make(map[id.Epoch]term)
		}
		t := byObject[d.object][d.homeEpoch]
		t.object, t.epoch, t.acts = d.object, d.homeEpoch, append(t.acts, d)
		byObject[d.object][d.homeEpoch] = t
	}
	var all [][]term
	for _, object := range slices.Sorted(maps.Keys(byObject)) {
		terms := slices.SortedFunc(maps.Values(byObject[object]), func(a, b term) int {
			return cmp.Compare(a.epoch, b.epoch)
		})
		all = append(all, terms)
	}
	return all
}

// oneHolder violates when a term has two homes.
func (q *inquiry) oneHolder(t term) {
	first, local := t.acts[0], -1 // an act of which boot and machine are known
	for i, d := range t.acts {
		switch {
		case d.home != first.home:
			q.clash(first, d, "one is by %s, the other by %s", q.run.Name(first.home),
				q.run.Name(d.home))
			return
		case !d.local():
		case local < 0:
			local = i
		case d.node != t.acts[local].node || d.boot != t.acts[local].boot:
			q.clash(t.acts[local], d, "one is by %s in boot %s, the other by %s in boot %s",
				t.acts[local].node, t.acts[local].boot, d.node, d.boot)
			return
		}
	}
}

// clash says that two acts show two homes.
func (q *inquiry) clash(a, b done, format string, args ...any) {
	q.cite(a.n, b.n)
	q.violated("%s under home epoch %v: %s and %s: %s", a.object, a.homeEpoch, a.what(), b.what(),
		fmt.Sprintf(format, args...))
}

// inOrder violates when something in the earlier of two terms was begun after something in the
// later one was answered.
func (q *inquiry) inOrder(earlier, later term) {
	last := slices.MaxFunc(earlier.acts, func(a, b done) int { return cmp.Compare(a.from, b.from) })
	first := slices.MinFunc(later.acts, func(a, b done) int { return cmp.Compare(a.to, b.to) })
	q.cite(last.n, first.n)
	q.margin(fmt.Sprintf("%s: the last request of home epoch %v came, from the first answer of %v,",
		earlier.object, earlier.epoch, later.epoch), last.from.Sub(first.to), 0,
		-q.run.EndAt.Sub(0), 0)
}

// Ordered asks whether a home kept its word within a term: versions grow, none stands for two
// values, and a read sees what was answered before it was asked for.
func Ordered() Check {
	return Check{
		Name: "commits-ordered", Source: "spec 5",
		Claim: "within a term versions grow, none is used twice, " +
			"and a read sees every commit that was answered before it was asked for",
		ask: (*inquiry).ordered,
	}
}

func (q *inquiry) ordered() {
	commits, reads := 0, 0
	for _, terms := range termsOf(q.history()) {
		for _, t := range terms {
			c, r := q.grows(t)
			commits, reads = commits+c, reads+r
		}
	}
	if commits == 0 || reads == 0 {
		q.missing("%d commits and %d reads were answered with ok", commits, reads)
	}
	q.watched()
	q.fact("%d commits, %d reads", commits, reads)
}

// grows checks one term and counts what it has.
func (q *inquiry) grows(t term) (commits, reads int) {
	wrong := func(a, b done, why string) {
		q.cite(a.n, b.n)
		q.violated("%s under home epoch %v: %s and %s: %s", t.object, t.epoch, a.what(), b.what(), why)
	}
	q.cite(t.acts[0].n, t.acts[len(t.acts)-1].n)
	made := make(map[uint64]done)
	var newest *done // of the commits answered so far that has the highest version
	acts := slices.SortedFunc(slices.Values(t.acts), func(a, b done) int {
		return cmp.Compare(a.from, b.from)
	})
	answered := slices.Clone(t.acts)
	slices.SortFunc(answered, func(a, b done) int { return cmp.Compare(a.to, b.to) })
	for _, d := range acts {
		for len(answered) > 0 && answered[0].to < d.from {
			if a := answered[0]; a.commit && (newest == nil || a.version > newest.version) {
				newest = &a
			}
			answered = answered[1:]
		}
		if !d.commit {
			reads++
			if newest != nil && d.version < newest.version {
				wrong(*newest, d, "the read is stale")
			}
			continue
		}
		commits++
		if newest != nil && d.version < newest.version {
			wrong(*newest, d, "the version falls")
		}
		if other, used := made[d.version]; used {
			wrong(other, d, "one version was made twice")
		}
		made[d.version] = d
	}
	for _, d := range acts {
		if c, known := made[d.version]; known && !d.commit && c.value != d.value {
			wrong(c, d, fmt.Sprintf("the read gives %q", d.value))
		}
	}
	return commits, reads
}
