package sim

import (
	"strconv"

	"holdfast/mesh/id"
	"holdfast/mesh/wire"
)

// What is judged of commits (I1, I7).

// versions notices what m has committed: it must have had the right to, and alone.
func (j *judge) versions(m *machine, i int) {
	s, h := &m.seen, &j.objects[i]
	epoch, version, value := m.look.Record(objects[i])
	before := s.have[i]
	s.have[i] = version
	if version > 0 && version != before {
		j.once(m, objects[i], value, version, epoch)
		j.oneRecord(m, i, epoch, version, value)
	}
	if version <= before || !s.holds[i] || !m.look.Joined() || epoch != m.look.Epoch() ||
		epoch == h.epoch && version == h.version {
		return // it has not changed, or a lab move has brought it
	}
	j.committed()
	if !m.look.Alone(objects[i]) {
		h.epoch, h.version = epoch, version
		j.stored(m, i)
		return // every member holds it: no lease is needed
	}
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
}

// number is one that a record has had, and what it began with.
type number struct {
	epoch   id.Epoch
	version uint64
	value   [valueSize]byte
}

// numbersMax bounds how far back a record is compared with another one of its number.
const numbersMax = 64

// oneRecord judges that one number, epoch and version, names one record of an object, wherever it
// is published: of two, one would take the other's place.
func (j *judge) oneRecord(m *machine, i int, epoch id.Epoch, version uint64, value []byte) {
	had := &j.objects[i].numbers[version%numbersMax]
	now := number{epoch: epoch, version: version}
	copy(now.value[:], value)
	switch {
	case had.epoch != epoch || had.version != version:
		*had = now
	case had.value != now.value:
		j.wrong(m, "publishes another version "+strconv.FormatUint(version, 10)+" of "+
			objectNames[i]+" in epoch "+epoch.String())
	}
}

// lostWith forgets the first commits of objects that are lost with m. Without a detector its next
// boot may be admitted in the same epoch, by an authority that knows of no commit at all, and begin
// anew.
func (j *judge) lostWith(m *machine) {
	root := j.w.machines[0]
	if m.config.Detect || !root.runs() || root.holdsSomething() {
		return
	}
	for i := range objects {
		if h := &j.objects[i]; m.seen.holds[i] && m.look.Alone(objects[i]) {
			h.numbers, h.acked = [numbersMax]number{}, 0
			h.lost++
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
	lost := j.objects[c.object].lost > c.lost
	if r.Home == c.home && r.HomeEpoch == c.lease && r.Version < c.highest && !lost {
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
