package main

import (
	"net/netip"
	"testing"

	"holdfast/mesh/when"
)

func TestTheClockCountsMillisecondsAtEveryFrequency(t *testing.T) {
	const (
		start    = 1 << 40 // the counter goes on over a reset
		twoYears = 2 * 365 * 86_400_000
		late     = 15 // ticks, after that time
	)
	for _, hz := range []uint32{62_500_000, 24_000_000, 8_000_000, 32_768} {
		c := newClock(start, hz)
		for _, ms := range []uint64{0, 1, 249, 250, 12_000, 1 << 31, twoYears} {
			first := (ms*uint64(hz) + 999) / 1000 // the first tick of that millisecond
			before, at := c.at(start+first-1), c.at(start+first+late)
			if at != when.Instant(ms) || ms > 0 && before != when.Instant(ms)-1 {
				t.Errorf("%d Hz: %d ms reads %d, a tick before it %d", hz, ms, at, before)
			}
		}
	}
}

func TestTheMACIsThatOfTheAddress(t *testing.T) {
	for address, want := range map[string][6]byte{
		"10.0.2.15": {2, 0, 0, 0, 0, 15}, "10.7.0.10": {2, 0, 0, 0, 0, 10},
	} {
		if got := macOf(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s has %x, want %x", address, got, want)
		}
	}
}
