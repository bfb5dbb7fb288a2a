package search

import (
	"fmt"
	"math/bits"

	"holdfast/mesh/timing"
)

// adrLeaseOver is an age of the latest frame at which the lease of the ADR is over.
const adrLeaseOver = timing.WriteLeaseMS + 1

// mayCommit reports whether a machine would commit an object if a client asked for it now.
func (c *cast) mayCommit(w *world, m, object int) bool {
	return c.rightsOf(w, m).may&(1<<object) != 0
}

// takes reports whether a machine would take a replicated commit of an object: where there are no
// leases, also without a right of its own.
func (c *cast) takes(w *world, m, object int) bool {
	return c.rightsOf(w, m).takes&(1<<object) != 0
}

// rights are the objects that a node may commit, and that it takes commits of: bit i is the i-th.
type rights struct{ may, takes uint64 }

// rightsOf are the rights of a machine now. All worlds of a second in which its node is in the same
// state share them, but by the lease of the ADR: that one counts from what the machine heard.
func (c *cast) rightsOf(w *world, m int) rights {
	s := w.machines[m].node
	if s == nil || w.machines[m].mode != running {
		return rights{}
	}
	if t := (stepTime{w.t, w.counter(m)}); c.ADR || !s.judged || s.rightsAt != t {
		s.rights, s.rightsAt, s.judged = c.askRights(w, m), t, true
	}
	return s.rights
}

func (c *cast) askRights(w *world, m int) (r rights) {
	s, now, second := w.machines[m].node, w.counter(m), secondAt(w.t)
	_, may := s.look.MayCommit(now, second)
	if c.ADR && m != root {
		heard := w.machines[m].heard
		may = heard != 0 && s.look.Joined() && now.Sub(heard) <= timing.WriteLeaseMS
	}
	takes := c.Acks && m != root && s.look.TakesCommits(now, second)
	for o := range c.objects {
		from, holds, _ := s.look.Holds(c.objects[o].id)
		if holds && may && now >= from {
			r.may |= 1 << o
		}
		if holds && takes {
			r.takes |= 1 << o
		}
	}
	if !c.Acks || m == root {
		r.takes = r.may
	}
	return r
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
	var homes [machinesMax]uint64
	for i := range w.machines {
		homes[i] = c.rightsOf(w, i).may
		for j := range i {
			if two := homes[i] & homes[j]; two != 0 {
				return fmt.Sprintf("%s and %s may both commit %s", c.names[j], c.names[i],
					c.objects[bits.TrailingZeros64(two)].name)
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
