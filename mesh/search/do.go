package search

import (
	"fmt"
	"math/bits"

	"holdfast/mesh"
	"holdfast/mesh/when"
)

// doing carries one action out on a copy of a world: it is the adapter of every node.
type doing struct {
	c     *cast
	w     world
	sends []sent
	wrong string
	say   func(m int, line string) // of evidence; nil when nobody listens
	after []link                   // memory for the links of its outcomes
}

// sent is a frame that leaves in this action. Which of them are lost is decided afterwards.
type sent struct {
	session mesh.Session
	end     int
	frame   *frame
}

// do carries out a, and returns what came of it, which is good until the next action is carried
// out. A panic of a node is a violation like any other.
func (c *cast) do(w *world, a action, say func(m int, line string)) (d *doing) {
	d = &c.doing
	links := append(d.w.links[:0], w.links...)
	*d = doing{c: c, w: *w, say: say, sends: d.sends[:0], after: d.after}
	d.w.links = links
	defer func() {
		if r := recover(); r != nil {
			d.wrong = fmt.Sprintf("%s panics: %v", c.names[a.m], r)
		}
	}()
	d.w.begins = c.Early && (a.kind == advance || d.w.begins && a.kind.fault())
	i := int(a.m)
	m := &d.w.machines[i]
	switch a.kind {
	case advance:
		d.advance()
	case tick:
		m.ticked = true
		d.step(i, input{kind: inTick})
	case written:
		d.written(i)
	case boot:
		d.boot(i)
	case kill:
		d.w.left.events--
		d.kill(i)
	case stop, freeze, stopInCommit, freezeInCommit:
		d.w.left.events--
		d.pause(i, a)
	case cont:
		d.cont(i)
	case connect:
		d.connect(i)
	case move:
		d.w.left.moves--
		d.step(root, input{kind: inMove})
	case replicate:
		d.replicate(i, a.arg)
	default:
		d.onLink(i, &d.w.links[a.link], a)
	}
	return d
}

func (d *doing) onLink(i int, l *link, a action) {
	switch a.kind {
	case deliver:
		d.deliver(i, l, int(a.end))
	case drained:
		l.drain = false
		d.step(root, input{kind: inDrained, session: l.id})
	case reset:
		d.w.left.resets--
		d.drop(l.id, int(a.end))
	case down:
		d.drop(l.id, int(a.end))
	case change:
		d.w.left.changes--
		for e := range l.ends {
			if a.end == both || int(a.end) == e {
				l.ends[e].does = passage(a.arg)
			}
		}
	}
}

// deliver hands in the first frame on its way to an end, or, when none may be lost or late, all.
func (d *doing) deliver(m int, l *link, e int) {
	session, queue := l.id, l.ends[e].queue
	n := len(queue)
	if d.c.Loss || d.c.Losses > 0 || d.c.Late > 0 {
		n = 1
	}
	l.ends[e].queue = queue[n:]
	if d.c.ADR && m != root {
		d.w.machines[m].heard = d.w.counter(m)
	}
	for _, f := range queue[:n] {
		if i := d.w.find(session); i < 0 || !d.w.links[i].ends[e].open {
			return // the node has closed it
		}
		d.step(m, input{kind: inFrame, session: session, frame: f})
	}
}

func (d *doing) advance() {
	d.w.t += when.Second
	for i := range d.w.machines {
		m := &d.w.machines[i]
		m.ticked = false
		if m.mode == frozen {
			m.base += when.Second
		}
	}
}

// step lets a node take one input, and carries the effects out.
func (d *doing) step(m int, in input) {
	s := d.w.machines[m].node
	t := stepTime{true: d.w.t, counter: d.w.counter(m)}
	taken := d.c.take(s, m, in, t)
	d.w.machines[m].node = taken.next
	if taken.next.epoch < s.epoch {
		d.wrong = d.c.names[m] + " goes back to an earlier epoch"
	}
	d.carry(m, taken.does)
}

func (d *doing) carry(m int, does []effect) {
	for _, e := range does {
		switch x := e.Effect.(type) {
		case mesh.Send:
			if i := d.w.find(x.Session); i >= 0 && d.w.links[i].ends[endOf(m)].open {
				d.sends = append(d.sends, sent{x.Session, 1 - endOf(m), e.frame})
			}
		case mesh.Recheck:
			if d.w.machines[m].mode != running {
				d.w.machines[m].staged = x.Ticket
				continue
			}
			d.recheck(m, x.Ticket)
		case mesh.Persist:
			d.w.machines[m].writing, d.w.machines[m].write = true, x.Marks
			if !d.c.Slow {
				d.written(m)
			}
		case mesh.Drain:
			if i := d.w.find(x.Session); i >= 0 {
				d.w.links[i].drain = true
			}
		case mesh.Close:
			d.drop(x.Session, endOf(m))
		case mesh.Dial:
			d.w.machines[m].dialling = d.c.Sessions > 1
		case mesh.Answer:
			d.answered(m, &x)
		case mesh.Print:
			if d.say != nil {
				d.say(m, x.Line.String())
			}
		}
	}
}

