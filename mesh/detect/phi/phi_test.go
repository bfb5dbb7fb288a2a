package phi_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/detect"
	"holdfast/mesh/detect/phi"
	"holdfast/mesh/detect/policy"
	"holdfast/mesh/when"
)

// near compares to the digits that the chapter prints.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s is %.4f, want %.4f within %g", what, got, want, within)
	}
}

// The first table of the chapter, section 5.2: a busy Linux machine with a mean of 101.1 ms.
func TestPhiOfABusyMachineRawAndFloored(t *testing.T) {
	for _, c := range []struct{ gap, raw, floored float64 }{
		{105, 1.3, 0.31}, {112, 6.0, 0.34}, {114, 8.5, 0.35}, {132, 74.3, 0.42}, {146, 213.7, 0.49},
	} {
		near(t, "raw phi", phi.Normal(c.gap, 101.1, 2.4), c.raw, 0.05)
		near(t, "floored phi", phi.Normal(c.gap, 101.1, 100), c.floored, 0.005)
	}
}

// The second table: Akka's defaults, a heartbeat a second, 3 s of pause, the floor.
func TestPhiWithAkkasDefaults(t *testing.T) {
	for _, c := range []struct{ silence, want float64 }{
		{4000, 0.3}, {4400, 4.7}, {4500, 7.3}, {4600, 10.8},
	} {
		near(t, "phi", phi.Normal(c.silence, 1000+3000, 100), c.want, 0.05)
	}
}

// The stable form is Akka's, where Akka's can be computed.
func TestPhiIsAkkasFormula(t *testing.T) {
	akka := func(silence, mean, deviation float64) float64 {
		y := (silence - mean) / deviation
		e := math.Exp(-y * (1.5976 + 0.070566*y*y))
		if silence > mean {
			return -math.Log10(e / (1 + e))
		}
		return -math.Log10(1 - 1/(1+e))
	}
	rapid.Check(t, func(t *rapid.T) {
		y := rapid.Float64Range(-4, 15).Draw(t, "deviations")
		want, got := akka(1000+100*y, 1000, 100), phi.Normal(1000+100*y, 1000, 100)
		if math.Abs(got-want) > 1e-6*max(1, want) {
			t.Fatalf("%g deviations: %g, Akka's %g", y, got, want)
		}
	})
	if far := phi.Normal(5000, 100, 1); math.IsInf(far, 0) || far < 1e6 {
		t.Errorf("4,900 deviations: %g, want a large number", far)
	}
}

// Section 5.3: at 8 Cassandra convicts after 8 ln 10 = 18.4 means.
func TestCassandraConvictsAfter18MeansAndABit(t *testing.T) {
	near(t, "the silence at 8", phi.ExponentialAt(phi.Threshold), 18.4, 0.05)
	near(t, "phi there", phi.Exponential(18.42*1000, 1000), 8, 0.001)
	p := phi.NewExponential(phi.Cassandra)
	now := when.Instant(0)
	beat := func() { p.Take(now, policy.Evidence{Kind: policy.Heartbeat}) }
	for range 2000 { // the first gap of 2 s has left the window
		beat()
		p.Judge(now)
		now += 1000
	}
	now -= 1000
	for silence := when.Span(0); ; silence += 10 {
		if j := p.Judge(now.Add(silence)); j.Health == detect.Failed {
			if silence != 18430 {
				t.Errorf("convicted after %d ms, want 18430", silence)
			}
			return
		}
		if silence > 20_000 {
			t.Fatal("never convicted")
		}
	}
}

func TestAkkaConvictsAfterFourAndAHalfSeconds(t *testing.T) {
	p := phi.NewNormal(phi.Akka)
	now := when.Instant(0)
	for range 2000 {
		p.Take(now, policy.Evidence{Kind: policy.Heartbeat})
		now += 1000
	}
	now -= 1000
	at := func(silence when.Span) detect.Health { return p.Judge(now.Add(silence)).Health }
	if at(4000) != detect.Alive || at(4400) != detect.Suspect || at(4520) != detect.Suspect ||
		at(4530) != detect.Failed {
		t.Errorf("at 4.0, 4.4, 4.52, 4.53 s: %v %v %v %v", at(4000), at(4400), at(4520), at(4530))
	}
}

