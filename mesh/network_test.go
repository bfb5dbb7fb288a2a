package mesh_test

import (
	"slices"

	"holdfast/mesh"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// link is one session between two machines, numbered the same at both. Frames arrive in order, each
// way with its own delay. A cut holds them, as TCP does, until it is healed or the session ends.
type link struct {
	id   mesh.Session
	ends [2]end
}

// end is one machine's end of a link, with what is on its way to it.
type end struct {
	machine *machine
	open    bool // the machine has this session
	cut     bool
	latency when.Span
	queue   []packet
}

// packet is what arrives at an end: a frame without its prefix, or news of the session itself.
type packet struct {
	at   when.Instant
	news news
	data []byte
}

type news uint8

const (
	frame   news = iota
	opened       // the handshake is complete, from this end's view
	goodbye      // the other end has closed it
)

// endsMax is how many sessions of one peer the authority's adapter keeps: a third replaces the
// oldest.
const endsMax = 2

func (l *link) end(m *machine) *end {
	if l.ends[0].machine == m {
		return &l.ends[0]
	}
	return &l.ends[1]
}

func (l *link) other(m *machine) *end {
	if l.ends[0].machine == m {
		return &l.ends[1]
	}
	return &l.ends[0]
}

// deliverable reports whether the machine can take the next packet. A machine without the session
// takes none.
func (e *end) deliverable() bool {
	return e.open && !e.cut && len(e.queue) > 0 && e.machine.running()
}

// connect opens a session between a running member and the authority. The authority completes the
// handshake first: the member waits for its greeting.
func (w *world) connect(m *machine) *link {
	root := w.nodes[0]
	w.nextID++
	l := &link{id: w.nextID}
	for i, m := range []*machine{m, root} {
		l.ends[i] = end{machine: m, open: true, latency: w.latency}
	}
	w.links = append(w.links, l)
	m.dialling = false
	w.post(l.end(root), packet{news: opened})
	return l
}

// replaceOldest is the authority's adapter keeping to endsMax.
func (w *world) replaceOldest(peer *machine) {
	root := w.nodes[0]
	var open []*link
	for _, l := range w.links {
		if e := l.other(root); l.end(root).open && e.machine.id() == peer.id() {
			open = append(open, l)
		}
	}
	if len(open) > endsMax {
		w.hangUp(root, open[0].id)
	}
}

// dial is a member's adapter that tries to reach the authority, for as long as it takes.
func (w *world) dial(m *machine) {
	m.dialling = true
	if !m.isolated && w.nodes[0].node != nil {
		w.connect(m)
	}
}

// disconnect ends a session at both ends at once.
func (w *world) disconnect(l *link) {
	for i := range l.ends {
		w.drop(l, l.ends[i].machine)
	}
}

// drop ends a session at one end: the other learns nothing of it.
func (w *world) drop(l *link, m *machine) {
	e := l.end(m)
	if !e.open {
		return
	}
	e.open, e.queue = false, nil
	w.sweep()
	w.step(m, mesh.LinkDown{Session: l.id})
}

// hangUp ends a session at one end; the other learns of it behind what is on its way.
func (w *world) hangUp(m *machine, s mesh.Session) {
	i := slices.IndexFunc(w.links, func(l *link) bool { return l.id == s })
	if i < 0 {
		return
	}
	l := w.links[i]
	w.post(l.other(m), packet{news: goodbye})
	w.drop(l, m)
}

// sweep forgets the links that both ends have lost.
func (w *world) sweep() {
	w.links = slices.DeleteFunc(w.links, func(l *link) bool {
		return !l.ends[0].open && !l.ends[1].open
	})
}

func (w *world) transmit(m *machine, e mesh.Send) {
	i := slices.IndexFunc(w.links, func(l *link) bool { return l.id == e.Session })
	if i < 0 || !w.links[i].end(m).open {
		return
	}
	to := w.links[i].other(m)
	if w.frames {
		_, f, err := wire.Parse(e.Data[wire.PrefixSize:])
		if err != nil {
			w.t.Errorf("%s sent a malformed frame: %v", m.name, err)
			return
		}
		w.say("%s -> %s %v", m.name, to.machine.name, f.Kind())
	}
	w.post(to, packet{data: e.Data[wire.PrefixSize:]})
}

// post puts a packet on its way, behind those before it.
func (w *world) post(to *end, p packet) {
	if !to.open {
		return
	}
	p.at = w.now.Add(to.latency)
	if n := len(to.queue); n > 0 {
		p.at = max(p.at, to.queue[n-1].at)
	}
	to.queue = append(to.queue, p)
}

func (w *world) deliver(l *link, e *end) {
	p := e.queue[0]
	e.queue = slices.Delete(e.queue, 0, 1)
	m, peer := e.machine, l.other(e.machine)
	switch p.news {
	case goodbye:
		w.drop(l, m)
	case opened:
		w.step(m, mesh.LinkUp{Session: l.id, Key: public(peer.machine.key)})
		if m == w.nodes[0] {
			w.post(peer, packet{news: opened})
			w.replaceOldest(peer.machine)
		}
	case frame:
		if kind, ok := kindOf(p.data); ok {
			m.got[kind] = p.data
		}
		w.step(m, mesh.Frame{Session: l.id, Data: p.data})
	}
}

// linksOf lists the links of which the machine has an end.
func (w *world) linksOf(m *machine) []*link {
	var links []*link
	for _, l := range w.links {
		if l.ends[0].machine == m || l.ends[1].machine == m {
			links = append(links, l)
		}
	}
	return links
}

// cut holds what is sent to and from a machine, and lets it reach nobody new.
func (w *world) cut(m *machine, cut bool) {
	m.isolated = cut
	for _, l := range w.linksOf(m) {
		l.ends[0].cut, l.ends[1].cut = cut, cut
	}
	if !cut && m.dialling && m.running() {
		w.dial(m)
	}
}