// pause stops a machine, perhaps in the middle of a commit: its adapter has been asked to read the
// clocks again, and does so when it runs again.
func (d *doing) pause(i int, a action) {
	m := &d.w.machines[i]
	m.mode = stopped
	if a.kind == freeze || a.kind == freezeInCommit {
		m.mode = frozen
	}
	if a.kind == stopInCommit || a.kind == freezeInCommit {
		d.step(i, input{kind: inCommit, arg: a.arg})
	}
}

func (d *doing) cont(i int) {
	m := &d.w.machines[i]
	m.mode = running
	if ticket := m.staged; ticket != 0 {
		m.staged = 0
		d.recheck(i, ticket)
	}
}

// recheck answers a Recheck. What is published by it is a commit at this instant.
func (d *doing) recheck(m int, t mesh.Ticket) {
	before := d.w.machines[m].node
	d.step(m, input{kind: inRechecked, ticket: t})
	for o := range d.c.objects {
		_, was, _ := before.look.Record(d.c.objects[o].id)
		_, is, _ := d.w.machines[m].node.look.Record(d.c.objects[o].id)
		for other := range d.w.machines {
			if is > was && other != m && d.c.mayCommit(&d.w, other, o) {
				d.wrong = fmt.Sprintf("%s commits %s, and %s may", d.c.names[m], d.c.objects[o].name,
					d.c.names[other])
			}
		}
	}
}

// written is the authority's chip.
func (d *doing) written(i int) {
	m := &d.w.machines[i]
	result := mesh.PersistOK
	if m.marks.Signed > m.write.Signed || m.marks.Activated > m.write.Activated {
		result = mesh.PersistHigher
	} else {
		m.marks = m.write
	}
	m.writing, m.write = false, mesh.Marks{}
	d.step(i, input{kind: inPersisted, arg: uint8(result)})
}

// connect opens a session at both ends; the authority completes the handshake first.
func (d *doing) connect(m int) {
	d.w.machines[m].dialling = false
	d.w.next++
	l := link{id: d.w.next, peer: uint8(m)}
	l.ends[atRoot].open, l.ends[atPeer].open = true, true
	d.w.links = append(d.w.links, l)
	d.step(root, input{kind: inUp, session: l.id, arg: uint8(m)})
	d.step(m, input{kind: inUp, session: l.id, arg: root})
	d.replaceOldest(m)
}

// endsMax is how many sessions of one peer the authority's adapter keeps: a third replaces the
// oldest.
const endsMax = 2

func (d *doing) replaceOldest(m int) {
	oldest, n := mesh.Session(0), 0
	for i := range d.w.links {
		if l := &d.w.links[i]; l.ends[atRoot].open && d.c.ids[l.peer] == d.c.ids[m] {
			if n++; n == 1 {
				oldest = l.id
			}
		}
	}
	if n > endsMax {
		d.drop(oldest, atRoot)
	}
}

// drop ends a session at one end.
func (d *doing) drop(s mesh.Session, e int) {
	i := d.w.find(s)
	if i < 0 || !d.w.links[i].ends[e].open {
		return
	}
	l := &d.w.links[i]
	m := l.machineAt(e)
	l.ends[e] = end{}
	l.drain = l.drain && e != atRoot
	d.w.sweep()
	d.step(m, input{kind: inDown, session: s})
}

// boot starts a machine that is off.
func (d *doing) boot(i int) {
	m := &d.w.machines[i]
	if i == third && m.boots == 0 {
		d.w.left.boots--
	}
	*m = machine{mode: running, boots: m.boots + 1, base: d.w.t - bootCounter, marks: m.marks}
	var marks *mesh.Marks
	if i == root {
		copied := m.marks
		marks = &copied
	}
	var out mesh.Effects
	n, err := mesh.New(bootCounter, d.c.configOf(i, m.boots, marks), &out)
	if err != nil {
		panic("search: " + err.Error())
	}
	m.node = d.c.stateOf(n, i, stepTime{true: d.w.t, counter: bootCounter})
	d.carry(i, d.c.effectsOf(&out))
}

// kill switches a machine off: what was on its way to it is lost, and its peers learn nothing.
func (d *doing) kill(i int) {
	m := &d.w.machines[i]
	*m = machine{boots: m.boots, marks: m.marks}
	for j := range d.w.links {
		l := &d.w.links[j]
		if i == root || int(l.peer) == i {
			l.ends[endOf(i)] = end{}
			l.drain = l.drain && i != root
		}
	}
	d.w.sweep()
}

// outcomes is how many ways there are in which frames of this action can be lost: numbers below it,
// of those that may.
func (d *doing) outcomes() int {
	if d.c.Loss || d.w.left.losses > 0 {
		return 1 << len(d.sends)
	}
	return 1
}

// may reports whether so many frames may be lost.
func (d *doing) may(lost uint16) bool {
	return d.c.Loss || bits.OnesCount16(lost) <= int(d.w.left.losses)
}

// outcome is the world when these of the frames that were sent are lost. Its links are the doing's,
// until the next outcome: who keeps the world copies them.
func (d *doing) outcome(lost uint16) world {
	w := d.w
	if d.c.Losses > 0 {
		w.left.losses -= uint8(bits.OnesCount16(lost))
	}
	d.after = append(d.after[:0], w.links...)
	w.links = d.after
	for i, s := range d.sends {
		if j := w.find(s.session); lost&(1<<i) == 0 && j >= 0 {
			w.links[j].ends[s.end].post(s.frame)
		}
	}
	return w
}
