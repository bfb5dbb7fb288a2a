package timing

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/when"
)

// times are those of nodes whose leases count.
func times(heartbeat, suspect, fail, lease when.Span) Timing {
	return Timing{Heartbeat: heartbeat, Suspect: suspect, Fail: fail, WriteLease: lease}
}

func TestTheDefaultIsTheADRs(t *testing.T) {
	if Default != times(5_000, 6_000, 12_000, 6_000) {
		t.Errorf("default %v", Default)
	}
	if err := Default.Check(); err != nil {
		t.Error(err)
	}
	for what, c := range map[string]struct{ got, want when.Span }{
		"tick":  {Default.Tick(), 250},
		"pause": {Default.Pause(), 1_000},
		"ask":   {Default.Ask(), 2_000},
		"fence": {Default.Fence(), 7_500},
	} {
		if c.got != c.want {
			t.Errorf("%s is %d ms, want %d", what, c.got, c.want)
		}
	}
}

// Each relation is held to the millisecond: the last timing that breaks it, then the first that
// holds.
func TestEveryRelationIsCheckedAtItsBoundary(t *testing.T) {
	for _, c := range []struct {
		name          string
		broken, holds Timing // heartbeat, suspect, fail, write lease
		want          error
	}{
		{"the heartbeat is positive", times(0, 6_000, 12_000, 6_000),
			times(1, 6_000, 12_000, 6_000), ErrOrder},
		{"the lease is positive", times(5_000, 6_000, 12_000, 0),
			times(5_000, 6_000, 12_000, 1), ErrOrder},
		{"suspicion is later than a heartbeat", times(5_000, 5_000, 12_000, 6_000),
			times(5_000, 5_001, 12_000, 6_000), ErrOrder},
		{"failure is later than suspicion", times(5_000, 12_000, 12_000, 6_000),
			times(5_000, 11_999, 12_000, 6_000), ErrOrder},
		{"the failure window is at most an hour", times(5_000, 6_000, 3_600_001, 6_000),
			times(5_000, 6_000, 3_600_000, 6_000), ErrOrder},
		{"heartbeat and lease fit the window by more than 2 ms", times(5_000, 6_000, 11_002, 6_000),
			times(5_000, 6_000, 11_003, 6_000), ErrADR},
		{"a longer lease needs a longer window", times(5_000, 6_000, 12_000, 6_998),
			times(5_000, 6_000, 12_000, 6_997), ErrADR},
		{"drift and handling fit the window", times(1_000, 2_000, 7_446, 6_000),
			times(1_000, 2_000, 7_447, 6_000), ErrL3},
	} {
		if err := c.broken.Check(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v is %v, want %v", c.name, c.broken, err, c.want)
		}
		if err := c.holds.Check(); err != nil {
			t.Errorf("%s: %v is refused: %v", c.name, c.holds, err)
		}
	}
}

// timings draws timings around and beyond what can be used.
func timings(t *rapid.T) Timing {
	span := func(name string) when.Span {
		return when.Span(rapid.Int64Range(-1, 60_000).Draw(t, name))
	}
	return times(span("heartbeat"), span("suspect"), span("fail"), span("lease"))
}

// rho is the drift of rule L3.
const rho = 0.01

// longestLease is the true time in ms after which a lease is surely over and what it allowed has
// been done. It is stated as spec/system.md has it: in real numbers, without the code's
// multiplications.
func longestLease(c Timing) float64 {
	const d, eps, second = 250, 50, 1_000
	return (math.Ceil(float64(c.WriteLease)/second)*second+second)/(1-rho) + d + eps
}

func TestAnAcceptedTimingKeepsTheBoundOfL3(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := timings(t)
		if c.Check() != nil {
			return
		}
		if convicted := float64(c.Fail) / (1 + rho); longestLease(c) > convicted {
			t.Fatalf("%v: a lease may last to %.1f ms, a conviction come at %.1f ms",
				c, longestLease(c), convicted)
		}
	})
}

// Without leases each relation is held to the millisecond in the same way.
func TestEveryRelationWithoutLeasesIsCheckedAtItsBoundary(t *testing.T) {
	acks := func(c Timing) Timing {
		c.AcksAll = true
		return c
	}
	for _, c := range []struct {
		name          string
		broken, holds Timing
		want          error
	}{
		{"the order is the same", acks(times(300, 300, 1_000, 600)), acks(times(300, 301, 1_000, 600)),
			ErrOrder},
		{"so is the ADR's margin", acks(times(500, 700, 902, 400)), acks(times(500, 700, 903, 400)),
			ErrADR},
		// 2 * 200 + 239 = 639 ms of silence: 1.01 * (639/0.99 + 302) = 956.9 ms.
		{"a member that lives is heard in time", acks(times(200, 600, 956, 600)),
			acks(times(200, 600, 957, 600)), ErrAcks},
		{"which leases have no time for", times(300, 600, 1_000, 600), OneSecond, ErrL3},
	} {
		if err := c.broken.Check(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v is %v, want %v", c.name, c.broken, err, c.want)
		}
		if err := c.holds.Check(); err != nil {
			t.Errorf("%s: %v is refused: %v", c.name, c.holds, err)
		}
	}
}

