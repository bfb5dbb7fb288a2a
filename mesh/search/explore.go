package search

import (
	"slices"

	"holdfast/mesh/when"
)

// Result is what a search has found.
type Result struct {
	States      int  // different ones that were reached
	Transitions int  // that led to them, and to those known already
	Seconds     int  // of true time that were searched in full
	Closed      bool // no further second leads to anything new: the result holds for ever
	Stopped     bool // by whoever was told of the progress: no more than Seconds was searched

	Violation string // what must never be so, "" when nothing was found
	At        int    // in which second
	Script    string // the shortest way there, as a conversation
}

// explorer is a search under way. It goes through time second by second, and within a second
// through states in the order of the number of actions that lead there: what it finds first
// happens at the earliest time, and of those by the fewest actions.
//
// A state is reached at the earliest time possible, and time is not part of it: what was reached
// before is not gone through again, since all that can follow it does so in the time that is left.
type explorer struct {
	*cast
	seen   table[uint64] // by state, which allowances it was gone on from with, or could have been
	below  []uint64      // by allowance, all that are no more than it
	keys   keyer
	log    []origin
	second []batch // by number of actions
	next   []batch
	result Result

	steps []action // what can follow the state that is gone on from, kept for its memory

	visit func(*world) // is shown every state; nil for nobody

	progress func(Result) bool
	told     int // how many states there were when progress was told last
}

// reached is a world that has been reached for the first time.
type reached struct {
	world
	at int32 // its place in the log
}

// batch are worlds in the order in which they were reached. They are kept in blocks, which never
// move, and each of which is given up when it has been gone through.
type batch struct{ blocks [][]reached }

// blockMax is how many worlds a block has at most; the first ones are smaller.
const blockMax = 1 << 10

func (b *batch) add(r reached) {
	n := len(b.blocks)
	if n == 0 || len(b.blocks[n-1]) == cap(b.blocks[n-1]) {
		b.blocks = append(b.blocks, make([]reached, 0, min(blockMax, 8<<min(n, 10))))
		n++
	}
	b.blocks[n-1] = append(b.blocks[n-1], r)
}

// origin is how a world was reached: from which place in the log, and by what.
type origin struct {
	from int32
	by   action
}

// progressEvery is after how many new states progress is told.
const progressEvery = 1 << 15

// Run searches a scope. After every second, and at least every 32,768 states, it tells progress,
// unless that is nil, what it has found so far, and stops when the answer is that it should not go
// on.
func (s Scope) Run(progress func(Result) (goOn bool)) Result {
	if s.Seconds > SecondsMax {
		panic("search: a scope lasts too long")
	}
	x := &explorer{cast: newCast(s), below: s.allowances(), progress: progress}
	return x.run()
}

func (x *explorer) run() Result {
	w := x.start()
	x.reach(&w, -1, action{}, 0, &x.second)
	for t := 0; t <= x.Seconds; t++ {
		if !x.searchSecond(t == x.Seconds) {
			break
		}
		x.result.Seconds = t
		x.result.Closed = t < x.Seconds && len(x.next) == 0 && x.Writes == 0
		if x.tell(); x.result.Closed || x.result.Stopped {
			break
		}
		x.second, x.next = x.next, nil
	}
	return x.result
}

// searchSecond goes through the states of a second, and reports whether it came to its end.
func (x *explorer) searchSecond(last bool) bool {
	x.forget()
	for n := 0; n < len(x.second); n++ {
		for b := 0; b < len(x.second[n].blocks); b++ {
			block := x.second[n].blocks[b]
			for i := 0; i < len(block); i++ {
				x.expand(&block[i], n, last)
				if x.result.Violation != "" || x.result.Stopped {
					return false
				}
				block[i] = reached{} // nothing leads back here: its nodes need not be kept
			}
			x.second[n].blocks[b] = nil
		}
		x.second[n].blocks = nil
	}
	return true
}

// tell tells progress what has been found.
func (x *explorer) tell() {
	x.told = x.result.States
	if x.progress != nil && !x.progress(x.result) {
		x.result.Stopped = true
	}
}

// expand goes from a world, reached by n actions, to all that can follow. In the last second time
// does not go on.
func (x *explorer) expand(r *reached, n int, last bool) {
	x.steps = x.actions(&r.world, x.steps[:0])
	for _, a := range x.steps {
		to := &x.second
		if a.kind == advance {
			if last {
				continue
			}
			to = &x.next
		}
		if x.result.States-x.told >= progressEvery {
			x.tell()
		}
		d := x.do(&r.world, a, nil)
		if d.wrong != "" {
			x.found(r.at, a, d.wrong)
			return
		}
		for lost := range d.outcomes() {
			if a.lost = uint16(lost); !d.may(a.lost) {
				continue
			}
			w := d.outcome(a.lost)
			if wrong := x.reach(&w, r.at, a, n+1, to); wrong != "" {
				x.found(r.at, a, wrong)
				return
			}
		}
	}
}

// reach adds a world if it is new, and returns what is wrong with it.
func (x *explorer) reach(w *world, from int32, by action, n int, to *[]batch) string {
	x.result.Transitions++
	with := x.allowance(w)
	had := x.seen.at(x.keys.key(w))
	if *had&(1<<with) != 0 {
		return ""
	}
	*had |= x.below[with]
	x.result.States++
	w.links = slices.Clone(w.links) // until now they were the latest action's
	if x.visit != nil {
		x.visit(w)
	}
	if wrong := x.judge(w); wrong != "" {
		return wrong
	}
	x.log = append(x.log, origin{from, by})
	for len(*to) <= n {
		*to = append(*to, batch{})
	}
	(*to)[n].add(reached{*w, int32(len(x.log) - 1)})
	return ""
}

// found notes a violation and the way to it.
func (x *explorer) found(from int32, last action, wrong string) {
	as := []action{last}
	for ; x.log[from].from >= 0; from = x.log[from].from {
		as = append(as, x.log[from].by)
	}
	for i, j := 0, len(as)-1; i < j; i, j = i+1, j-1 {
		as[i], as[j] = as[j], as[i]
	}
	x.result.Violation = wrong
	for _, a := range as {
		if a.kind == advance {
			x.result.At++
		}
	}
	x.result.Script = x.script(as)
}

// before is how long the pair has been working when the search begins: longer than any silence or
// lease lasts, and a whole number of the periods in which a lease is asked for.
const before = 14 * when.Second
