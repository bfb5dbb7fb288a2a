//go:build !arm

package kernel

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"holdfast/board/timer"
)

// exactNS is ticks in nanoseconds, rounded down.
func exactNS(ticks uint64, hz uint32) *big.Int {
	n := new(big.Int).SetUint64(ticks)
	n.Mul(n, big.NewInt(secondNS))
	return n.Div(n, big.NewInt(int64(hz)))
}

func drawHz(t *rapid.T) uint32 {
	return rapid.OneOf(rapid.SampledFrom([]uint32{hzMin, 8000000, 24000000, 62500000, 999500, hzMax}),
		rapid.Uint32Range(hzMin, hzMax)).Draw(t, "hz")
}

// Within the two seconds that the conversion is made for it is right to the nanosecond, never
// ahead, and never decreases.
func TestTicksBecomeNanosecondsAtEveryFrequency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hz := drawHz(t)
		var v vvar
		v.nsMult, v.nsShift = nsPerTick(hz)
		if v.nsShift < 1 || v.nsShift > 31 {
			t.Fatalf("shift %d: the vDSO can not do that", v.nsShift)
		}
		ticks := rapid.Uint32Range(0, 2*hz-1).Draw(t, "ticks")
		got := v.nsOf(ticks)
		want := exactNS(uint64(ticks), hz).Uint64()
		if uint64(got) > want || uint64(got)+2 < want {
			t.Fatalf("%d ticks of 1/%d s are %d ns, want %d", ticks, hz, got, want)
		}
		if ticks > 0 && v.nsOf(ticks-1) > got {
			t.Fatalf("%d ticks are less than %d ticks", ticks, ticks-1)
		}
	})
}

func TestADeadlineIsNeverEarlyAndHardlyLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host.memory = make([]byte, 1<<20)
		hz := drawHz(t)
		var c clock
		timer.Host.Count = rapid.Uint64Range(0, 1<<50).Draw(t, "now")
		c.init(hz, timer.Host.Count)
		sec := rapid.Uint64Range(0, 1<<34).Draw(t, "sec")
		ns := rapid.Uint32Range(0, secondNS-1).Draw(t, "ns")
		ticks := c.after(sec, ns) - timer.Host.Count
		if sec > 1<<30 {
			sec = 1 << 30
		}
		asked := new(big.Int).SetUint64(sec)
		asked.Mul(asked, big.NewInt(secondNS)).Add(asked, big.NewInt(int64(ns)))
		if exactNS(ticks-1, hz).Cmp(asked) < 0 {
			t.Fatalf("%d s %d ns end after %d ticks of 1/%d s", sec, ns, ticks, hz)
		}
		if late := exactNS(ticks-3, hz); ticks > 3 && late.Cmp(asked) > 0 {
			t.Fatalf("%d s %d ns end as late as after %d ticks of 1/%d s", sec, ns, ticks, hz)
		}
	})
}

// However time passes, in small steps or in leaps of months, the clock is where the counter is.
func TestTheClockNeverDriftsAndNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host.memory = make([]byte, 1<<20)
		hz := drawHz(t)
		start := rapid.Uint64Range(0, 1<<50).Draw(t, "start")
		var c clock
		c.init(hz, start)
		now := start
		last := new(big.Int)
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			step := rapid.OneOf(rapid.Uint64Range(0, 100), rapid.Uint64Range(0, uint64(hz)*3),
				rapid.Uint64Range(0, uint64(hz)<<22)).Draw(t, "step")
			now += step
			c.refresh(now)
			v := theVvar()
			if now-v.base >= uint64(hz) {
				t.Fatalf("base %d is %d ticks behind", v.base, now-v.base)
			}
			ts := v.mono.add(v.nsOf(uint32(now - v.base)))
			got := big.NewInt(int64(ts.sec))
			got.Mul(got, big.NewInt(secondNS)).Add(got, big.NewInt(int64(ts.ns)))
			want := exactNS(now-start, hz)
			want.Add(want, big.NewInt(secondNS)) // it starts at one second
			d := new(big.Int).Sub(want, got)
			if d.Sign() < 0 || d.Cmp(big.NewInt(2)) > 0 || got.Cmp(last) < 0 {
				t.Fatalf("%d ticks of 1/%d s: %v ns, want %v, before %v", now-start, hz, got, want, last)
			}
			last = got
		}
	})
}

func TestAFrequencyOutOfRangeStopsTheKernel(t *testing.T) {
	host.memory = make([]byte, 1<<20)
	for hz, ok := range map[uint32]bool{
		0: false, hzMin - 1: false, hzMin: true, hzMax: true, hzMax + 1: false,
	} {
		t.Run(fmt.Sprint(hz), func(t *testing.T) {
			defer func() {
				if stopped := recover() != nil; stopped == ok {
					t.Errorf("stopped: %v", stopped)
				}
			}()
			new(clock).init(hz, 0)
		})
	}
}

func TestSettingTheTimeMovesOneClock(t *testing.T) {
	b := newBench(t)
	const tv, out = benchData, benchData + 16
	read := func(id uint32) [2]uint32 {
		t.Helper()
		b.want("clock_gettime", b.call(callClockGettime, id, out), 0)
		return [2]uint32{*word(out), *word(out + 4)}
	}
	b.pass(2_300_000)
	mono := read(clockMonotonic)
	b.store(tv, 1_800_000_000, 100) // less into the second than has passed since the base
	b.want("settimeofday", b.call(callSettimeofday, tv), 0)
	if got, want := read(clockRealtime), [2]uint32{1_800_000_000, 100_000}; got != want {
		t.Errorf("realtime %d, want %d", got, want)
	}
	if got := read(clockMonotonic); got != mono {
		t.Errorf("monotonic %d, was %d", got, mono)
	}
	b.pass(1_000_000)
	if got, want := read(clockRealtime), [2]uint32{1_800_000_001, 100_000}; got != want {
		t.Errorf("realtime a second later %d, want %d", got, want)
	}
	b.store(tv, 0, 0)
	b.want("1970", b.call(callSettimeofday, tv), -eINVAL)
	b.store(tv, 1, 1_000_000)
	b.want("a million microseconds", b.call(callSettimeofday, tv), -eINVAL)
	b.want("64-bit time", b.call(callClockGettime64, clockRealtime, out), 0)
	if load64(out) != 1_800_000_001 || load64(out+8) != 100_000 {
		t.Errorf("64-bit realtime %d %d", load64(out), load64(out+8))
	}
}
