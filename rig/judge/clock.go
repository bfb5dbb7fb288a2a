package judge

import (
	"strings"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/mesh/when"
	"holdfast/rig/journal"
)

// driftPPM is how far a guest's counter may run off the rig's clock, in parts per million. QEMU
// makes the one from the other; the rest is for the rate at which the host disciplines its clocks.
const driftPPM = 100

// Clock maps the time of one boot of one node to the rig's. A reading of the guest's counter that
// happened between two instants of the rig bounds the offset from both sides; a console line bounds
// it from above, because it was stamped before it arrived. All bounds together leave a narrow
// interval, or, when the guest's time did not run evenly, none.
type Clock struct {
	low, high time.Duration // the rig's time less the guest's lies between these
	bounded   bool          // there is a bound from below, too
}

// millisecond is what truncation hides of a guest's reading.
const millisecond = time.Millisecond

// clock gathers the bounds of a boot. Its second result is false when they contradict each other or
// there are not enough.
func (r *Run) clock(node string, count int) (Clock, bool) {
	c := Clock{low: -1 << 62, high: 1 << 62}
	below := func(d time.Duration) { c.high = min(c.high, d) }
	above := func(d time.Duration) { c.low, c.bounded = max(c.low, d), true }
	for _, row := range r.Rows {
		if at, ok := row.Time(); ok && row.Node == node && row.Boot == count {
			below(sinceStart(row.Seen) - guest(at))
		}
	}
	for _, record := range r.requests(node, "GET", "/mesh") {
		status, ok := statusLine(record.HTTP)
		if !ok || record.Boot != count {
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
