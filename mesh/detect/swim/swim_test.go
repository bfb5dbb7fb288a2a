package swim_test

import (
	"math"
	"testing"

	"holdfast/mesh/detect"
	"holdfast/mesh/detect/policy"
	"holdfast/mesh/detect/swim"
	"holdfast/mesh/when"
)

// Section 7.3 of the chapter, with memberlist's defaults. Its config.go says in a comment that the
// longest suspicion of 10,000 members is 120 s, and that the scale is log(N+1); the formula in
// util.go is max(1, log10 N), and gives 96 s. The chapter says the first of this too; the second it
// passes over.
func TestMemberlistsSuspicionTimes(t *testing.T) {
	for _, c := range []struct {
		n           int
		least, most when.Span
	}{
		{1, 4_000, 24_000}, {3, 4_000, 24_000}, {10, 4_000, 24_000},
		{100, 8_000, 48_000}, {1_000, 12_000, 72_000}, {10_000, 16_000, 96_000},
		{50, 6_792, 40_752}, // log10(50) is taken as 1.698
	} {
		least := swim.MinSuspicion(4, c.n, 1_000)
		if most := swim.MaxSuspicion(6, least); least != c.least || most != c.most {
			t.Errorf("%d members: %d to %d ms, want %d to %d", c.n, least, most, c.least, c.most)
		}
	}
}

// Section 7.4: in a cluster of 100, 48 s without a confirmation, about 23 s with one, 8 s with two.
// The chapter lets the timer start at the maximum always. memberlist starts it at the minimum when
// the cluster has too few members for the confirmations: up to three, with its defaults.
func TestConfirmationsShortenTheSuspicion(t *testing.T) {
	k := swim.ConfirmationsWanted(4, 100)
	for n, want := range []when.Span{48_000, 22_762, 8_000, 8_000} {
		if got := swim.Remaining(n, k, 0, 8_000, 48_000); got != want {
			t.Errorf("%d of %d confirmations: %d ms, want %d", n, k, got, want)
		}
	}
	if got := swim.Remaining(2, 2, 9_000, 8_000, 48_000); got != -1_000 {
		t.Errorf("a second after the end: %d left", got)
	}
	for n, want := range map[int]int{2: 0, 3: 0, 4: 2, 100: 2} {
		if got := swim.ConfirmationsWanted(4, n); got != want {
			t.Errorf("%d members: %d confirmations wanted, want %d", n, got, want)
		}
	}
	if got := swim.Remaining(0, 0, 0, 4_000, 24_000); got != 4_000 {
		t.Errorf("nobody to confirm: %d ms, want the least", got)
	}
	if swim.ConfirmationsWanted(2, 100) != 0 || swim.ConfirmationsWanted(1, 100) != 0 {
		t.Error("a small multiplier wants less than no confirmation")
	}
}

// Section 7.2: the expected number of periods to the first probe of a crashed member is at most
// e/(e-1), whatever the size of the group. Simulated as the paper has it, each member probing
// another at random in each period; the interval is four standard errors wide on each side.
func TestTheFirstDetectionTakesEOverEMinusOnePeriods(t *testing.T) {
	limit := math.E / (math.E - 1)
	if math.Abs(limit-1.58) > 0.005 {
		t.Fatalf("e/(e-1) is %f", limit)
	}
	seed := uint64(1)
	for _, n := range []int{5, 100} {
		const runs = 20_000
		sum, squares := 0.0, 0.0
		for range runs {
			periods := 0.0
			for found := false; !found; {
				periods++
				for range n - 1 {
					found = policy.Draw(&seed)%uint64(n-1) == 0 || found
				}
			}
			sum += periods
			squares += periods * periods
		}
		mean := sum / runs
		e := math.Sqrt((squares/runs - mean*mean) / runs)
		want := swim.FirstDetection(n)
		t.Logf("%d members: %.4f +- %.4f periods, expected %.4f", n, mean, 4*e, want)
		if math.Abs(mean-want) > 4*e || want > limit {
			t.Errorf("%d members: %.4f +- %.4f periods, want %.4f of at most %.4f",
				n, mean, 4*e, want, limit)
		}
	}
	if far := swim.FirstDetection(10_000); math.Abs(far-limit) > 0.0001 {
		t.Errorf("10,000 members: %f, want nearly %f", far, limit)
	}
}