// longestSilence is the true time in ms for which a member that lives may not be heard: two
// questions apart, standing still for as long as it does not notice, and a step late.
func longestSilence(c Timing) float64 {
	const d, eps = 250, 50
	return (2*float64(c.Ask())+float64(c.Pause()))/(1-rho) + d + eps
}

func TestAMemberThatLivesIsNotConvictedWithoutLeases(t *testing.T) {
	const margin = 2
	rapid.Check(t, func(t *rapid.T) {
		c := timings(t)
		c.AcksAll = true
		left := float64(c.Fail)/(1+rho) - longestSilence(c)
		if c.Check() == nil && left < 0 {
			t.Fatalf("%v: silent for %.1f ms and convicted", c, longestSilence(c))
		}
		if got := float64(c.Spare()); math.Abs(got-(left-margin)) > 1 {
			t.Fatalf("%v: %g ms to spare, want %g", c, got, left-margin)
		}
		if c.Fence() != 0 {
			t.Fatalf("%v: a fence of %d ms, and no lease", c, c.Fence())
		}
	})
	if s := OneSecond.Spare(); s != 31 {
		t.Errorf("a second has %d ms to spare, want 31", s)
	}
	for fail, want := range map[when.Span]when.Span{
		1_000: 250, 3_999: 999, 4_000: 1_000, 12_000: 1_000,
	} {
		if got := (Timing{Fail: fail, AcksAll: true}).Pause(); got != want {
			t.Errorf("fail %d: a pause is above %d, want %d", fail, got, want)
		}
	}
}

func TestOnlyTheLabNeedsLeases(t *testing.T) {
	for _, c := range []struct {
		times Timing
		lab   bool
		want  error
	}{
		{Default, true, nil}, {Default, false, nil}, {OneSecond, false, nil}, {OneSecond, true, ErrLab},
	} {
		if err := c.times.CheckLab(c.lab); err != c.want {
			t.Errorf("%v, lab %t: %v, want %v", c.times, c.lab, err, c.want)
		}
	}
}

func TestTheFastTimingIsNearTheShortest(t *testing.T) {
	shorter := Fast
	shorter.Fail -= 100
	if err, next := Fast.Check(), shorter.Check(); err != nil || next == nil {
		t.Errorf("%v: %v; %d ms of window: %v", Fast, err, shorter.Fail, next)
	}
}

func TestTheSpareIsWhatL3Leaves(t *testing.T) {
	const margin = 2
	rapid.Check(t, func(t *rapid.T) {
		c := timings(t)
		want := float64(c.Fail)/(1+rho) - longestLease(c) - margin
		if got := float64(c.Spare()); math.Abs(got-want) > 1 {
			t.Fatalf("%v: %g ms to spare, want %g", c, got, want)
		}
	})
	if s := Default.Spare(); s != 4_508 {
		t.Errorf("the default has %d ms to spare, want 4508", s)
	}
}

// The second clock counts whole seconds: a lease that ends within one lasts longer by it.
func TestALeaseBelowASecondNeedsTheWindowOfASecond(t *testing.T) {
	for lease, least := range map[when.Span]when.Span{400: 2_346, 1_000: 2_346, 1_001: 3_366} {
		c := Timing{Heartbeat: 100, Suspect: 1_000, Fail: least, WriteLease: lease}
		if err := c.Check(); err != nil {
			t.Errorf("lease %d, fail %d: %v", lease, least, err)
		}
		c.Fail--
		if err := c.Check(); !errors.Is(err, ErrL3) {
			t.Errorf("lease %d, fail %d: %v, want %v", lease, c.Fail, err, ErrL3)
		}
	}
}

func TestTheFenceOutlastsEveryLease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := timings(t)
		if c.Check() != nil {
			return
		}
		if longestLease(c) > float64(c.Fence()) {
			t.Fatalf("%v: a lease may last to %.1f ms, the fence is %d ms", c, longestLease(c), c.Fence())
		}
	})
}

func TestShortLeasesStillTickAndAsk(t *testing.T) {
	for lease, want := range map[when.Span][3]when.Span{
		1:     {1, 1, 1},
		80:    {10, 20, 26},
		1_999: {249, 499, 666},
		2_000: {250, 500, 666},
		3_999: {250, 999, 1_333},
		4_000: {250, 1_000, 1_333},
		9_000: {250, 1_000, 3_000},
	} {
		c := Timing{WriteLease: lease}
		if got := [3]when.Span{c.Tick(), c.Pause(), c.Ask()}; got != want {
			t.Errorf("lease %d: tick, pause, ask are %v, want %v", lease, got, want)
		}
	}
}
