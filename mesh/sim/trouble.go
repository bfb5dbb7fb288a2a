package sim

import (
	"holdfast/mesh"
	"holdfast/mesh/wire"
)

// fault is one kind of trouble.
type fault struct {
	name   string
	weight int              // at most, in the worlds that have it
	fits   func(*plan) bool // nil: every world
	happen func(*world)
}

// kinds are all of them. What lasts ends by itself, at a time that is drawn with it.
var kinds = []fault{
	{"cut", 4, nil, (*world).cutBoth},
	{"one-way", 4, nil, (*world).cutOne},
	{"flap", 2, nil, (*world).flap},
	{"lossy", 3, nil, (*world).lossy},
	{"slow", 3, nil, (*world).slow},
	{"reset", 2, nil, (*world).reset},
	{"corrupt", 2, nil, (*world).corrupt},
	{"half-open", 2, nil, (*world).halfOpen},
	{"dial", 1, nil, (*world).dialMore},
	{"kill", 3, nil, (*world).killMember},
	{"kill-root", 2, withMarks, (*world).killRoot},
	{"chip", 1, withMarks, (*world).chipRefuses},
	{"tear", 1, withMarks, (*world).tearChip},
	{"wipe", 1, withMarks, (*world).wipeChip},
	{"stop", 4, nil, (*world).stopSome},
	{"freeze", 3, nil, (*world).freezeSome},
	{"interrupt", 2, nil, (*world).interruptNext},
	{"back", 2, nil, (*world).clockBack},
	{"forward", 2, nil, (*world).clockForward},
	{"blind", 1, withBoth, (*world).blindSome},
	{"second", 1, withBoth, (*world).secondJumps},
	{"twin", 2, withTwin, (*world).twin},
	{"step", 6, withLab, (*world).operate},
	{"rude", 2, nil, (*world).rude},
	{"together", 4, nil, (*world).together},
}

func withMarks(p *plan) bool { return p.marks }
func withBoth(p *plan) bool  { return p.both }
func withTwin(p *plan) bool  { return p.twin }
func withLab(p *plan) bool   { return p.objects > 0 }

// lasts draws how long something lasts: around the bounds of the protocol more often than not.
func (w *world) lasts() Time {
	r := &w.random
	switch r.below(8) {
	case 0:
		return r.scale(5*Millisecond, Second)
	case 1, 2:
		return r.between(Second, 8*Second)
	case 3, 4:
		return r.between(5*Second, 14*Second)
	case 5:
		return r.between(11*Second, 13*Second)
	case 6:
		return r.between(100*Millisecond, 40*Second)
	}
	return r.scale(10*Second, 3*Minute)
}

// together is several faults within a moment, as when a rack loses its power: the protocol's
// windows are open for seconds, and single faults rarely fall into each other's.
func (w *world) together() {
	for range 2 + w.random.below(2) {
		f, _ := w.plan.pick(&w.random)
		if f.name != "together" {
			w.later(w.random.upTo([]Time{0, 300 * Millisecond, 3 * Second}[w.random.below(3)]),
				func() { f.happen(w) })
		}
	}
}

func (w *world) any() *machine    { return w.machines[w.random.below(len(w.machines))] }
func (w *world) member() *machine { return w.machines[1+w.random.below(len(w.machines)-1)] }

// lane is any direction of any path.
func (w *world) lane() (*machine, *lane, string) {
	m := w.member()
	if w.random.one(2) {
		return m, &m.path.up, "up"
	}
	return m, &m.path.down, "down"
}

func (w *world) cutBoth() { w.cutFor(w.member(), w.lasts()) }

func (w *world) cutFor(m *machine, d Time) {
	w.say(m, "is cut off for "+seconds(d))
	m.path.up.cut, m.path.down.cut = true, true
	w.later(d, func() {
		w.say(m, "is connected again")
		w.network.healed(&m.path.up)
		w.network.healed(&m.path.down)
	})
}

// cutOne cuts one direction. Half of the time nothing else suffers; else what is not acknowledged
// stops the other direction too, after a few frames.
func (w *world) cutOne() {
	m, cut, way := w.lane()
	d := w.lasts()
	w.say(m, "loses the way "+way+" for "+seconds(d))
	cut.cut = true
	other := &m.path.up
	if cut == other {
		other = &m.path.down
	}
	thin := w.random.one(2)
	if thin {
		other.cut, other.passes = true, w.random.below(12)
	}
	w.later(d, func() {
		w.say(m, "has the way "+way+" again")
		w.network.healed(cut)
		if thin {
			w.network.healed(other)
		}
	})
}

