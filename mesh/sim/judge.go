package sim

import (
	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
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
//	    acknowledged, it has not forgotten; no request is executed twice; a number names one record
//	I8  every line of evidence is one
//	I9  nobody is convicted without a reason, and nobody talks without end
//	I10 what was acknowledged as replicated is not lost; a copy is no older than it says
//
// A node's right to commit begins with a step, with the end of a wait that it knows of, or when the
// machine runs again, and it ends at any time. So what two nodes may do at the same instant, they
// may do at one of those; the judge looks at each of them.
type judge struct {
	w       *world
	at      Time // when it wants to look, since a wait will be over; never for no reason
	verdict string
	adr     bool // judges by the lease as the ADR has it

	paced  Time  // a minute ends then
	events int64 // steps before it began

	digests  []id.Digest // by epoch
	highest  id.Epoch    // the authority's, in former boots
	objects  []history
	commits  int64
	durables int64 // acknowledged as replicated
	mayEmpty bool  // the authority has the operator's word that it may start with nothing
	emptied  int64 // how often it did
	forgot   int64 // how often it began by that word, with nothing or with what somebody showed
	outcomes Outcomes
	restarts [3]int64 // of the authority of a world of failovers, by what became of its marks
	acts     []Act    // of a world of failovers
	measured Measures

	minute   Time  // the latest one in which something was committed
	inMinute int   // how much
	minutes  int64 // in so many, enough was
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
	numbers [numbersMax]number // by version

	// The latest holder.
	holder *machine
	boots  int
	end    Time // of its right, and what ended it
	told   bool

	// What has been acknowledged.
	acked   uint64
	lost    int // how often it is forgotten
	home    id.Node
	lease   id.Epoch
	durable durable
	acks    []acknowledgement
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
	j.lostWith(m)
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
const answerMS = 15_000

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
	if m.root() && s.epoch == 0 {
		j.begins(m)
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

// alone judges that nobody else may commit what m may commit now.
func (j *judge) alone(m *machine, i int) {
	s := &m.seen
	if !s.may {
		return
	}
	if s.from[i] > m.own() {
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
