package sim

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"holdfast/mesh/id"
	"holdfast/mesh/wire"
)

// What is judged of replicated commits (I10): what was acknowledged is not lost, whichever home
// answers later, and a read of a copy is no older than it says.
//
// Versions of an object go on from one home to the next with its record. Local commits on top of it
// may vanish when their home does, but never the newest replicated one below them: no later answer
// may have a lower version, and none of that version another value. Only the operator ends that: an
// authority that nobody can prove anything to starts empty at his word.

// durable is the newest commit of an object that was acknowledged as replicated.
type durable struct {
	version uint64
	value   [valueSize]byte
}

// acknowledgement is one that stale reads are compared with.
type acknowledgement struct {
	at      Time
	version uint64
}

// acknowledgementsMax bounds how far back stale reads are compared.
const acknowledgementsMax = 64

// kept judges an answer to a client against what had been acknowledged when the client asked first.
func (j *judge) kept(c *client, r *wire.RouteRep) {
	h := &j.objects[c.object]
	floor := c.floor
	switch {
	case c.forgot != j.forgot || c.tries > 1 && c.q.Op == wire.Commit:
		// The operator has ended it, or the answer may be that of an earlier try.
	case c.q.Op == wire.Stat && c.q.Class == wire.StaleOK:
		j.stale(c, r)
		j.newest(c, r)
	case c.q.Op == wire.Stat && c.q.Class != wire.Authoritative:
	case r.Version < floor.version, c.q.Op == wire.Commit && r.Version == floor.version:
		j.lost(c, r, floor.version)
	case c.q.Op == wire.Stat && r.Version == floor.version && floor.version > 0 &&
		!bytes.Equal(r.Value, floor.value[:]):
		j.wrong(c.node, "answers with another value than was acknowledged of "+objectNames[c.object])
	}
	if c.q.Op != wire.Commit || r.Durability != wire.Replicated {
		return
	}
	if int(r.Copies) < 2 {
		j.wrong(c.node, "calls a commit replicated that has one copy")
	}
	if r.Version > h.durable.version {
		h.durable = durable{r.Version, [valueSize]byte(c.q.Value)}
		h.acks = append(h.acks, acknowledgement{j.w.now, r.Version})
		if len(h.acks) > acknowledgementsMax {
			h.acks = h.acks[1:]
		}
	}
	j.durables++
}

func (j *judge) lost(c *client, r *wire.RouteRep, version uint64) {
	j.wrong(c.node, "answers with version "+strconv.FormatUint(r.Version, 10)+" of "+
		objectNames[c.object]+", after version "+strconv.FormatUint(version, 10)+
		" was acknowledged as replicated")
}

// stale judges the age of a read of a copy: what had been acknowledged before that is in it. The
// node's own counter has measured the age, and may err; an authority without a second clock does
// not know of a freeze.
func (j *judge) stale(c *client, r *wire.RouteRep) {
	if c.node.root() && !c.node.config.Both {
		return
	}
	age := Time(r.AgeMS) * Millisecond
	known := j.w.now - age - age/40 - 50*Millisecond
	for _, a := range j.objects[c.object].acks {
		if a.at < known && a.version > r.Version {
			j.wrong(c.node, "reads version "+strconv.FormatUint(r.Version, 10)+" of "+
				objectNames[c.object]+" as "+strconv.FormatUint(uint64(r.AgeMS), 10)+
				" ms old, and version "+strconv.FormatUint(a.version, 10)+" is older")
			return
		}
	}
}

// begins judges the first view of the authority's boot. Alone in it and without records, it starts
// with nothing: what had been acknowledged is lost, and that takes the operator's word, unless it
// never ran before. It has records when its chip did not take the view of those who proved them.
// With that word it also starts with what somebody shows, who cannot prove that it is the newest.
func (j *judge) begins(root *machine) {
	m := root.config.Marks
	something := root.look.Members() > 1 || root.holdsSomething()
	if m == nil || m.NeverRan || something && !j.mayEmpty {
		return
	}
	if !j.mayEmpty {
		j.wrong(root, "starts with nothing, and nobody has said that it may")
	}
	j.forgot++
	if !something {
		j.emptied++
	}
	for i := range j.objects {
		j.objects[i].durable, j.objects[i].acks = durable{}, nil
		j.objects[i].numbers = [numbersMax]number{}
	}
}

func (m *machine) holdsSomething() bool {
	return slices.ContainsFunc(objects, func(o id.Object) bool {
		_, version, _ := m.look.Record(o)
		return version > 0
	})
}

// allKept judges a whole mesh: every object's home has what was acknowledged.
func (j *judge) allKept() {
	for i := range objects {
		h := &j.objects[i]
		if h.durable.version == 0 {
			continue
		}
		for _, m := range j.w.machines {
			if !m.runs() || !m.look.Joined() {
				continue
			}
			if _, version, _ := m.look.Record(objects[i]); version < h.durable.version &&
				m.seen.holds[i] {
				j.wrong(m, "is the home of "+objectNames[i]+" and has version "+
					strconv.FormatUint(version, 10)+" after version "+
					strconv.FormatUint(h.durable.version, 10)+" was acknowledged as replicated")
			}
		}
	}
}

// once checks that a client's request was executed once: its value names it, and all records that
// hold it have one version.
func (j *judge) once(m *machine, object id.Object, value []byte, version uint64,
	epoch id.Epoch) {
	if len(value) != valueSize {
		return // a lab step's
	}
	c := j.w.clients[binary.BigEndian.Uint16(value)]
	seq := binary.BigEndian.Uint64(value[2:])
	if had := c.done[seq]; had != 0 && had != version {
		j.wrong(m, "executes request "+strconv.FormatUint(seq, 10)+" twice, as version "+
			strconv.FormatUint(had, 10)+" and version "+strconv.FormatUint(version, 10)+
			" of epoch "+epoch.String())
	}
	if c.done[seq] == 0 {
		c.done[seq], c.alone[seq] = version, m.look.Alone(object)
	}
}
