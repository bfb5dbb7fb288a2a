package node

import (
	"slices"
	"testing"
	"time"

	"holdfast/mesh/id"
)

// spell is a time without interruption, to excluded. It is empty unless from is before to.
type spell struct{ from, to time.Duration }

// history is when a node could commit, to each object of the lab.
type history [id.LabObjects]record

// record is spells in order, none touching the next.
type record struct {
	past    []spell
	current spell // until it is over, or something happens
}

// next notes that something has happened at an instant, and what holds from then on.
func (r *record) next(at time.Duration, s spell) {
	past := spell{r.current.from, min(r.current.to, at)}
	r.current = s
	if past.from >= past.to {
		return
	}
	if n := len(r.past); n > 0 && r.past[n-1].to == past.from {
		r.past[n-1].to = past.to
		return
	}
	r.past = append(r.past, past)
}

// covers reports whether an instant lies in one of the spells.
func (r *record) covers(at time.Duration) bool {
	for _, s := range r.past {
		if s.from <= at && at < s.to {
			return true
		}
	}
	return false
}

// overlap is for how long two nodes could both commit to one object, the one for which it is worst.
func overlap(a, b *history) (worst time.Duration) {
	for i := range a {
		var both time.Duration
		for _, x := range a[i].past {
			for _, y := range b[i].past {
				both += max(0, min(x.to, y.to)-max(x.from, y.from))
			}
		}
		worst = max(worst, both)
	}
	return worst
}

// slack is the least time from when one node could no longer commit to an object until the other
// one could: negative when the other began before. It is not ok when no object went that way.
func slack(from, to *history) (least time.Duration, ok bool) {
	for i := range from {
		for _, taken := range to[i].past {
			for _, given := range slices.Backward(from[i].past) {
				if given.from > taken.from {
					continue
				}
				if gap := taken.from - given.to; !ok || gap < least {
					least, ok = gap, true
				}
				break
			}
		}
	}
	return least, ok
}

// spells is a record of seconds: 0, 6, 8, 9 is from 0 to 6 and from 8 to 9.
func spells(seconds ...time.Duration) (r record) {
	for pair := range slices.Chunk(seconds, 2) {
		r.past = append(r.past, spell{pair[0] * time.Second, pair[1] * time.Second})
	}
	return r
}

func TestARecordEndsASpellWhenItIsOverOrWhenSomethingHappens(t *testing.T) {
	type event struct{ at, from, to time.Duration } // in seconds
	for name, c := range map[string]struct {
		events []event
		want   record
	}{
		"nothing":               {[]event{{0, 0, 0}, {9, 0, 0}}, spells()},
		"over by itself":        {[]event{{0, 0, 6}, {9, 0, 0}}, spells(0, 6)},
		"over by an event":      {[]event{{0, 0, 6}, {4, 0, 0}}, spells(0, 4)},
		"prolonged":             {[]event{{0, 0, 6}, {4, 4, 10}, {20, 0, 0}}, spells(0, 10)},
		"prolonged at its end":  {[]event{{0, 0, 6}, {6, 6, 7}, {20, 0, 0}}, spells(0, 7)},
		"prolonged too late":    {[]event{{0, 0, 6}, {7, 7, 10}, {20, 0, 0}}, spells(0, 6, 7, 10)},
		"shortened":             {[]event{{0, 0, 6}, {1, 1, 3}, {20, 0, 0}}, spells(0, 3)},
		"begins later":          {[]event{{0, 5, 6}, {20, 0, 0}}, spells(5, 6)},
		"ended before it began": {[]event{{0, 5, 6}, {4, 0, 0}, {20, 0, 0}}, spells()},
		"put off":               {[]event{{0, 5, 6}, {4, 8, 9}, {20, 0, 0}}, spells(8, 9)},
	} {
		var r record
		for _, e := range c.events {
			r.next(e.at*time.Second, spell{e.from * time.Second, e.to * time.Second})
		}
		if !slices.Equal(r.past, c.want.past) {
			t.Errorf("%s: %v, want %v", name, r.past, c.want.past)
		}
	}
}

func TestARecordCoversItsBeginningAndNotItsEnd(t *testing.T) {
	r := spells(1, 3, 5, 6)
	for at, want := range map[time.Duration]bool{
		time.Second - 1: false, time.Second: true, 3*time.Second - 1: true, 3 * time.Second: false,
		5 * time.Second: true, 6 * time.Second: false,
	} {
		if r.covers(at) != want {
			t.Errorf("%v is covered: %v", at, !want)
		}
	}
}

func TestTheJudgeMeasuresOverlapAndSlack(t *testing.T) {
	const none = -99
	for name, c := range map[string]struct {
		from, to       record
		overlap, slack time.Duration // in seconds; none: nothing changed hands
	}{
		"never":                  {spells(), spells(), 0, none},
		"one home":               {spells(0, 9), spells(), 0, none},
		"taken first":            {spells(5, 9), spells(0, 4), 0, none},
		"handed over":            {spells(0, 6), spells(12, 20), 0, 6},
		"at once":                {spells(0, 6), spells(6, 20), 0, 0},
		"too early":              {spells(0, 17), spells(12, 20), 5, -5},
		"within":                 {spells(0, 17), spells(12, 13), 1, -5},
		"both begin":             {spells(1, 3), spells(1, 2), 1, -2},
		"the last of several":    {spells(0, 6, 7, 9), spells(12, 20), 0, 3},
		"to and fro":             {spells(0, 6, 21, 30), spells(12, 20), 0, 6},
		"the second is tighter":  {spells(0, 6, 21, 30), spells(12, 20, 31, 40), 0, 1},
		"overlaps are summed up": {spells(0, 6, 10, 16), spells(5, 11), 2, -1},
	} {
		a, b := history{2: c.from}, history{2: c.to}
		if got := overlap(&a, &b); got != c.overlap*time.Second || got != overlap(&b, &a) {
			t.Errorf("%s: overlap %v, want %d s", name, got, c.overlap)
		}
		got, ok := slack(&a, &b)
		if ok != (c.slack != none) || ok && got != c.slack*time.Second {
			t.Errorf("%s: slack %v %v, want %d s", name, got, ok, c.slack)
		}
	}
}

func TestTheJudgeTakesTheWorstObject(t *testing.T) {
	a := history{spells(0, 6), spells(0, 7), spells(0, 7)}
	b := history{spells(12, 20), spells(6, 20), spells(5, 20)}
	if got := overlap(&a, &b); got != 2*time.Second {
		t.Errorf("overlap %v", got)
	}
	if got, ok := slack(&a, &b); !ok || got != -2*time.Second {
		t.Errorf("slack %v %v", got, ok)
	}
}