// Section 7.2: with the targets in a shuffled order, every member is probed by each other one
// within 2n-1 periods.
func TestRoundRobinBoundsTheWaitForAProbe(t *testing.T) {
	const n, periods = 7, 20_000
	c := swim.LAN(n)
	c.Guard = false
	d := swim.New(c)
	last, longest, probes := -1, 0, 0
	for i := range periods {
		now := when.Instant(i) * 1_000
		if j := d.Judge(now); j.Ask == policy.Direct {
			longest, last, probes = max(longest, i-last), i, probes+1
			d.Take(now+1, policy.Evidence{Kind: policy.Ack, Round: j.Round})
		}
	}
	if longest > 2*n-1 || longest < n {
		t.Errorf("%d periods between two probes, want at most %d, and more than %d in so many",
			longest, 2*n-1, n)
	}
	if want := periods / (n - 1); probes < want-1 || probes > want+1 {
		t.Errorf("%d probes, want %d: each of the others once a pass", probes, want)
	}
}

// watch is a detector whose peer has answered up to now, and is silent from there.
func watch(c swim.Config) (*swim.Detector, when.Instant) {
	d := swim.New(c)
	for now := when.Instant(0); ; now += 100 {
		if j := d.Judge(now); j.Ask == policy.Direct {
			d.Take(now, policy.Evidence{Kind: policy.Ack, Round: j.Round})
			if now > 10_000 {
				return d, now
			}
		}
	}
}

// until judges every 100 ms until done says so, and returns the instant.
func until(t *testing.T, d *swim.Detector, now when.Instant,
	done func(policy.Judgement) bool) when.Instant {
	t.Helper()
	for end := now.Add(600_000); now < end; now += 100 {
		if done(d.Judge(now)) {
			return now
		}
	}
	t.Fatal("it never came to that")
	return 0
}

func isSuspect(j policy.Judgement) bool { return j.Health == detect.Suspect }
func isFailed(j policy.Judgement) bool  { return j.Health == detect.Failed }

func TestASilentPeerIsProbedAskedForSuspectedAndConvicted(t *testing.T) {
	c := swim.LAN(4)
	c.Guard = false
	d, now := watch(c)
	asked := until(t, d, now+100, func(j policy.Judgement) bool { return j.Ask == policy.Direct })
	helped := until(t, d, asked+100, func(j policy.Judgement) bool { return j.Ask == policy.Indirect })
	suspected := until(t, d, helped+100, func(j policy.Judgement) bool {
		if j.Tell != isSuspect(j) {
			t.Errorf("suspects %v, and tells the others %v", isSuspect(j), j.Tell)
		}
		return isSuspect(j)
	})
	failed := until(t, d, suspected, isFailed)
	if helped-asked != 500 || suspected-asked != 1_000 || failed-suspected != 4_000 {
		t.Errorf("helpers after %d ms, suspected after %d, convicted %d later; want 500, 1000, 4000",
			helped-asked, suspected-asked, failed-suspected)
	}
}

func TestAnIndirectAnswerIsAnAnswer(t *testing.T) {
	d, now := watch(swim.LAN(5))
	for end := now.Add(60_000); now < end; now += 100 {
		j := d.Judge(now)
		if j.Ask == policy.Indirect {
			d.Take(now, policy.Evidence{Kind: policy.Ack, Round: j.Round})
		}
		if j.Health != detect.Alive {
			t.Fatalf("%v although the helpers got through", j.Health)
		}
	}
}

func TestAnAnswerThatComesTooLateIsNone(t *testing.T) {
	d, now := watch(swim.LAN(5))
	var round uint64
	until(t, d, now+100, func(j policy.Judgement) bool {
		round = j.Round
		return j.Ask == policy.Direct
	})
	now = until(t, d, now+100, isSuspect)
	d.Take(now, policy.Evidence{Kind: policy.Ack, Round: round})
	if !isSuspect(d.Judge(now)) {
		t.Error("the answer of a probe that is over ends the suspicion that it began")
	}
}

func TestAnAnswerToAnEarlierProbeIsNoneToThisOne(t *testing.T) {
	c := swim.LAN(3)
	c.Guard = false
	d, now := watch(c)
	isAsked := func(j policy.Judgement) bool { return j.Ask == policy.Direct }
	now = until(t, d, now+100, isAsked)
	old := d.Judge(now).Round
	now = until(t, d, now+100, isAsked)
	d.Take(now, policy.Evidence{Kind: policy.Refutation, Incarnation: 1})
	d.Take(now, policy.Evidence{Kind: policy.Ack, Round: old})
	if !isSuspect(d.Judge(now + 1_000)) {
		t.Error("the answer of one probe counts for the next")
	}
}

