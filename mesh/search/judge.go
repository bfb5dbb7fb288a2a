package search

import (
	"fmt"

	"holdfast/mesh/timing"
)

// adrLeaseOver is an age of the latest frame at which the lease of the ADR is over.
const adrLeaseOver = timing.WriteLeaseMS + 1

// mayCommit reports whether a machine would commit an object if a client asked for it now.
func (c *cast) mayCommit(w *world, m, object int) bool {
	s := w.machines[m].node
	if s == nil || w.machines[m].mode != running {
		return false
	}
	now := w.counter(m)
	if from, holds, _ := s.look.Holds(c.objects[object].id); !holds || now < from {
		return false
	}
	if c.ADR && m != root {
		heard := w.machines[m].heard
		return heard != 0 && s.look.Joined() && now.Sub(heard) <= timing.WriteLeaseMS
	}
	_, may := s.look.MayCommit(now, secondAt(w.t))
	return may
}

// takes reports whether a machine would take a replicated commit of an object: where there are no
// leases, also without a right of its own.
func (c *cast) takes(w *world, m, object int) bool {
	s := w.machines[m].node
	if !c.Acks || m == root || s == nil || w.machines[m].mode != running {
		return c.mayCommit(w, m, object)
	}
	_, holds, _ := s.look.Holds(c.objects[object].id)
	return holds && s.look.TakesCommits(w.counter(m), secondAt(w.t))
}

// current reports whether a machine is in the authority's view, which alone lets anybody commit
// where there are no leases.
func (c *cast) current(w *world, m int) bool {
	a, b := w.machines[root].node, w.machines[m].node
	return a != nil && b != nil && a.view == b.view && a.epoch == b.epoch
}

// judge returns what must never be so, if it is: two homes of one object, or two views of one
// epoch.
func (c *cast) judge(w *world) string {
	for o := range c.objects {
		first := -1
		for i := range w.machines {
			switch {
			case !c.mayCommit(w, i, o):
			case first < 0:
				first = i
			default:
				return fmt.Sprintf("%s and %s may both commit %s", c.names[first], c.names[i],
					c.objects[o].name)
			}
		}
	}
	for i := range w.machines {
		for j := range i {
			a, b := w.machines[i].node, w.machines[j].node
			if a != nil && b != nil && a.epoch == b.epoch && a.view != b.view {
				return fmt.Sprintf("%s and %s have two views of epoch %d", c.names[j], c.names[i], a.epoch)
			}
		}
	}
	return c.judgeWrites(w)
}
