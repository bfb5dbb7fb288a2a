package sim

import "slices"

// What becomes of sessions whose machines die, stop or are cut off.

// orphan makes an end half-open. What it has sent and was not taken in is sent again.
func (n *network) orphan(e *end) {
	e.gone = true
	e.retry = n.w.now + n.w.random.between(rtoMin, rtoMax)
}

// giveUp is what an end does when its time has come: a retransmission into nothing, which is
// answered with a reset if the other machine is there, or the backstop.
func (n *network) giveUp(l *link, e *end) {
	if n.w.now < e.heard+backstop && !n.answers(l, e) {
		e.retry = n.w.now + rtoMax
		return
	}
	n.w.say(e.machine, "loses a session")
	e.retry = never
	n.drop(l, e)
}

// answers reports whether the machine at the other end answers to what it does not know.
func (n *network) answers(l *link, e *end) bool {
	p := &l.member.path
	return l.other(e).machine.runs() && !p.up.cut && !p.down.cut
}

// died takes a machine's sessions from it. What it had sent and was lost on the way is not sent
// again.
func (n *network) died(m *machine) {
	for _, l := range n.links {
		e := l.end(m)
		if e == nil || !e.open {
			continue
		}
		e.open, e.queue = false, nil
		other := l.other(e)
		if !other.open {
			continue
		}
		late := n.w.now + other.lane.latency + other.lane.jitter
		other.queue = slices.DeleteFunc(other.queue, func(p packet) bool {
			return p.at > late || other.lane.cut && other.lane.passes == 0
		})
		n.orphan(other)
	}
	n.sweep()
}

// resumed is what a machine finds that did not run: what its buffers have kept, or what is sent
// again.
func (n *network) resumed(m *machine) {
	for _, l := range n.links {
		if e := l.end(m); e != nil && e.open && len(e.queue) > 0 {
			wait := n.w.random.upTo(2 * Millisecond)
			if !n.w.plan.buffers {
				wait = n.w.random.upTo(rtoMax)
			}
			e.queue[0].at = max(e.queue[0].at, n.w.now+wait)
			e.order()
		}
	}
}

// healed lets what a lane has held go on its way, by the next retransmission.
func (n *network) healed(l *lane) {
	l.cut, l.passes = false, 0
	for _, k := range n.links {
		for i := range k.ends {
			if e := &k.ends[i]; e.lane == l && len(e.queue) > 0 {
				e.queue[0].at = max(e.queue[0].at, n.w.now+n.w.random.upTo(rtoMax))
				e.order()
			}
		}
	}
}

// order lets nothing overtake what has become later.
func (e *end) order() {
	for i := 1; i < len(e.queue); i++ {
		e.queue[i].at = max(e.queue[i].at, e.queue[i-1].at)
	}
}
