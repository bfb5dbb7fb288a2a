package lab

import (
	"sort"

	"holdfast/mesh/when"
	"holdfast/rig/lab/trace"
)

// hearing is a trace laid out in time, beginning with a heartbeat at 0.
type hearing struct {
	interval when.Span
	ends     []when.Instant // of the trace's gaps
	causes   []trace.Cause
	late     []when.Span    // by how much each gap is longer than the interval
	beats    []when.Instant // that the policy gets
	end      when.Instant
	cursor   int // of gap; searches go forward
	taken    int // of arrived
}

// hear lays a trace out for a policy with that heartbeat, which is not shorter than the trace's.
func hear(t *trace.Trace, interval when.Span) *hearing {
	h := &hearing{interval: t.Interval}
	at := when.Instant(0)
	for _, g := range t.Gaps {
		at = at.Add(g.Length)
		h.ends = append(h.ends, at)
		h.causes = append(h.causes, g.Cause)
		h.late = append(h.late, max(0, g.Length-t.Interval))
	}
	h.end = at
	h.beats = h.thin(interval)
	return h
}

// thin picks the heartbeats of a sender with a longer interval: of each, the one of the trace that
// is nearest to it. One that falls into a time in which the path was broken is lost.
func (h *hearing) thin(interval when.Span) []when.Instant {
	beats := []when.Instant{0}
	if interval < 2*h.interval {
		return append(beats, h.ends...)
	}
	half := h.interval / 2
	for due := when.Instant(0).Add(interval - half); ; {
		i := sort.Search(len(h.ends), func(i int) bool { return h.ends[i] >= due })
		if i == len(h.ends) {
			return beats
		}
		if h.causes[i] == trace.Path && due < h.ends[i].Add(-h.interval-half) {
			due = due.Add(interval)
			continue
		}
		beats = append(beats, h.ends[i])
		due = h.ends[i].Add(interval - half)
	}
}

// gap is the index of the gap that now lies in, at most the last one. Later calls are for later
// instants, but for those of crashes, which look at none.
func (h *hearing) gap(now when.Instant) int {
	if h.cursor > 0 && h.ends[h.cursor-1] >= now {
		h.cursor = sort.Search(len(h.ends), func(i int) bool { return h.ends[i] >= now })
	}
	for h.cursor < len(h.ends)-1 && h.ends[h.cursor] < now {
		h.cursor++
	}
	return min(h.cursor, len(h.ends)-1)
}

// stopped reports whether the watcher itself does not run at now.
func (h *hearing) stopped(now when.Instant) bool {
	i := h.gap(now)
	end := h.ends[i]
	return h.causes[i] == trace.Self && now > end.Add(-h.late[i]) && now < end
}

// arrived is how many heartbeats have come up to now.
func (h *hearing) arrived(now when.Instant) int {
	for h.taken < len(h.beats) && h.beats[h.taken] <= now {
		h.taken++
	}
	return h.taken
}

// answers is when the peer gets to what this watcher sends it at now. not direct: the path between
// the two is broken until then, and a datagram is lost; others reach the peer at once.
func (h *hearing) answers(now when.Instant) (at when.Instant, direct bool) {
	i := h.gap(now)
	over := h.ends[i].Add(-h.interval)
	if now >= over || h.late[i] == 0 || h.causes[i] == trace.Self {
		return now, true
	}
	return over, h.causes[i] == trace.Peer
}
