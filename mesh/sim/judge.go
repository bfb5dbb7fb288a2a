package sim

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// judge watches a world and says what must never happen:
//
//	I1  one home: no two nodes may commit the same object at the same instant of true time, and
//	    nothing is committed without the right to
//	I2  a node's epoch never goes back; the authority's not even across boots
//	I3  one number names one view
//	I4  no panic
//	I5  tables keep to their bounds
//	I6  every operation gets exactly one answer, in time
//	I7  an object's versions go up by one within an epoch, wherever its home is; what a home has
//	    acknowledged, it has not forgotten; no request is executed twice
//	I8  every line of evidence is one
//	I9  nobody is convicted without a reason, and nobody talks without end
//
// A node's right to commit begins with a step, with the end of a wait that it knows of, or when the
// machine runs again, and it ends at any time. So what two nodes may do at the same instant, they
// may do at one of those; the judge looks at each of them.
type judge struct {
	w       *world
	at      Time // when it wants to look, since a wait will be over; never for no reason
	verdict string
	adr     bool // judges by the lease as the ADR has it

	paced  Time  // the minute that ends then began
	events int64 // with so many steps

	digests  []id.Digest // by epoch
	highest  id.Epoch    // the authority's, in former boots
	objects  []history
	commits  int64
	minute   Time // the latest one in which something was committed, how much, and in how many enough
	inMinute int
	minutes  int64
	measured Measures
}

// seen is what the judge knows of one machine.
type seen struct {
	epoch id.Epoch
	may   bool
	end   Time // true time at which its right to commit is over by its clocks, if nothing else ends it
	told  bool // something else has: a step
	holds []bool
	home  []bool         // by its view it is the home of what it does not know
	from  []when.Instant // it waits until then, by its own time
	have  []uint64       // versions
	able  bool           // it has had the right in this boot
}

// history is what has happened to one object.
type history struct {
	epoch   id.Epoch // of the latest commit
	version uint64

	// The latest holder.
	holder *machine
	boots  int
	end    Time // of its right, and what ended it
	told   bool

	// What has been acknowledged.
	acked uint64
	home  id.Node
	lease id.Epoch
}

func (j *judge) begin() {
	j.at, j.minute = never, -1
	j.objects = make([]history, len(objects))
	for _, m := range j.w.machines {
		n := len(objects)
		m.seen = seen{holds: make([]bool, n), home: make([]bool, n), from: make([]when.Instant, n),
			have: make([]uint64, n)}
	}
}

// wrong says what must not be; the first time counts.
func (j *judge) wrong(m *machine, what string) {
	if j.verdict == "" {
		j.verdict = stamp(j.w.now) + " " + m.name + " " + what
		j.w.say(m, "!! "+what)
	}
}

func (j *judge) booted(m *machine) {
	s := &m.seen
	clear(s.holds)
	clear(s.have)
	s.epoch, s.may, s.able, s.end = 0, false, false, 0
	for i := range objects {
		s.home[i] = m.look.HomesHere(objects[i]) // of a member without a view: it may not commit
	}
	j.look(m)
}

// died ends the right of a machine that has none any more.
func (j *judge) died(m *machine) {
	if m.root() {
		j.highest = max(j.highest, m.look.Epoch())
		m.seen.end, m.seen.told = j.w.now, true
		j.ended(m)
	}
	m.seen.may = false
	clear(m.seen.holds)
}

// stepped judges after a step of m, before its effects are carried out. A tick without effects
// changes nothing but the time.
func (j *judge) stepped(m *machine, in mesh.Input, effects []mesh.Effect) {
	if _, tick := in.(mesh.Tick); !tick || len(effects) > 0 {
		j.look(m)
		if table := m.look.Overgrown(); table != "" {
			j.wrong(m, "has too many "+table)
		}
	}
}

// answerMS is how long a node may let an operation wait, by its own time.
const answerMS = 5_000

// busiest is how many steps a second a world's nodes may take, on average over a minute: a mesh
// that talks to itself does more.
const busiest = 2_000

// pace judges how busy the world is.
func (j *judge) pace() {
	if j.w.now >= j.paced {
		j.paced, j.events = j.w.now+Minute, j.w.events
	}
	if j.w.events-j.events > busiest*60 {
		j.wrong(j.w.machines[0], "is in a mesh that talks to itself")
	}
}

// owes judges what m still has to answer, when a step and what came of it are over.
func (j *judge) owes(m *machine) {
	for _, o := range m.waiting {
		if m.look.Now().Sub(o.since) >= answerMS {
			j.wrong(m, "has not answered an operation")
		}
	}
}

// look compares what m may do now with what the others may do now.
func (j *judge) look(m *machine) {
	j.view(m)
	s := &m.seen
	left, may := j.may(m)
	j.right(m, may, left)
	for i := range objects {
		from, holds := m.holds(i)
		held := s.holds[i]
		s.holds[i], s.from[i] = holds, from
		if holds || held {
			j.keep(m, i)
		}
		j.versions(m, i)
		if holds {
			j.alone(m, i)
		}
	}
	if may && !s.able {
		s.able = true
		j.measured.able(m)
	}
}

// holds is what the node holds of one object, and from when on.
func (m *machine) holds(i int) (when.Instant, bool) {
	from, holds, known := m.look.Holds(objects[i])
	if !known {
		holds = m.seen.home[i]
	}
	return from, holds
}

// lookAtAll looks at those whose waits are over now.
func (j *judge) lookAtAll() {
	j.at = never
	for _, m := range j.w.machines {
		if m.runs() {
			j.look(m)
		}
	}
}