// flap cuts a member off again and again, for just less and just more than the failure window.
func (w *world) flap() {
	m := w.member()
	at := Time(0)
	for range 2 + w.random.below(3) {
		at += w.random.between(Second, 4*Second)
		d := []Time{11 * Second, 13 * Second, w.random.between(5*Second, 7*Second)}[w.random.below(3)]
		w.later(at, func() { w.cutFor(m, d) })
		at += d
	}
}

func (w *world) lossy() {
	m, d := w.member(), w.lasts()
	w.say(m, "has a lossy path for "+seconds(d))
	for _, l := range []*lane{&m.path.up, &m.path.down} {
		l.loss, l.jitter = 50+w.random.below(400), w.random.upTo(200*Millisecond)
	}
	w.later(d, func() {
		m.path.up.loss, m.path.up.jitter = 0, w.plan.jitter
		m.path.down.loss, m.path.down.jitter = 0, w.plan.jitter
	})
}

func (w *world) slow() {
	m, l, way := w.lane()
	d, latency := w.lasts(), w.random.scale(20*Millisecond, 12*Second)
	if w.random.one(3) { // answers about as old as what they answer may be
		d, latency = w.random.between(10*Second, 40*Second), w.random.between(4*Second, 12*Second)
	}
	w.say(m, "has a way "+way+" of "+seconds(latency)+" for "+seconds(d))
	l.latency = latency
	w.later(d, func() { l.latency = w.plan.latency })
}

// someEnd is an end of any session, of a machine that runs.
func (w *world) someEnd() (*link, *end) {
	if len(w.network.links) == 0 {
		return nil, nil
	}
	l := w.network.links[w.random.below(len(w.network.links))]
	e := &l.ends[w.random.below(2)]
	if !e.open || !e.machine.runs() {
		return nil, nil
	}
	return l, e
}

// reset ends a session at one end, and the other learns of it.
func (w *world) reset() {
	if l, e := w.someEnd(); e != nil {
		w.network.hangUp(e.machine, l.id, "reset")
	}
}

// corrupt damages a packet on its way: TLS ends the session where it arrives.
func (w *world) corrupt() {
	if l, e := w.someEnd(); e != nil && len(e.queue) > 0 {
		w.network.hangUp(e.machine, l.id, "corrupt")
	}
}

// halfOpen makes one end forget its session; the other does not know.
func (w *world) halfOpen() {
	if l, e := w.someEnd(); e != nil {
		w.say(e.machine, "forgets a session")
		w.network.drop(l, e)
	}
}

func (w *world) dialMore() {
	if m := w.member(); m.runs() {
		m.dialAt(w.now)
	}
}

func (w *world) killMember() {
	if m := w.member(); m.on() && m != w.clone {
		m.kill()
		w.later(w.lasts(), func() { w.bootAgain(m) })
	}
}

func (w *world) bootAgain(m *machine) {
	if !m.on() {
		m.boot()
	}
}

func (w *world) killRoot() {
	if m := w.machines[0]; m.on() {
		m.kill()
		w.later(w.lasts()/2, func() { w.bootAgain(m) })
	}
}

func (w *world) chipRefuses() {
	c := &w.machines[0].chip
	w.say(w.machines[0], "has a chip that takes nothing")
	c.refuses = true
	w.later(w.lasts(), func() { c.refuses = false })
}

// tearChip damages one of the authority's slots while it is off, wipeChip both.
func (w *world) tearChip() {
	if m := w.machines[0]; !m.on() {
		m.chip.damage(w.random.below(2))
		w.say(m, "has a torn slot")
	}
}

func (w *world) wipeChip() {
	if m := w.machines[0]; !m.on() && w.random.one(4) {
		m.chip.wipe()
		w.say(m, "has a wiped chip")
	}
}

func (w *world) stopSome() {
	if m := w.any(); m.runs() {
		w.haltFor(m, stopped)
	}
}

