package kernel

import "holdfast/board/timer"

// clock turns counter ticks into time. It is exact for every counter frequency: the base moves in
// whole seconds only, so that rounding never adds up, and within a second a tick is converted with
// a multiplication and a shift whose error stays below a nanosecond.
type clock struct {
	hz       uint32
	tickMult uint32 // ticks = nanoseconds * tickMult >> 32, rounded up
}

// vvar is the rest of the clock, on a page of its own, because the vDSO reads it: the time at
// base, and how to add the ticks since then. The assembly rests on the order: it loads all before
// real at once, and finds the clocks by their numbers, clockRealtime and clockMonotonic.
type vvar struct {
	sequence uint32 // changes with every change of the others
	limit    uint32 // the vDSO leaves it to the kernel when as many ticks have passed since base
	base     uint64 // counter value
	nsShift  uint32 // nanoseconds = ticks << nsShift * nsMult >> 32, rounded down
	nsMult   uint32
	real     timespec // CLOCK_REALTIME at base
	mono     timespec // CLOCK_MONOTONIC at base
}

// timespec is seconds and nanoseconds. Unsigned, the seconds last until the year 2106.
type timespec struct{ sec, ns uint32 }

const (
	secondNS = 1000000000

	// hzMin and hzMax bound the counter frequencies that the arithmetic is made for.
	hzMin = 100000
	hzMax = secondNS - 1

	clockRealtime        = 0
	clockMonotonic       = 1
	clockMonotonicRaw    = 4
	clockRealtimeCoarse  = 5
	clockMonotonicCoarse = 6
	clockBoottime        = 7
)

func theVvar() *vvar { return (*vvar)(ptr(vvarPage)) }

// init starts both clocks: CLOCK_MONOTONIC at one second, because the runtime takes 0 for "not
// known", CLOCK_REALTIME at 1970 until somebody sets it.
func (c *clock) init(hz uint32, now uint64) {
	if hz < hzMin || hz > hzMax {
		die("kernel: counter frequency out of range")
	}
	c.hz = hz
	mult, rest := divide32(hz, secondNS)
	if rest {
		mult++
	}
	c.tickMult = mult
	v := theVvar()
	*v = vvar{limit: 2 * hz, base: now, mono: timespec{sec: 1}}
	v.nsMult, v.nsShift = nsPerTick(hz)
}

// divide32 is n << 32 / d, rounded down, for n < d, and whether there is a remainder. There is no
// 64-bit division in the processor.
func divide32(n, d uint32) (q uint32, rest bool) {
	for range 32 {
		carry := n >> 31
		n <<= 1
		q <<= 1
		if carry != 0 || n >= d {
			n -= d
			q++
		}
	}
	return q, n != 0
}

// nsPerTick is the length of a tick in nanoseconds, mult / 2^(32-shift), rounded down, with as many
// bits as fit: ticks << shift does not overflow for two seconds of them, which are below
// 2^32 / 2^shift.
func nsPerTick(hz uint32) (mult, shift uint32) {
	for hz<<shift <= secondNS {
		shift++
	}
	mult, _ = divide32(secondNS, hz<<shift)
	return mult, shift
}

// nsOf is how long ticks take, less than two seconds of them, in nanoseconds.
func (v *vvar) nsOf(ticks uint32) uint32 {
	return uint32(uint64(ticks<<v.nsShift) * uint64(v.nsMult) >> 32)
}

// add is the time ns nanoseconds after ts, for less than three seconds.
func (ts timespec) add(ns uint32) timespec {
	ts.ns += ns
	for ts.ns >= secondNS {
		ts.ns -= secondNS
		ts.sec++
	}
	return ts
}

// refresh moves the base on by whole seconds until less than one has passed since then. The timer
// sees to it that this happens every second; a stopped virtual machine may come back hours later.
func (c *clock) refresh(now uint64) {
	v := theVvar()
	if now-v.base < uint64(c.hz) {
		return
	}
	for s := 31; s >= 0; s-- {
		if ticks := uint64(c.hz) << uint(s); now-v.base >= ticks {
			v.base += ticks
			v.mono.sec += 1 << uint(s)
			v.real.sec += 1 << uint(s)
		}
	}
	v.sequence++
}

// gettime is clock_gettime and clock_gettime64: out is two words, or two double words.
func (k *kernel) gettime(id, out uint32, time64 bool) int32 {
	now := timer.Counter()
	k.clock.refresh(now)
	v := theVvar()
	var ts timespec
	switch id {
	case clockRealtime, clockRealtimeCoarse:
		ts = v.real
	case clockMonotonic, clockMonotonicRaw, clockMonotonicCoarse, clockBoottime:
		ts = v.mono
	default:
		return -eINVAL
	}
	ts = ts.add(v.nsOf(uint32(now - v.base)))
	if time64 {
		if !k.wordsWritable(out, 16) {
			return -eFAULT
		}
		store64(out, uint64(ts.sec))
		store64(out+8, uint64(ts.ns))
		return 0
	}
	if !k.wordsWritable(out, 8) {
		return -eFAULT
	}
	*word(out), *word(out + 4) = ts.sec, ts.ns
	return 0
}

// settime is settimeofday: it sets CLOCK_REALTIME and leaves the other clock alone.
func (k *kernel) settime(tv uint32) int32 {
	if !k.wordsReadable(tv, 8) {
		return -eFAULT
	}
	sec, us := *word(tv), *word(tv + 4)
	if us >= 1000000 || sec == 0 {
		return -eINVAL
	}
	now := timer.Counter()
	k.clock.refresh(now)
	v := theVvar()
	ns, elapsed := us*1000, v.nsOf(uint32(now-v.base))
	if ns < elapsed {
		ns += secondNS
		sec--
	}
	v.real = timespec{sec, ns - elapsed}
	v.sequence++
	return 0
}

// after is the counter value sec seconds and ns nanoseconds from now: never early, never 0.
func (c *clock) after(sec uint64, ns uint32) uint64 {
	const forever = 1 << 30 // seconds
	sec = min(sec, forever)
	ticks := (uint64(ns)*uint64(c.tickMult) + (1<<32 - 1)) >> 32
	return timer.Counter() + sec*uint64(c.hz) + ticks + 1
}