func TestOnlyAHigherIncarnationRefutes(t *testing.T) {
	d, now := watch(swim.LAN(5))
	suspect := policy.Evidence{Kind: policy.Suspicion, From: 3}
	d.Take(now, suspect)
	d.Take(now, policy.Evidence{Kind: policy.Refutation})
	if !isSuspect(d.Judge(now)) {
		t.Fatal("refuted by the incarnation that is suspected")
	}
	d.Take(now, policy.Evidence{Kind: policy.Refutation, Incarnation: 1})
	if j := d.Judge(now); j.Health != detect.Alive || d.Incarnation() != 1 {
		t.Fatalf("%v of incarnation %d after the refutation", j.Health, d.Incarnation())
	}
	d.Take(now, suspect)
	if j := d.Judge(now); j.Health != detect.Alive {
		t.Error("suspected by word of an incarnation that is over")
	}
}

func TestAConvictedPeerComesBackWithAHigherIncarnation(t *testing.T) {
	c := swim.LAN(3)
	d, now := watch(c)
	d.Take(now, policy.Evidence{Kind: policy.Suspicion, From: 2})
	now = until(t, d, now, isFailed)
	d.Take(now, policy.Evidence{Kind: policy.Suspicion, From: 1})
	if !isFailed(d.Judge(now)) {
		t.Error("a suspicion revives a convicted peer")
	}
	d.Take(now, policy.Evidence{Kind: policy.Refutation, Incarnation: 1})
	if d.Judge(now).Health != detect.Alive {
		t.Error("a convicted peer cannot come back")
	}
}

func TestLifeguardsConfirmationsCountOncePerMember(t *testing.T) {
	for _, c := range []struct {
		from []int
		want when.Span
	}{
		{nil, 48_000}, {[]int{7, 7, 7}, 48_000}, {[]int{8}, 22_762}, {[]int{8, 8, 7}, 22_762},
		{[]int{8, 9}, 8_000}, {[]int{8, 9, 10}, 8_000},
	} {
		k := swim.LAN(100)
		d, now := watch(k)
		d.Take(now, policy.Evidence{Kind: policy.Suspicion, From: 7})
		for _, from := range c.from {
			d.Take(now, policy.Evidence{Kind: policy.Suspicion, From: from})
		}
		before, after := now.Add(c.want-1), now.Add(c.want)
		if isFailed(d.Clone().Judge(before)) || !isFailed(d.Clone().Judge(after)) {
			t.Errorf("confirmed by %v: not convicted after %d ms", c.from, c.want)
		}
	}
}

// Section 7.4: a member whose probes fail, and who hears from none of its helpers either, stretches
// its probe interval, up to eight times.
func TestAWatcherThatHearsNothingBecomesPatient(t *testing.T) {
	d, now := watch(swim.LAN(5))
	var probes []when.Instant
	for end := now.Add(600_000); now < end; now += 100 {
		if d.Judge(now).Ask == policy.Direct {
			probes = append(probes, now)
		}
		d.Take(now, policy.Evidence{Kind: policy.Refutation, Incarnation: d.Incarnation() + 1})
	}
	// Four others take turns, so that 150 probes of a second each would be usual.
	last := probes[len(probes)-1] - probes[len(probes)-2]
	if last%8_000 != 0 || last > 7*8_000 || len(probes) > 30 {
		t.Errorf("%d probes in 600 s, the last two of them %d ms apart; want periods of 8 s",
			len(probes), last)
	}
	a := swim.NewAwareness(8)
	a.Apply(100)
	if a.Score() != 7 || a.Scale(1_000) != 8_000 {
		t.Errorf("at worst: score %d, a second is %d ms", a.Score(), a.Scale(1_000))
	}
	a.Apply(-100)
	if a.Score() != 0 || a.Scale(1_000) != 1_000 {
		t.Errorf("at best: score %d", a.Score())
	}
}

// With Nacks of all its helpers a watcher knows that it is not to blame.
func TestNacksKeepAWatcherConfident(t *testing.T) {
	d, now := watch(swim.LAN(5))
	probes := 0
	for end := now.Add(240_000); now < end; now += 100 {
		j := d.Judge(now)
		switch j.Ask {
		case policy.Direct:
			probes++
		case policy.Indirect:
			for range 3 {
				d.Take(now, policy.Evidence{Kind: policy.Nack, Round: j.Round})
			}
		}
	}
	if probes != 60 {
		t.Errorf("%d probes in 240 s of four periods each, want 60", probes)
	}
}