// freezeSome stops a machine together with its counter. A member without a second clock cannot
// know of it: it is spared (rule L6).
func (w *world) freezeSome() {
	if m := w.any(); m.runs() && (w.plan.both || m.root()) {
		w.haltFor(m, frozen)
	}
}

func (w *world) haltFor(m *machine, how power) {
	d, boots := w.lasts(), m.boots
	m.halt(how)
	w.later(d, func() {
		if m.boots == boots && m.power == how {
			m.resume()
		}
	})
}

// interruptNext stops a machine between the two checks of its next commit.
func (w *world) interruptNext() {
	w.trap = w.any()
	w.trapHow = stopped
	if w.random.one(2) && (w.plan.both || w.trap.root()) {
		w.trapHow = frozen
	}
}

// interrupts reports whether the machine is stopped just before it reads the clocks again.
func (w *world) interrupts(m *machine) bool {
	if w.trap != m {
		return false
	}
	w.trap = nil
	w.haltFor(m, w.trapHow)
	return true
}

// clockBack sets a counter back, but not below zero, and clockForward sets it forward, by more than
// what a node takes for the slowness of its machine. The node notices at its next step, which comes
// at once: a clock that has gone back and forth between two steps is a slow one, and one that goes
// forward a little, again and again, is a fast one: both are excluded by rule L3.
func (w *world) clockBack() {
	if m := w.any(); m.runs() {
		by := w.random.upTo(Time(m.clock.micros(w.now)))
		w.jump(m, -min(by, w.random.scale(Millisecond, 40*Second)))
	}
}

func (w *world) clockForward() {
	if m := w.any(); m.runs() {
		w.jump(m, w.random.scale(1100*Millisecond, 40*Second))
	}
}

func (w *world) jump(m *machine, by Time) {
	m.step(mesh.Tick{Second: m.calendar()})
	if !m.runs() {
		return
	}
	w.say(m, "has a counter that jumps by "+seconds(by))
	m.clock.change(w.now, int64(by))
	w.judge.look(m)
	m.step(mesh.Tick{Second: m.calendar()})
}

func (w *world) blindSome() {
	m := w.any()
	w.say(m, "has a second clock that does not answer")
	m.blind = true
	w.later(w.lasts(), func() { m.blind = false })
}

// secondJumps sets a second clock. It is not set while the counter stands still: one clock fails at
// a time.
func (w *world) secondJumps() {
	if m := w.any(); m.runs() && !m.blind {
		by := int64(w.random.scale(3*Second, Hour))
		if w.random.one(2) {
			by = -min(by, m.second.micros(w.now))
		}
		w.say(m, "has a second clock that jumps by "+seconds(Time(by)))
		m.second.change(w.now, by)
		m.step(mesh.Tick{Second: m.calendar()})
	}
}

// twin switches the copy of a member on, for a while.
func (w *world) twin() {
	if m := w.clone; !m.on() {
		m.boot()
		w.later(w.lasts(), func() {
			if m.on() {
				m.kill()
			}
		})
	}
}

// rude does what TLS rules out: a frame of a session is lost, repeated, overtaken or damaged.
// Safety must not depend on it.
func (w *world) rude() {
	_, e := w.someEnd()
	if e == nil || len(e.queue) == 0 {
		return
	}
	r := &w.random
	i, last := r.below(len(e.queue)), len(e.queue)-1
	p, q := &e.queue[i], &e.queue[last]
	if p.news != frame || q.news != frame {
		return
	}
	w.say(e.machine, "gets a frame that is lost, repeated, overtaken or damaged")
	switch r.below(4) {
	case 0:
		p.data = nil
	case 1:
		e.queue = append(e.queue, packet{at: q.at, data: p.data})
	case 2:
		p.data, q.data = q.data, p.data
	case 3:
		p.data = damaged(r, p.data)
	}
}

// damaged turns one bit. What a client asked for, and what it is told, are left alone: the judge
// believes them. So is a Refuse, which may ask for ten minutes.
func damaged(r *random, data []byte) []byte {
	switch _, m, err := wire.Parse(data); {
	case err != nil:
		return data
	case m.Kind() == wire.KindRouteReq, m.Kind() == wire.KindRouteRep, m.Kind() == wire.KindRefuse:
		return data
	}
	turned := append([]byte(nil), data...)
	turned[r.below(len(turned))] ^= 1 << r.below(8)
	return turned
}
