package sim

import (
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
)

// may reports whether m may commit now, and how long by the counter it may go on.
func (j *judge) may(m *machine) (left when.Span, may bool) {
	if j.adr && !m.root() {
		// Its lease counts from the arrival of any frame, and nothing takes it away.
		left = timing.WriteLeaseMS - m.counter().Sub(m.heard)
		return left, left >= 0 && m.look.Joined()
	}
	return m.look.MayCommit(m.counter(), m.calendar())
}

// right notes whether m may commit now, and until when by its clocks, of which left remains by the
// counter. The authority's own right has no end.
func (j *judge) right(m *machine, may bool, left when.Span) {
	s := &m.seen
	switch {
	case may && m.root():
		s.end, s.told = never, false
	case may:
		s.end, s.told = j.rightEnds(m, left), false
	case s.may && j.w.now < s.end:
		s.end, s.told = j.w.now, true
	}
	s.may = may
}

// rightEnds is the true time at which a member's right is over by its clocks.
func (j *judge) rightEnds(m *machine, left when.Span) Time {
	w := j.w
	counter := m.counter()
	end := m.clock.reaches(w.now, int64(counter.Add(left+1))*int64(Millisecond))
	second := m.calendar()
	if second == when.NoSecond {
		return end
	}
	for range 16 { // more than the lease has seconds
		second++
		if _, may := m.look.MayCommit(counter, second); !may {
			return min(end, m.second.reaches(w.now, int64(second)*million))
		}
	}
	return end
}

// keep notes the end of m's right to commit an object of which it is the latest holder, or that it
// has just given up.
func (j *judge) keep(m *machine, i int) {
	h, s := &j.objects[i], &m.seen
	switch {
	case h.holder != m || h.boots != m.boots:
	case s.holds[i]:
		h.end, h.told = s.end, s.told
	default:
		h.told = s.told || j.w.now < s.end
		h.end = min(s.end, j.w.now)
	}
}

// ended notes that m is the holder of nothing any more.
func (j *judge) ended(m *machine) {
	clear(m.seen.holds)
	for i := range objects {
		j.keep(m, i)
	}
}

// holder notes who may commit an object, and how long after the former holder's right was over.
// When a view has told the former holder that it is none, that says nothing about clocks. The right
// of a holder that died counts as if it lived: nobody can know that it is dead.
func (j *judge) holder(m *machine, i int) {
	h := &j.objects[i]
	if h.holder != nil && (h.holder != m || h.boots != m.boots) {
		slack := j.w.now - h.end
		knows := h.boots == h.holder.boots && h.holder.seen.epoch >= m.seen.epoch
		switch {
		case h.end == never: // the authority, which has given the object away itself
		case h.told || knows:
			j.measured.HandOver.note(slack)
		case slack < 0:
			j.wrong(m, "may commit "+objectNames[i]+", and if it lived so might "+h.holder.name)
		default:
			j.measured.Slack.note(slack)
		}
	}
	h.holder, h.boots, h.end, h.told = m, m.boots, m.seen.end, false
}
