package sim

// A member's adapter keeps a session to the authority, and opens one more when the node asks for
// it: as package kernel/node/link does it, with its times.
const (
	dialTime  = 2 * Second
	redialMin = 250 * Millisecond
	redialMax = 2 * Second
	perPeer   = 2 // sessions that the authority keeps of one peer: a third replaces the oldest
)

// dialler is a dial that is under way or planned.
type dialler struct {
	at    Time  // when it begins, or has its result; never for none
	begun bool  // it is on its way
	fails bool  // nobody has answered
	until Time  // when it is abandoned
	link  *link // waits for the authority's greeting
	pause Time  // before the next one
}

// dialAt plans a dial, unless one is planned or under way.
func (m *machine) dialAt(t Time) {
	if m.dial.at == never && m.dial.link == nil {
		m.dial.at, m.dial.begun = t, false
	}
}

// dialGoesOn begins a dial, or has its result.
func (m *machine) dialGoesOn() {
	w, d := m.w, &m.dial
	switch {
	case d.link != nil: // no greeting
		l := d.link
		d.link, d.at = nil, never
		w.network.hangUp(m, l.id, "no greeting")
		m.redial()
	case !d.begun:
		d.begun, d.until = true, w.now+dialTime
		d.at = w.now + m.path.up.delay(&w.random) + m.path.down.delay(&w.random) +
			m.path.up.delay(&w.random)
		d.fails = d.at >= d.until
		if d.fails {
			d.at = d.until
		}
	case d.fails:
		d.at = never
		m.redial()
	case !w.machines[0].runs() || m.path.up.cut || m.path.down.cut:
		d.at, d.fails = d.until, true
	default:
		d.link, d.at = w.network.connect(m), d.until
	}
}

// redial waits before the next dial, if there is no session meanwhile.
func (m *machine) redial() {
	d := &m.dial
	if m.sessions() > 0 {
		d.pause = redialMin
		return
	}
	d.pause = min(max(redialMin, 2*d.pause), redialMax)
	m.dialAt(m.w.now + d.pause*3/4 + m.w.random.upTo(d.pause/2))
}

// greeted ends a member's dial: the session is one.
func (m *machine) greeted(l *link) {
	if m.dial.link == l {
		m.dial = dialler{at: never}
	}
}

// lost dials again when a member has no session left.
func (m *machine) lost() {
	if !m.root() && m.dial.at == never && m.dial.link == nil {
		m.redial()
	}
}

// sessions counts the member's open sessions.
func (m *machine) sessions() int {
	n := 0
	for _, l := range m.w.network.links {
		if l.member == m && l.ends[0].open {
			n++
		}
	}
	return n
}

// connect is the authority's side of a handshake: it is complete there first, and the member waits
// for the greeting.
func (n *network) connect(m *machine) *link {
	root := n.w.machines[0]
	n.last++
	l := &link{id: n.last, member: m}
	l.ends[0] = end{machine: m, lane: &m.path.down, open: true, heard: n.w.now, retry: never}
	l.ends[1] = end{machine: root, lane: &m.path.up, open: true, heard: n.w.now, retry: never}
	n.links = append(n.links, l)
	n.put(l, &l.ends[0], packet{news: opened})
	l.ends[1].queue = append(l.ends[1].queue, packet{at: n.w.now, news: opened})
	n.replaceOldest(m)
	return l
}

// replaceOldest is the authority keeping to perPeer sessions.
func (n *network) replaceOldest(peer *machine) {
	root := n.w.machines[0]
	var open []*link
	for _, l := range n.links {
		if l.ends[1].open && l.member.id == peer.id {
			open = append(open, l)
		}
	}
	if len(open) > perPeer {
		n.hangUp(root, open[0].id, "replaced")
	}
}
