package sim

import (
	"strconv"

	"holdfast/mesh/timing"
	"holdfast/mesh/wire"
)

// Worlds without leases are like the others, but for what their nodes are configured with: every
// commit needs the acknowledgements of all, a node that is gone is removed after a second in every
// other of these worlds, and after the ADR's twelve in the rest. No member may commit anything by
// itself there, so that I1 asks nothing of members; two other things are judged instead:
//
//	I11 what a member publishes the authority holds already, while it is the one of the member's view
//	I12 a copy at the authority whose age is 0 has everything that was acknowledged before it was
//	    asked for

// RunAcks lives through the world without leases of a seed.
func RunAcks(seed uint64) Result { return newWorld(seed, drawAcks).live(seed) }

// ReplayAcks does the same, and the result has the log.
func ReplayAcks(seed uint64) Result {
	w := newWorld(seed, drawAcks)
	w.listen()
	return w.live(seed)
}

// What the machines of a world may be like in which a second of silence is a death.
const (
	secondLate    = 50 * Millisecond
	secondLatency = 20 * Millisecond
)

func drawAcks(r *random) plan {
	p := draw(r)
	times := timing.Default
	times.AcksAll = true
	if r.one(2) {
		times = timing.OneSecond
		p.late = min(p.late, secondLate)
		p.latency, p.jitter = min(p.latency, secondLatency), min(p.jitter, secondLatency)
	}
	p.acks = &times
	return p
}

// redials notes that the authority was away: a session may have overflowed meanwhile, and another
// one takes a member longer than a second of silence, which is no fault of anybody's.
func (w *world) redials() {
	for _, m := range w.machines[1:] {
		w.touch(m)
	}
}

// stored judges that the authority holds what a member has just published (I11).
func (j *judge) stored(m *machine, i int) {
	root := j.w.machines[0]
	if j.w.plan.acks == nil || m.root() || !root.on() ||
		!m.look.Includes(root.id, root.config.Boot) {
		return
	}
	epoch, version, _ := m.look.Record(objects[i])
	e, v, _ := root.look.Newest(objects[i])
	if e < epoch || e == epoch && v < version {
		j.wrong(m, "publishes version "+strconv.FormatUint(version, 10)+" of "+objectNames[i]+
			" of epoch "+epoch.String()+", and the authority holds version "+
			strconv.FormatUint(v, 10)+" of epoch "+e.String())
	}
}

// newest judges a read of a copy at the authority (I12).
func (j *judge) newest(c *client, r *wire.RouteRep) {
	if j.w.plan.acks != nil && c.node.root() && r.AgeMS == 0 && r.Version < c.floor.version {
		j.lost(c, r, c.floor.version)
	}
}
