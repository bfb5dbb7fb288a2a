package search

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"holdfast/mesh/when"
)

func TestAnAllowanceIsWithinAnotherWhenItIsNoGreaterInAnything(t *testing.T) {
	s := Scope{Events: 2, Changes: 1, Early: true}
	c := newCast(s)
	var all []world
	for e := range uint8(3) {
		for n := range uint8(2) {
			for _, b := range []bool{false, true} {
				all = append(all, world{left: budget{events: e, changes: n}, begins: b})
			}
		}
	}
	below, seen := s.allowances(), map[int]bool{}
	for i := range all {
		a := &all[i]
		seen[c.allowance(a)] = true
		for j := range all {
			b := &all[j]
			want := b.left.events <= a.left.events && b.left.changes <= a.left.changes &&
				(a.begins || !b.begins)
			if got := below[c.allowance(a)]&(1<<c.allowance(b)) != 0; got != want {
				t.Errorf("%+v %v within %+v %v: %v", b.left, b.begins, a.left, a.begins, got)
			}
		}
	}
	if len(seen) != len(all) || len(below) != len(all) {
		t.Errorf("%d numbers, %d places for %d allowances", len(seen), len(below), len(all))
	}
}

// TestAllowancesLeaveNothingOut goes through small scopes twice, once with every allowance of every
// state, and compares all that is judged: what machines hold and may commit, at the same instant.
func TestAllowancesLeaveNothingOut(t *testing.T) {
	for _, s := range []Scope{
		{Name: "changes", Seconds: 9, Changes: 3},
		{Name: "events", Seconds: 2, Events: 2, Commits: true, Slow: true},
		{Name: "everything", Seconds: 2, Events: 2, Changes: 2, Early: true},
		{Name: "two sessions", Seconds: 6, Sessions: 2, Changes: 2, Resets: 1, Early: true},
		{Name: "losses", Seconds: 9, Late: 1, Losses: 2},
		{Name: "move", Seconds: 8, Moves: 1, Changes: 1, Early: true},
		{Name: "replicate", Seconds: 4, Writes: 2, Changes: 2, Within: 2 * when.Second, Early: true},
		{Name: "the ADR", Seconds: 12, Changes: 2, Early: true, ADR: true},
		{Name: "one clock", Seconds: 12, Events: 1, Early: true, OneClock: true},
	} {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			some, few := judged(s, s.allowances())
			alone := s.allowances()
			for i := range alone {
				alone[i] = 1 << i
			}
			all, many := judged(s, alone)
			if some.At != all.At || some.Violation != all.Violation || some.Seconds != all.Seconds {
				t.Errorf("second %d: %q, and with every allowance second %d: %q", some.At,
					some.Violation, all.At, all.Violation)
			}
			if some.Violation == "" && !maps.Equal(few, many) {
				t.Errorf("%d different judgements of %d", len(few), len(many))
			}
			if some.States > all.States || s.Changes > 1 && some.States == all.States {
				t.Errorf("%d states instead of %d: nothing is left out", some.States, all.States)
			}
			t.Logf("%d states instead of %d, %d judgements", some.States, all.States, len(few))
		})
	}
}

// judged searches a scope, and tells everything that was judged on the way.
func judged(s Scope, below []uint64) (Result, map[string]bool) {
	x := &explorer{cast: newCast(s), below: below}
	seen := map[string]bool{}
	x.visit = func(w *world) {
		text := fmt.Sprint(w.writes)
		for m := range w.machines {
			n := w.machines[m].node
			if n == nil {
				text += " off"
				continue
			}
			text += fmt.Sprintf(" %d %x", n.epoch, n.view)
			for o := range x.objects {
				epoch, version, digest := n.look.Newest(x.objects[o].id)
				text += fmt.Sprint(x.mayCommit(w, m, o), epoch, version, slices.Max(digest[:]))
			}
		}
		seen[text] = true
	}
	return x.run(), seen
}
