package sim

import "holdfast/mesh/when"

// Time is true time in microseconds, from the beginning of the world. It is finer than the nodes'
// own milliseconds, so that what they truncate is simulated too.
type Time int64

// Lengths of true time.
const (
	Millisecond Time = 1_000
	Second      Time = 1_000 * Millisecond
	Minute      Time = 60 * Second
	Hour        Time = 60 * Minute

	never Time = 1<<63 - 1
)

const million = 1_000_000

// horizon is longer than any world lasts, and short enough to be multiplied by a million.
const horizon = int64(2_000 * Hour)

// clock is a clock with an error of its own: true time times a rate that is nearly one, with
// stretches in which it stands still, and jumps.
type clock struct {
	since Time  // true time of its latest change
	shown int64 // microseconds that it showed then
	fast  int64 // millionths by which it is fast
	still bool
}

// micros is what the clock shows at t, which is not before its latest change. It never goes back
// from one t to the next: rounding is by less than a microsecond of true time.
func (c *clock) micros(t Time) int64 {
	if c.still {
		return c.shown
	}
	d := int64(t - c.since)
	return c.shown + d + d/million*c.fast + d%million*c.fast/million
}

// counter is the clock read as a node's counter: whole milliseconds since its boot.
func (c *clock) counter(t Time) when.Instant { return when.Instant(c.micros(t) / 1_000) }

// calendar is the clock read as a second clock: whole seconds.
func (c *clock) calendar(t Time) when.Calendar { return when.Calendar(c.micros(t) / million) }

// reaches is the true time, not before now, at which the clock first shows want microseconds; never
// while it stands still below that.
func (c *clock) reaches(now Time, want int64) Time {
	switch missing := want - c.micros(now); {
	case missing <= 0:
		return now
	case c.still || missing > horizon:
		return never
	default:
		at := now + Time(missing*million/(million+c.fast))
		for at > now && c.micros(at-1) >= want { // division has rounded: by a microsecond or two
			at--
		}
		for c.micros(at) < want {
			at++
		}
		return at
	}
}

// change makes the clock show, from t on, what it shows then and by microseconds more.
func (c *clock) change(t Time, by int64) { c.shown, c.since = c.micros(t)+by, t }

// stop and start make the clock stand still and go on.
func (c *clock) stop(t Time)  { c.change(t, 0); c.still = true }
func (c *clock) start(t Time) { c.change(t, 0); c.still = false }
