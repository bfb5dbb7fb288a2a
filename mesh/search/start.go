package search

import "holdfast/mesh"

// start is a working pair whose lease has just been renewed, with nothing on its way.
func (c *cast) start() world {
	quiet := newCast(Scope{OneClock: c.OneClock, Acks: c.Acks, Third: c.Third})
	w := world{t: -before}
	w.machines[root].marks = mesh.Marks{NeverRan: true}
	quiet.must(&w, action{kind: boot, m: root})
	quiet.must(&w, action{kind: boot, m: member})
	quiet.must(&w, action{kind: connect, m: member})
	if c.Third == Settled {
		quiet.must(&w, action{kind: boot, m: third})
		quiet.must(&w, action{kind: connect, m: third})
	}
	for {
		for m := range w.machines {
			if w.machines[m].mode == running {
				quiet.must(&w, action{kind: tick, m: uint8(m)})
			}
		}
		quiet.settle(&w)
		if w.t == 0 {
			break
		}
		quiet.must(&w, action{kind: advance})
	}
	w.begins = c.Early
	w.left = budget{events: uint8(c.Events), changes: uint8(c.Changes), resets: uint8(c.Resets),
		losses: uint8(c.Losses), moves: uint8(c.Moves), writes: uint8(c.Writes)}
	if c.Third == Newcomer || c.Third == Twin {
		w.left.boots = 1
	}
	return w
}

// must carries an action out of which nothing is lost.
func (c *cast) must(w *world, a action) {
	d := c.do(w, a, nil)
	if d.wrong != "" {
		panic("search: at the start " + d.wrong)
	}
	*w = d.outcome(0)
}

// settle delivers everything that is on its way.
func (c *cast) settle(w *world) {
	for again := true; again; {
		again = false
		for _, a := range c.actions(w, nil) {
			if a.kind == deliver || a.kind == drained {
				c.must(w, a)
				again = true
				break
			}
		}
	}
}