// view judges the machine's epoch.
func (j *judge) view(m *machine) {
	s := &m.seen
	epoch := m.look.Epoch()
	switch {
	case epoch == s.epoch:
		return
	case epoch < s.epoch:
		j.wrong(m, "goes back to epoch "+epoch.String())
	case m.root() && m.boots > 1 && s.epoch == 0 && epoch <= j.highest:
		j.wrong(m, "signs epoch "+epoch.String()+" in a second boot")
	}
	s.epoch = epoch
	for i := range objects {
		s.home[i] = m.look.HomesHere(objects[i])
	}
	for epoch >= id.Epoch(len(j.digests)) {
		j.digests = append(j.digests, id.Digest{})
	}
	digest := m.look.Digest()
	if have := j.digests[epoch]; have != (id.Digest{}) && have != digest {
		j.wrong(m, "has another view of epoch "+epoch.String())
	}
	j.digests[epoch] = digest
}

// versions notices what m has committed: it must have had the right to, and alone.
func (j *judge) versions(m *machine, i int) {
	s, h := &m.seen, &j.objects[i]
	epoch, version, value := m.look.Record(objects[i])
	before := s.have[i]
	s.have[i] = version
	if version <= before || !s.holds[i] || epoch != m.look.Epoch() ||
		epoch == h.epoch && version == h.version {
		return // it has not changed, or a lab move has brought it
	}
	j.committed()
	switch {
	case !s.may:
		j.wrong(m, "has committed "+objectNames[i]+" without the right to")
	case epoch < h.epoch:
		j.wrong(m, "has committed "+objectNames[i]+" in a past epoch")
	case epoch == h.epoch && version != h.version+1:
		j.wrong(m, "has committed "+objectNames[i]+" at version "+
			strconv.FormatUint(version, 10)+" after "+strconv.FormatUint(h.version, 10))
	}
	h.epoch, h.version = epoch, version
	j.once(m, value)
}

// flowing is how many commits a minute are a flow of them.
const flowing = 6

// committed counts.
func (j *judge) committed() {
	j.commits++
	if minute := j.w.now / Minute; minute != j.minute {
		j.minute, j.inMinute = minute, 0
	}
	if j.inMinute++; j.inMinute == flowing {
		j.minutes++
	}
}

// once checks that a client's request is executed for the first time: its value names it.
func (j *judge) once(m *machine, value []byte) {
	if len(value) != 10 || bytes.HasPrefix(value, []byte("step")) {
		return // a lab step's
	}
	c := j.w.clients[binary.BigEndian.Uint16(value)]
	seq := binary.BigEndian.Uint64(value[2:])
	if c.done[seq] {
		j.wrong(m, "executes request "+strconv.FormatUint(seq, 10)+" twice")
	}
	c.done[seq] = true
}

// alone judges that nobody else may commit what m may commit now.
func (j *judge) alone(m *machine, i int) {
	s := &m.seen
	if !s.may {
		return
	}
	if s.from[i] > m.look.Now() && s.from[i] > m.own() {
		j.at = min(j.at, m.reaches(s.from[i]))
		return
	}
	for _, o := range j.w.machines {
		if o == m || !o.runs() || !o.seen.holds[i] {
			continue
		}
		from, holds := o.holds(i)
		_, may := j.may(o)
		if holds && may && from <= o.own() {
			j.wrong(m, "may commit "+objectNames[i]+", and so may "+o.name)
		}
	}
	j.holder(m, i)
}

// printed judges a line of evidence.
func (j *judge) printed(m *machine, l evidence.Line) {
	if err := l.Check(); err != nil {
		j.wrong(m, "prints what the grammar does not know: "+err.Error())
	}
	if l.Is("mesh-fail", "fork") {
		j.wrong(m, "has seen two views under one number")
	}
	if n, ok := l.GetNode("node"); ok && m.root() && l.Is("mesh-fail", "failed") {
		j.convicted(m, n)
	}
}

// leftAlone is how long a member must have been in peace before the authority can be expected to
// know that it lives: a redial or two, a heartbeat, and the failure window.
const leftAlone = 25 * Second

// convicted judges a conviction: its reason must be in the member or on the way to it. That the
// authority did not run is none (rule L5).
func (j *judge) convicted(root *machine, n id.Node) {
	for _, m := range j.w.machines {
		if m.id != n || m == j.w.clone {
			continue
		}
		good := lane{latency: j.w.plan.latency, jitter: j.w.plan.jitter}
		clean := m.path.up == good && m.path.down == good
		switch since := j.w.now - m.touched; {
		case m.runs() && clean && since >= leftAlone:
			j.wrong(root, "convicts "+m.name+" without a reason")
		case m.power == off && clean && m.peaceful && root.booted < m.died:
			j.measured.Detection.note(j.w.now - m.died)
		}
	}
}

// acknowledged is the highest version that a home has acknowledged for an object, and under which
// lease.
func (j *judge) acknowledged(i int) (uint64, id.Node, id.Epoch) {
	h := &j.objects[i]
	return h.acked, h.home, h.lease
}

// told judges an answer to a client: it must not be behind what had been acknowledged, under the
// same lease, when the client asked first. A repeated request may get an old answer.
func (j *judge) told(c *client, r *wire.RouteRep) {
	if c.q.Op == wire.Stat && c.q.Class != wire.Authoritative || c.tries > 1 {
		return
	}
	if r.Home == c.home && r.HomeEpoch == c.lease && r.Version < c.highest {
		j.wrong(c.node, "answers with version "+strconv.FormatUint(r.Version, 10)+" of "+
			objectNames[c.object]+", after "+strconv.FormatUint(c.highest, 10))
	}
	h := &j.objects[c.object]
	if r.HomeEpoch > h.lease {
		h.acked, h.home, h.lease = 0, r.Home, r.HomeEpoch
	}
	if r.Home == h.home && r.HomeEpoch == h.lease {
		h.acked = max(h.acked, r.Version)
	}
}