// A gap that a conviction ended must not teach the detector that such gaps are usual.
func TestNeitherModelLearnsFromAnOutage(t *testing.T) {
	akka, cassandra := phi.NewNormal(phi.Akka), phi.NewExponential(phi.Cassandra)
	for name, p := range map[string]policy.Policy{"akka": akka, "cassandra": cassandra} {
		now := when.Instant(0)
		for range 50 {
			p.Take(now, policy.Evidence{Kind: policy.Heartbeat})
			now += 1000
		}
		before := p.Judge(now.Add(2000)).Level
		now += 60_000
		p.Take(now, policy.Evidence{Kind: policy.Heartbeat})
		if after := p.Judge(now.Add(3000)).Level; math.Abs(after-before) > 0.01 {
			t.Errorf("%s: the same silence is %.3f before an outage and %.3f after", name, before, after)
		}
	}
}

// Section 5.3: a watcher that has not looked for 5 s convicts nobody for 5 s.
func TestCassandraDoesNotConvictAfterItsOwnPause(t *testing.T) {
	p := phi.NewExponential(phi.Cassandra)
	now := when.Instant(0)
	for range 100 {
		p.Take(now, policy.Evidence{Kind: policy.Heartbeat})
		p.Judge(now)
		now += 1000
	}
	now += 30_000 // neither heartbeats nor looks
	for elapsed := when.Span(0); elapsed < 5000; elapsed += 500 {
		if j := p.Judge(now.Add(elapsed)); j.Health != detect.Alive || j.Level < phi.Threshold {
			t.Fatalf("%d ms after the pause: %v at %.1f", elapsed, j.Health, j.Level)
		}
	}
	if j := p.Judge(now.Add(5000)); j.Health != detect.Failed {
		t.Errorf("5 s after the pause, and still nothing heard: %v", j.Health)
	}
}

func TestTheWindowForgetsTheOldest(t *testing.T) {
	w := phi.NewWindow(3)
	if w.Mean() != 0 || w.Deviation() != 0 || w.Len() != 0 {
		t.Error("an empty window has figures")
	}
	for _, gap := range []when.Span{9_999, 1, 2, 6} {
		w.Add(gap)
	}
	near(t, "mean", w.Mean(), 3, 1e-9)
	near(t, "deviation", w.Deviation(), math.Sqrt(14.0/3), 1e-9)
	w.Add(-5)
	w.Add(1 << 40)
	near(t, "mean of what is bounded", w.Mean(), (6+0+3_600_000)/3.0, 1e-3)
}

func TestMoreSilenceIsMoreSuspicious(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mean := rapid.Float64Range(1, 1e6).Draw(t, "mean")
		deviation := rapid.Float64Range(0.1, 1e6).Draw(t, "deviation")
		a := rapid.Float64Range(0, 1e7).Draw(t, "silence")
		b := a + rapid.Float64Range(0, 1e7).Draw(t, "more")
		if phi.Normal(a, mean, deviation) > phi.Normal(b, mean, deviation) ||
			phi.Exponential(a, mean) > phi.Exponential(b, mean) {
			t.Errorf("less suspicious after %g than after %g", b, a)
		}
		if n := phi.Normal(a, mean, deviation); n < 0 || math.IsNaN(n) {
			t.Errorf("phi %g", n)
		}
	})
}

func TestACloneGoesItsOwnWay(t *testing.T) {
	for name, p := range map[string]policy.Policy{
		"normal": phi.NewNormal(phi.Akka), "exponential": phi.NewExponential(phi.Cassandra),
	} {
		now := when.Instant(0)
		for range 10 {
			p.Take(now, policy.Evidence{Kind: policy.Heartbeat})
			now += 1000
		}
		want := p.Clone().Judge(now.Add(500)).Level
		c := p.Clone()
		for range 2000 {
			c.Take(now, policy.Evidence{Kind: policy.Heartbeat})
			now += 1500
		}
		if got := p.Judge(when.Instant(10_500)).Level; got != want {
			t.Errorf("%s: %g after its clone went on, %g before", name, got, want)
		}
	}
}
