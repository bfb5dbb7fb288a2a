package main

import (
	"math/bits"

	"holdfast/kernel/sys"
	"holdfast/mesh/when"
)

// clock turns the raw counter into milliseconds since boot. The counter itself goes on over a
// reset.
//
// It is read several times for every event, and this processor has no 64-bit division: the quotient
// is the upper half of a product. scale is rounded down, so that a reading can be late, by a tick
// every two months, but never early.
type clock struct {
	start uint64
	scale uint64 // 2^64 * 1000 / frequency
}

// newClock counts from start, at hz ticks a second; more than 1,000.
func newClock(start uint64, hz uint32) clock {
	scale, _ := bits.Div64(1000, 0, uint64(hz))
	return clock{start, scale}
}

func (c clock) now() when.Instant { return c.at(sys.Counter()) }

func (c clock) at(counter uint64) when.Instant {
	ms, _ := bits.Mul64(counter-c.start, c.scale)
	return when.Instant(ms)
}
