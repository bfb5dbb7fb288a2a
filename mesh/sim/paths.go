package sim

import (
	"slices"

	"holdfast/mesh/wire"
)

// The faults of paths and of sessions.

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
	w.touch(m)
	w.later(d, func() {
		w.say(m, "is connected again")
		w.touch(m)
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
	w.touch(m)
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
		w.touch(m)
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
	w.touch(m)
	w.later(d, func() {
		w.touch(m)
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
	w.touch(m)
	w.later(d, func() {
		w.touch(m)
		l.latency = w.plan.latency
	})
}

// bloat fills a buffer on the way, so that everything takes a little longer than what was before
// it.
func (w *world) bloat() {
	m, l, way := w.lane()
	by, steps := w.random.between(200*Millisecond, 900*Millisecond), 10+w.random.below(20)
	w.say(m, "has a way "+way+" that gets longer by "+seconds(by)+" a second")
	for i := range steps {
		w.later(Time(i)*Second, func() {
			w.touch(m)
			l.latency = min(l.latency+by, 14*Second)
		})
	}
	w.later(Time(steps)*Second, func() { l.latency = w.plan.latency })
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
		w.touch(l.member)
		w.network.hangUp(e.machine, l.id, "reset")
	}
}

// corrupt damages a packet on its way: TLS ends the session where it arrives.
func (w *world) corrupt() {
	if l, e := w.someEnd(); e != nil && len(e.queue) > 0 {
		w.touch(l.member)
		w.network.hangUp(e.machine, l.id, "corrupt")
	}
}

// halfOpen makes one end forget its session; the other does not know.
func (w *world) halfOpen() {
	if l, e := w.someEnd(); e != nil {
		w.say(e.machine, "forgets a session")
		w.touch(l.member)
		w.network.drop(l, e)
	}
}

func (w *world) dialMore() {
	if m := w.member(); m.runs() {
		w.touch(m)
		m.dialAt(w.now)
	}
}

// rude does what TLS rules out: a frame of a session is lost, repeated, overtaken or damaged.
// Safety must not depend on it.
func (w *world) rude() {
	l, e := w.someEnd()
	if e == nil || len(e.queue) == 0 {
		return
	}
	w.touch(l.member)
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

// believed are the kinds that are never damaged.
var believed = []wire.Kind{wire.KindRouteReq, wire.KindRouteRep, wire.KindForward, wire.KindRecord,
	wire.KindRefuse}

// damaged turns one bit. What a client asked for, what was made of it, and what it is told, are
// left alone: the judge believes them. So is a Refuse, which may ask for ten minutes.
func damaged(r *random, data []byte) []byte {
	switch _, m, err := wire.Parse(data); {
	case err != nil:
		return data
	case slices.Contains(believed, m.Kind()):
		return data
	}
	turned := append([]byte(nil), data...)
	turned[r.below(len(turned))] ^= 1 << r.below(8)
	return turned
}
