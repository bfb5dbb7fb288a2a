package search

// What may still go wrong in a world is its allowance. It is no part of the state: whatever can
// follow a state with an allowance can follow the same state with a greater one, since nothing has
// to go wrong. So a state is not gone through again that was reached before with an allowance at
// least as great in everything.
//
// The allowances of a scope are numbered, as the digits of a number, each with as many values as
// there can be.

// digits are the values that the parts of an allowance can have: how many there are of each.
func (s *Scope) digits() [6]int {
	return [...]int{1 + s.Events, 1 + s.Changes, 1 + s.Resets, 1 + s.Losses, 1 + s.Moves,
		1 + int(bit(s.Early))}
}

// allowance is the number of what may still go wrong in w.
func (c *cast) allowance(w *world) int {
	values := [...]int{int(w.left.events), int(w.left.changes), int(w.left.resets), int(w.left.losses),
		int(w.left.moves), int(bit(w.begins))}
	n := 0
	for i, of := range c.digits() {
		n = n*of + values[i]
	}
	return n
}

// allowances returns, for every allowance, which ones are no greater in anything: bit i is the i-th
// one.
func (s *Scope) allowances() []uint64 {
	digits, all := s.digits(), 1
	for _, of := range digits {
		all *= of
	}
	if all > 64 {
		panic("search: a scope allows too many kinds of trouble")
	}
	below := make([]uint64, all)
	for n := range below {
		for m := range below {
			if s.within(m, n) {
				below[n] |= 1 << m
			}
		}
	}
	return below
}

// within reports whether the allowance m is no greater than n in anything.
func (s *Scope) within(m, n int) bool {
	digits := s.digits()
	for i := len(digits) - 1; i >= 0; i-- {
		if m%digits[i] > n%digits[i] {
			return false
		}
		m, n = m/digits[i], n/digits[i]
	}
	return true
}
