package main

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/mesh/sim"
)

// The history of a world of failovers has to be that of a register for each object: every act takes
// place at one instant between its call and its return. A commit makes a higher version, a read
// finds the newest one. A commit without an answer may have been made at any time after its call,
// or never. What was committed in a view of one may be lost with its home, down to the newest
// version that others held: its answer said so.

// searchTime bounds the search for an order, for each object.
const searchTime = time.Minute

// version is one of an object, with the request whose value it has.
type version struct {
	number uint64
	writer int
	seq    uint64
}

// The state is the newest version that cannot be lost, and behind it those that can.
var model = porcupine.Model{
	Init: func() any { return []version{{}} },
	Step: func(state, input, _ any) (bool, any) {
		s, a := state.([]version), input.(sim.Act)
		is := version{a.Version, a.Writer, a.Seq}
		switch {
		case !a.Commit && a.Version == 0:
			return s[0].number == 0, s[:1]
		case !a.Commit:
			i := slices.Index(s, is)
			return i >= 0, s[:i+1]
		case a.Vague && a.Version <= s[len(s)-1].number:
			return true, s
		case a.Version <= s[0].number:
			return false, s
		case !a.Alone:
			return true, []version{is}
		}
		below := slices.IndexFunc(s, func(v version) bool { return v.number >= a.Version })
		if below < 0 {
			below = len(s)
		}
		return true, append(slices.Clone(s[:below]), is)
	},
	Equal: func(a, b any) bool { return slices.Equal(a.([]version), b.([]version)) },
}

// broken names the objects whose history is not that of a register, or about which the search did
// not come to an end.
func broken(acts []sim.Act) []string {
	type part struct {
		object string
		era    int64
	}
	parts := make(map[part][]porcupine.Operation)
	for _, a := range acts {
		p := part{a.Object, a.Era}
		parts[p] = append(parts[p], porcupine.Operation{ClientId: a.Client, Input: a,
			Call: int64(a.Call), Return: int64(a.Return)})
	}
	var names []string
	for p, history := range parts {
		if porcupine.CheckOperationsTimeout(model, history, searchTime) != porcupine.Ok {
			names = append(names, p.object)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
