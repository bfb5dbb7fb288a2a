package judge

import (
	"slices"
	"strings"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/mesh/when"
	"holdfast/rig/journal"
)

// driftPPM is how far a guest's counter may run off the rig's clock, in parts per million. QEMU
// makes the one from the other; the rest is for the rate at which the host disciplines its clocks.
const driftPPM = 100

// Clock maps the time of one stretch of one node's life to the rig's. A reading of the guest's
// counter that happened between two instants of the rig bounds the offset from both sides; a
// console line bounds it from above, because it was stamped before it arrived. All bounds together
// leave a narrow interval, or, when the guest's time did not run evenly, none.
type Clock struct {
	low, high time.Duration // the rig's time less the guest's lies between these
	bounded   bool          // there is a bound from below, too
}

// millisecond is what truncation hides of a guest's reading.
const millisecond = time.Millisecond

// stretch is a part of a node's life in which its counter ran on by itself: from its start, a
// reset, or the end of a halt in which the counter stood still, to the next of these.
type stretch struct {
	node     string
	boot     int
	from, to int          // record numbers: from is in it, to is not
	since    journal.Time // a request that is older may have been read before it
}

// stretches returns those of a node, in order.
func (r *Run) stretches(node string) []stretch {
	var all []stretch
	for _, record := range r.Records {
		if record.Node != node || record.Boot == 0 {
			continue
		}
		n := len(all)
		started := n == 0 || record.Boot > all[n-1].boot
		if !started && !begins(record) {
			continue
		}
		if n > 0 {
			all[n-1].to = record.N
		}
		s := stretch{node: node, boot: record.Boot, from: record.N, to: len(r.Records) + 1}
		if !started {
			s.since = record.At
		}
		all = append(all, s)
	}
	return all
}

// begins says whether a running node's counter begins anew with a record, or goes on after it stood
// still.
func begins(r journal.Record) bool {
	switch r.Kind {
	case journal.KindEvent:
		return r.Event.Name == eventReset
	case journal.KindAction:
		return r.Action.Name == journal.ActionThaw || r.Action.Name == journal.ActionArm
	}
	return false
}

// clockAt is the clock of a node around the record of the given number.
func (r *Run) clockAt(node string, n int) (Clock, bool) {
	for _, s := range r.stretches(node) {
		if s.from <= n && n < s.to {
			return r.clock(s)
		}
	}
	return Clock{}, false
}

// clockOf is the clock of the stretch in which a node's counter showed t, which a row of it tells:
// the row's own, or an earlier one that ended in a standstill.
func (r *Run) clockOf(row Row, t when.Instant) (Clock, bool) {
	for _, s := range slices.Backward(r.stretches(row.Node)) {
		if s.from > row.N {
			continue
		}
		c, ok := r.clock(s)
		if _, to := c.at(t); ok && to >= s.since {
			return c, true
		}
		if r.Records[s.from-1].Kind != journal.KindAction {
			break // before it the counter was another
		}
	}
	return Clock{}, false
}

// clock gathers the bounds of a stretch. Its second result is false when they contradict each other
// or there are not enough.
func (r *Run) clock(s stretch) (Clock, bool) {
	c := Clock{low: -1 << 62, high: 1 << 62}
	below := func(d time.Duration) { c.high = min(c.high, d) }
	above := func(d time.Duration) { c.low, c.bounded = max(c.low, d), true }
	for _, row := range r.Rows {
		if at, ok := row.Time(); ok && row.Node == s.node && s.from <= row.N && row.N < s.to {
			below(sinceStart(row.Seen) - guest(at))
		}
	}
	for _, record := range r.requests(s.node, "GET", "/mesh") {
		status, ok := statusLine(record.HTTP)
		inside := s.from <= record.N && record.N < s.to && record.HTTP.Sent >= s.since
		if !ok || record.Boot != s.boot || !inside {
			continue
		}
		if now, ok := status.GetInstant("now_ms"); ok {
			below(sinceStart(record.At) - guest(now))
			above(sinceStart(record.HTTP.Sent) - guest(now) - millisecond)
		}
	}
	drift := r.EndAt.Sub(0) * driftPPM / 1e6
	c.low, c.high = c.low-drift, c.high+drift
	return c, c.bounded && c.low <= c.high
}

// at is the span of the rig's time in which the guest's counter showed t.
func (c Clock) at(t when.Instant) (from, to journal.Time) {
	g := guest(t)
	return journal.Time(0).Add(g + c.low), journal.Time(0).Add(g + millisecond + c.high)
}

// unsharp is how exactly the clock maps.
func (c Clock) unsharp() time.Duration { return c.high - c.low + millisecond }

func sinceStart(t journal.Time) time.Duration { return t.Sub(0) }

func guest(t when.Instant) time.Duration { return time.Duration(t) * time.Millisecond }

// statusLine is the first line of an answer to GET /mesh.
func statusLine(h *journal.HTTP) (evidence.Line, bool) {
	if h.Status != 200 {
		return evidence.Line{}, false
	}
	first, _, _ := strings.Cut(h.Body, "\n")
	l, err := evidence.ParseStatus(first)
	return l, err == nil && strings.HasPrefix(first, nodeHead)
}

// When is the span of the rig's time in which a node's counter showed t, as one of its lines or
// answers tells it: the record of the given number. False when the two clocks cannot be compared
// there.
func (r *Run) When(node string, n int, t when.Instant) (from, to journal.Time, ok bool) {
	c, ok := r.clockAt(node, n)
	if !ok {
		return 0, 0, false
	}
	from, to = c.at(t)
	return from, to, true
}

// Passed returns the frames with new bytes of a mesh session that the relay let through from one
// node to another, in order: what was sent again, or was lost, is left out.
func (r *Run) Passed(from, to string) []journal.Record { return r.fresh(from, to) }
