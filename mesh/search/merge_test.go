package search

import (
	"slices"
	"testing"

	"holdfast/mesh/when"
)

// TestMergedStatesHaveTheSameFuture goes through small scopes, and whenever it reaches a state that
// it knows already it compares, action for action, what can follow the one and the other: the same
// must be possible and lead to the same states. So what canonical encodings leave out decides
// nothing.
func TestMergedStatesHaveTheSameFuture(t *testing.T) {
	for _, s := range []Scope{
		{Name: "changes", Seconds: 9, Changes: 2},
		{Name: "two sessions", Seconds: 10, Changes: 1, Sessions: 2},
		{Name: "loss", Seconds: 11, Loss: true},
		{Name: "late", Seconds: 12, Late: 1},
		{Name: "events", Seconds: 3, Events: 1, Commits: true, Slow: true},
		{Name: "removal", Seconds: 17, Events: 1, Early: true},
		{Name: "removal and a cut", Seconds: 9, Events: 1, Changes: 1, Early: true},
		{Name: "two removals", Seconds: 18, Changes: 2, Early: true},
		{Name: "late and lost", Seconds: 8, Late: 1, Loss: true},
		{Name: "late and one lost", Seconds: 10, Late: 1, Losses: 1},
		{Name: "move", Seconds: 6, Moves: 1, Changes: 1},
		{Name: "newcomer", Seconds: 9, Third: Newcomer},
		{Name: "twin", Seconds: 9, Third: Twin},
		{Name: "replicate", Seconds: 5, Writes: 2, Changes: 1, Within: 2 * when.Second},
		{Name: "replicate through events", Seconds: 14, Writes: 1, Events: 1, Early: true},
		{Name: "replicate among three", Seconds: 2, Writes: 1, Third: Settled},
		{Name: "without leases", Seconds: 14, Acks: true, Writes: 1, Changes: 1, Early: true},
	} {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			m := merger{t: t, cast: newCast(s), first: map[place]*world{}}
			m.run()
			if m.compared < 50 {
				t.Errorf("only %d merged states were compared: they prove nothing", m.compared)
			}
			t.Logf("%d states, %d merged ones compared", len(m.first), m.compared)
		})
	}
}

// place is what a search merges worlds by: a state, and what may still go wrong.
type place struct {
	key
	allowance int
}

func (m *merger) place(w *world) place { return place{m.keys.key(w), m.allowance(w)} }

type merger struct {
	t *testing.T
	*cast
	first    map[place]*world
	keys     keyer
	compared int
}

// A fair sample of the merged states is compared: those with a key that begins with less than
// sampled, until there are comparedMax.
const (
	sampled     = 48
	comparedMax = 2_000
)

func (m *merger) run() {
	w := m.start()
	level := []*world{&w}
	for len(level) > 0 && !m.t.Failed() {
		var next []*world
		for _, w := range level {
			for _, v := range m.following(w) {
				k := m.place(&v)
				known := m.first[k]
				switch {
				case known == nil && int(v.t/1000) <= m.Seconds:
					m.first[k] = &v
					next = append(next, &v)
				case known != nil && k.key[0] < sampled && m.compared < comparedMax:
					m.compare(known, &v)
				}
			}
		}
		level = next
	}
}

// following are all worlds that can follow w at once.
func (m *merger) following(w *world) []world {
	var all []world
	for _, a := range m.actions(w, nil) {
		d := m.do(w, a, nil)
		if d.wrong != "" {
			m.t.Fatal(d.wrong)
		}
		for lost := range d.outcomes() {
			if !d.may(uint16(lost)) {
				continue
			}
			w := d.outcome(uint16(lost))
			w.links = slices.Clone(w.links)
			all = append(all, w)
		}
	}
	return all
}

func (m *merger) compare(a, b *world) {
	m.compared++
	if x, y := m.actions(a, nil), m.actions(b, nil); !slices.Equal(x, y) {
		m.t.Errorf("after %d s and %d s: different actions: %v and %v", a.t/1000, b.t/1000, x, y)
		return
	}
	x, y := m.following(a), m.following(b)
	if len(x) != len(y) {
		m.t.Errorf("after %d s and %d s: %d and %d successors", a.t/1000, b.t/1000, len(x), len(y))
		return
	}
	for i := range x {
		if m.place(&x[i]) != m.place(&y[i]) || m.judge(&x[i]) != m.judge(&y[i]) {
			m.t.Errorf("after %d s and %d s: successor %d differs", a.t/1000, b.t/1000, i)
			return
		}
	}
}
