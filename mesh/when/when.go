// Package when holds the mesh's two time types. Both are whole milliseconds of the node's own
// monotonic counter, counted from its boot: never wall-clock time, never another node's time.
// They are distinct integer types, so that the compiler refuses to add two instants, and they do
// not come from package time, which the mesh may not import (spec/system.md section 1): the
// instant of every step is handed in.
package when

// Instant is a point on this node's counter, in milliseconds since boot. The zero Instant is the
// boot itself; no event happens before it.
type Instant int64

// Span is a length of time in milliseconds.
type Span int64

// Second is one second.
const Second Span = 1000

// Never is later than every instant a node reaches.
const Never Instant = 1<<63 - 1

// Add returns the instant s after t, or Never when that cannot be represented.
func (t Instant) Add(s Span) Instant {
	if s > 0 && t > Never-Instant(s) {
		return Never
	}
	return t + Instant(s)
}

// Sub returns the time from u to t, negative when t is earlier.
func (t Instant) Sub(u Instant) Span { return Span(t - u) }

// Min returns the earlier of t and u.
func (t Instant) Min(u Instant) Instant { return min(t, u) }

// Calendar is a reading of the second clock, which goes on while the counter may stand still: whole
// seconds since any fixed point. It is compared with other readings of the same clock only.
type Calendar int64

// NoSecond is the absence of a reading: the clock is missing, or did not answer.
const NoSecond Calendar = -1 << 63

// Sub returns the time from u to t. Neither may be NoSecond.
func (t Calendar) Sub(u Calendar) Span { return Span(t-u) * Second }
