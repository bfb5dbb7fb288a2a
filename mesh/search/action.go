package search

import "slices"

// action is one thing that happens.
type action struct {
	kind kind
	m    uint8  // the machine
	link uint8  // its place among the links
	end  uint8  // of the link; for a change both
	arg  uint8  // a passage, or an object
	lost uint16 // bit i: the i-th frame that is sent in this action is lost
}

const both = 2 // as an end

type kind uint8

const (
	advance kind = iota // the next second begins
	tick
	deliver // the first frame on its way to an end
	drained // what had arrived at the authority has been taken in
	written // marks are in the chip
	connect // an adapter opens a session
	down    // an end learns that the other one is gone

	// What is no node's doing.
	reset  // an end loses its session
	change // of the passage
	boot
	kill
	stop           // the counter goes on
	freeze         // the counter stands still
	stopInCommit   // after a commit is staged, before the clocks are read again
	freezeInCommit // the same, with the counter
	cont
	move // a lab step at the authority
	replicate
)

var kindNames = [...]string{"second", "tick", "deliver", "drained", "written", "connect", "down",
	"reset", "change", "boot", "kill", "stop", "freeze", "stop-in-commit", "freeze-in-commit", "cont",
	"move", "replicate"}

func (k kind) String() string { return kindNames[k] }

// fault reports whether the kind is something that goes wrong, or ends, or is asked for, and not
// what nodes and networks do by themselves.
func (k kind) fault() bool { return k >= reset }

// actions appends everything that can happen next in w.
func (c *cast) actions(w *world, to []action) []action {
	n := len(to)
	to = c.allActions(w, to)
	if !c.Early || w.begins {
		return to
	}
	late := slices.DeleteFunc(to[n:], func(a action) bool { return a.kind.fault() })
	return to[:n+len(late)]
}

func (c *cast) allActions(w *world, to []action) []action {
	done := true // with this second
	for i := range w.machines {
		m := &w.machines[i]
		to = c.machineActions(w, i, to)
		done = done && (m.mode != running || m.ticked && !c.dials(w, i))
	}
	for i := range w.links {
		to = c.linkActions(w, i, to)
		done = done && !c.hurried(w, &w.links[i])
	}
	if w.left.moves > 0 && w.machines[root].mode == running {
		to = append(to, action{kind: move})
	}
	if done {
		to = append(to, action{kind: advance})
	}
	return to
}

func (c *cast) machineActions(w *world, i int, to []action) []action {
	m := &w.machines[i]
	add := func(k kind) { to = append(to, action{kind: k, m: uint8(i)}) }
	switch m.mode {
	case off:
		if i != third || w.left.boots > 0 || m.boots > 0 {
			add(boot)
		}
		return to
	case stopped, frozen:
		add(cont)
		return to
	}
	if !m.ticked {
		add(tick)
	}
	if m.writing {
		add(written)
	}
	if i != root && c.mayConnect(w, i) {
		add(connect)
	}
	to = c.writeActions(w, i, to)
	if w.left.events == 0 {
		return to
	}
	add(kill)
	add(stop)
	add(freeze)
	if c.Commits {
		for o := range c.objects {
			if c.mayCommit(w, i, o) {
				to = append(to, action{kind: stopInCommit, m: uint8(i), arg: uint8(o)},
					action{kind: freezeInCommit, m: uint8(i), arg: uint8(o)})
			}
		}
	}
	return to
}

// writeActions: a client asks a home for a replicated commit. It asks no other node: that one would
// refuse at once, or pass the request on.
func (c *cast) writeActions(w *world, i int, to []action) []action {
	if w.left.writes == 0 {
		return to
	}
	for o := range c.objects {
		if (w.writes.asked == 0 || int(w.writes.object) == o) && c.takes(w, i, o) {
			to = append(to, action{kind: replicate, m: uint8(i), arg: uint8(o)})
		}
	}
	return to
}

// mayConnect: an adapter dials while it has no session, and once more when the node says so.
func (c *cast) mayConnect(w *world, m int) bool {
	n := w.opens(m)
	return w.machines[root].mode == running &&
		(n == 0 || n == 1 && c.Sessions > 1 && w.machines[m].dialling)
}

// dials reports whether an adapter has to get its session before the second is over: nothing on the
// way to the authority keeps it from that.
func (c *cast) dials(w *world, m int) bool {
	if m == root || c.Late > 0 || !c.mayConnect(w, m) {
		return false
	}
	for i := range w.links {
		l := &w.links[i]
		if int(l.peer) == m && (l.ends[atRoot].does != pass || l.ends[atPeer].does != pass) {
			return false
		}
	}
	return true
}

func (c *cast) linkActions(w *world, i int, to []action) []action {
	l := &w.links[i]
	if w.left.changes > 0 {
		to = changes(l, uint8(i), to)
	}
	if l.drain && w.machines[root].mode == running {
		to = append(to, action{kind: drained, link: uint8(i)})
	}
	for e := range l.ends {
		m := l.machineAt(e)
		if !l.ends[e].open || w.machines[m].mode != running {
			continue
		}
		a := action{m: uint8(m), link: uint8(i), end: uint8(e)}
		if len(l.ends[e].queue) > 0 && l.ends[e].does != hold {
			a.kind = deliver
			to = append(to, a)
		}
		switch {
		case !l.ends[1-e].open && (c.Late > 0 || w.machines[l.machineAt(1-e)].mode == running):
			a.kind = down
			to = append(to, a)
		case w.left.resets > 0 && l.ends[1-e].open:
			a.kind = reset
			to = append(to, a)
		}
	}
	return to
}

// hurried reports whether something has to happen on a link before the second is over.
func (c *cast) hurried(w *world, l *link) bool {
	if l.drain && w.machines[root].mode == running {
		return true
	}
	for e := range l.ends {
		end := &l.ends[e]
		if end.open && end.does != hold && len(end.queue) > c.Late &&
			w.machines[l.machineAt(e)].mode == running {
			return true
		}
		if end.open && !l.ends[1-e].open && c.Late == 0 && end.does == pass &&
			w.machines[l.machineAt(e)].mode == running &&
			w.machines[l.machineAt(1-e)].mode == running {
			return true
		}
	}
	return false
}

// changes are what the network can do to a session from now on, in one direction or in both. What
// is held is not lost afterwards: it might have been lost at once.
func changes(l *link, i uint8, to []action) []action {
	for p := pass; p <= lose; p++ {
		for which := range uint8(both + 1) {
			possible, useful := true, false
			for e := range uint8(len(l.ends)) {
				if which != both && which != e {
					continue
				}
				end := &l.ends[e]
				possible = possible && end.open && !(end.does == hold && p == lose)
				useful = useful || end.does != p
			}
			if possible && useful {
				to = append(to, action{kind: change, link: i, end: which, arg: uint8(p)})
			}
		}
	}
	return to
}
