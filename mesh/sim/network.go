package sim

import (
	"slices"

	"holdfast/mesh"
)

// network is every session between a member and the authority, and the paths below them. A session
// is what TCP and TLS make of a bad path: whole frames in order, each way, late rather than lost.
// What is lost on the way arrives after retransmissions, and everything behind it waits; a cut
// holds what it cuts; a machine that dies leaves its peers half-open sessions, which are reset when
// they are used after it is back.
type network struct {
	w     *world
	links []*link
	last  mesh.Session
}

// link is one session, numbered the same at both ends.
type link struct {
	id     mesh.Session
	member *machine
	ends   [2]end // the member's, the authority's
}

// end is one machine's end of a session, with what is on its way to it.
type end struct {
	machine *machine
	lane    *lane // that leads to it
	open    bool  // the machine has this session
	queue   []packet
	heard   Time // when something arrived last

	// When the other machine has lost the session without a word.
	gone  bool
	retry Time // when what was sent into nothing is sent again, never when nothing was
}

// packet is what arrives at an end.
type packet struct {
	at   Time
	news news
	data []byte // of a frame, without its prefix
}

type news uint8

const (
	frame   news = iota
	opened       // the handshake is complete, from this end's view
	goodbye      // the other end has closed
	barrier      // everything that had arrived has been taken in
)

// path is a member's way to the authority and back.
type path struct{ up, down lane }

// lane is one direction of it.
type lane struct {
	cut     bool
	passes  int // frames that a cut lets through, when only the other direction is really cut
	latency Time
	jitter  Time
	loss    int // of a thousand packets
}

// clean makes a lane as good as this world's are.
func (l *lane) clean(p *plan) { *l = lane{latency: p.latency, jitter: p.jitter} }

// What the transport does (spec/system.md section 3): retransmission times, and how long a session
// on which nothing is heard is kept.
const (
	rtoMin   = 200 * Millisecond
	rtoMax   = Second
	backstop = 300 * Second
)

// delay is how long a packet takes that leaves now, with its retransmissions.
func (l *lane) delay(r *random) Time {
	d := l.latency + r.upTo(l.jitter)
	rto := rtoMin
	for l.loss > 0 && r.below(1000) < l.loss {
		d += rto
		rto = min(2*rto, rtoMax)
	}
	return d
}

// end is the machine's end, nil when the link is another's.
func (l *link) end(m *machine) *end {
	switch m {
	case l.ends[0].machine:
		return &l.ends[0]
	case l.ends[1].machine:
		return &l.ends[1]
	}
	return nil
}

func (l *link) other(e *end) *end {
	if e == &l.ends[0] {
		return &l.ends[1]
	}
	return &l.ends[0]
}

// due is when something arrives at the end, never for nothing that can.
func (e *end) due() Time {
	switch {
	case len(e.queue) == 0 || !e.open || !e.machine.runs():
		return never
	case e.lane.cut && e.lane.passes == 0 && e.queue[0].news != barrier:
		return never
	}
	return e.queue[0].at
}

// silent is when the end does something by itself: it gives the session up.
func (e *end) silent() Time {
	if !e.open || !e.machine.runs() {
		return never
	}
	return min(e.retry, e.heard+backstop)
}

// put puts a packet on its way to an end, behind those before it.
func (n *network) put(l *link, e *end, p packet) {
	if e.gone || !e.open {
		return
	}
	p.at = n.w.now + e.lane.delay(&n.w.random)
	if last := len(e.queue) - 1; last >= 0 {
		p.at = max(p.at, e.queue[last].at)
	}
	e.queue = append(e.queue, p)
}

// send carries out a Send.
func (n *network) send(m *machine, s mesh.Send) {
	l, e := m.session(s.Session)
	if l == nil {
		return
	}
	n.w.hashSend(m, s.Data)
	n.w.sayFrame(m, l.other(e).machine, s.Data)
	to := l.other(e)
	if e.gone {
		if e.retry == never {
			e.retry = n.w.now + n.w.random.between(2*n.w.plan.latency, rtoMin)
		}
		return
	}
	if len(to.queue) >= n.w.plan.queue {
		n.hangUp(m, s.Session, "overflow")
		return
	}
	n.put(l, to, packet{data: s.Data[prefix:]})
}

// deliver hands the first packet in.
func (n *network) deliver(l *link, e *end) {
	p := e.queue[0]
	e.queue = slices.Delete(e.queue, 0, 1)
	if e.lane.cut && p.news != barrier {
		e.lane.passes--
	}
	e.heard = n.w.now
	m := e.machine
	switch p.news {
	case frame:
		m.heard = m.counter()
		m.step(mesh.Frame{Session: l.id, Data: p.data})
	case opened:
		m.greeted(l)
		m.step(mesh.LinkUp{Session: l.id, Key: l.other(e).machine.public})
	case goodbye:
		n.drop(l, e)
	case barrier:
		m.step(mesh.Drained{Session: l.id})
	}
}

// drain puts a barrier behind what has arrived at the authority's end, but has not been taken in.
func (n *network) drain(m *machine, s mesh.Session) {
	_, e := m.session(s)
	if e == nil {
		return
	}
	arrived := 0
	for !e.lane.cut && arrived < len(e.queue) && e.queue[arrived].at <= n.w.now {
		arrived++
	}
	e.queue = slices.Insert(e.queue, arrived, packet{at: n.w.now, news: barrier})
}

// hangUp closes a session at the machine's end; the other learns of it behind what is on its way.
func (n *network) hangUp(m *machine, s mesh.Session, reason string) {
	l, e := m.session(s)
	if l == nil {
		return
	}
	n.w.say(m, "closes a session: "+reason)
	other := l.other(e)
	n.put(l, other, packet{news: goodbye})
	n.drop(l, e)
}

// drop ends a session at one end. The other learns nothing of it, unless it has been told.
func (n *network) drop(l *link, e *end) {
	other := l.other(e)
	e.open, e.queue = false, nil
	told := slices.ContainsFunc(other.queue, func(p packet) bool { return p.news == goodbye })
	if other.open && !told {
		n.orphan(other)
	}
	n.sweep()
	if m := e.machine; m.runs() {
		m.step(mesh.LinkDown{Session: l.id})
		m.lost()
	}
}

// sweep forgets the links that both ends have lost.
func (n *network) sweep() {
	n.links = slices.DeleteFunc(n.links, func(l *link) bool {
		return !l.ends[0].open && !l.ends[1].open
	})
}
