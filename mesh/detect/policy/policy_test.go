package policy_test

import (
	"testing"

	"holdfast/mesh/detect"
	"holdfast/mesh/detect/policy"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
)

// beat hands a heartbeat in.
func beat(p policy.Policy, now when.Instant) {
	p.Take(now, policy.Evidence{Kind: policy.Heartbeat})
}

// Section 3.1 of the chapter: two hours and eleven minutes with keepalive, over 15 minutes with
// data in flight.
func TestTCPNoticesLate(t *testing.T) {
	keepalive := policy.KeepaliveEnds(policy.TCPKeepaliveIdleMS, policy.TCPKeepaliveEveryMS,
		policy.TCPKeepaliveProbes)
	if minutes := keepalive / 60_000; minutes != 2*60+11 || keepalive != 7_875_000 {
		t.Errorf("keepalive gives up after %d ms", keepalive)
	}
	data := policy.RetransmissionEnds(policy.TCPMinRTOMS, policy.TCPMaxRTOMS, policy.TCPRetries)
	if data != 924_600 || data <= 15*60_000 {
		t.Errorf("retransmission gives up after %d ms, want 924600", data)
	}
}

func TestAFixedTimeoutConvictsAtItsBoundary(t *testing.T) {
	p := policy.NewFixed(300)
	beat(p, 1_000)
	for now, want := range map[when.Instant]detect.Health{
		1_000: detect.Alive, 1_299: detect.Alive, 1_300: detect.Failed, 9_000: detect.Failed,
	} {
		if got := p.Clone().Judge(now); got.Health != want {
			t.Errorf("at %d: %v", now, got.Health)
		}
	}
	if level := p.Judge(1_150).Level; level != 0.5 {
		t.Errorf("halfway: level %g", level)
	}
	beat(p, 9_000)
	if p.Judge(9_000).Health != detect.Alive {
		t.Error("heard again, and still convicted")
	}
}

// Section 1: the monitor of the chapter, whose worker sleeps a second: dead at 1.3, back at 2.0.
func TestTheSimplestMonitorConvictsALivingWorker(t *testing.T) {
	p := policy.NewFixed(300)
	var convicted, back when.Instant
	for now := when.Instant(0); now < 3_000; now += 20 {
		if now%100 == 0 && (now <= 1_000 || now >= 2_000) {
			beat(p, now)
		}
		health := p.Judge(now).Health
		if health == detect.Failed && convicted == 0 {
			convicted = now
		}
		if health == detect.Alive && convicted != 0 && back == 0 {
			back = now
		}
	}
	if convicted != 1_300 || back != 2_000 {
		t.Errorf("convicted at %d, taken back at %d; want 1300 and 2000", convicted, back)
	}
}

func TestThePairIsTheShippedDetector(t *testing.T) {
	for silence := when.Span(0); silence < 14_000; silence += 250 {
		p := policy.NewPair(timing.Default)
		beat(p, 0)
		var got policy.Judgement
		for now := when.Instant(0); now <= when.Instant(silence); now += 250 {
			got = p.Judge(now)
		}
		if want := detect.Of(silence, timing.Default); got.Health != want {
			t.Errorf("silent for %d: %v, the node says %v", silence, got.Health, want)
		}
	}
}

func TestThePairExcusesItsOwnPause(t *testing.T) {
	p := policy.NewPair(timing.Default)
	beat(p, 0)
	p.Judge(100)
	if j := p.Judge(60_100); j.Health != detect.Alive {
		t.Errorf("%v after a minute in which the watcher did not run", j.Health)
	}
	for now := when.Instant(60_200); now < 72_000; now += 100 {
		p.Judge(now)
	}
	if j := p.Judge(72_000); j.Health != detect.Failed {
		t.Errorf("%v after 12 s of silence that it did watch", j.Health)
	}
}

// Section 3.2: Raft's paper draws from 150 to 300 ms.
func TestRaftDrawsATimeoutAfterEveryHeartbeat(t *testing.T) {
	p := policy.NewRaft(150, 300, 7)
	drawn := [300]int{}
	const beats = 15_000
	for i := range beats {
		now := when.Instant(i) * 1_000
		beat(p, now)
		if p.Clone().Judge(now+149).Health != detect.Alive {
			t.Fatal("suspicious before the shortest timeout")
		}
		for s := when.Span(150); ; s++ {
			if p.Clone().Judge(now.Add(s)).Health == detect.Failed {
				drawn[s]++ // the index panics from 300 on
				break
			}
		}
	}
	for s := 150; s < 300; s++ {
		if drawn[s] < beats/150/2 || drawn[s] > beats/150*2 {
			t.Errorf("%d ms was drawn %d times of %d", s, drawn[s], beats)
		}
	}
	a, b := policy.NewRaft(150, 300, 7), policy.NewRaft(150, 300, 7)
	for now := when.Instant(0); now < 100_000; now += 10 {
		if now%200 == 0 {
			beat(a, now)
			beat(b, now)
		}
		if a.Judge(now) != b.Judge(now) {
			t.Fatal("one seed, two judgements")
		}
	}
}

// kube drives the chain with a kubelet that renews every 10 s, from phase on, until the crash.
func kube(
	t *testing.T, p *policy.Kube, phase, crash when.Instant,
) (unreachable, evicted when.Span) {
	t.Helper()
	for now := when.Instant(0); now < crash.Add(500_000); now += 250 {
		if now >= phase && (now-phase)%policy.KubeRenewMS == 0 && now <= crash {
			beat(p, now)
		}
		switch j := p.Judge(now); {
		case j.Health != detect.Alive && unreachable == 0:
			unreachable = now.Sub(crash)
		case j.Health == detect.Failed:
			return unreachable, now.Sub(crash)
		}
	}
	return unreachable, 0
}

// Section 6.1: unreachable at 50 s, or up to a check later; evicted five minutes after that,
// between five and six minutes after the crash. The chapter counts from the last renewal, as if the
// crash came with it; from the crash itself it is up to a renewal (10 s) sooner.
func TestKubernetesTakes50SecondsAndFiveToSixMinutes(t *testing.T) {
	least, most := when.Span(1<<40), when.Span(0)
	for phase := when.Instant(0); phase < 10_000; phase += 250 {
		for crash := when.Instant(200_000); crash < 210_000; crash += 1_250 {
			unreachable, evicted := kube(t, policy.NewKube(9, 0), phase, crash)
			if evicted-unreachable != policy.KubeEvictMS {
				t.Fatalf("evicted %d ms after it was unreachable", evicted-unreachable)
			}
			if evicted < 5*60_000 || evicted > 6*60_000 {
				t.Fatalf("evicted %d ms after the crash, want five to six minutes", evicted)
			}
			least, most = min(least, unreachable), max(most, unreachable)
		}
	}
	if least < 40_000 || least > 41_500 || most > 55_000 || most < 53_500 {
		t.Errorf("unreachable %d to %d ms after the crash, want 40 s to 55 s", least, most)
	}
	// From the last renewal, made when the controller looks.
	if unreachable, _ := kube(t, policy.NewKube(9, 0), 0, 200_000); unreachable != 50_000 {
		t.Errorf("unreachable %d ms after the last renewal, want 50000", unreachable)
	}
}

// Section 6.1: the chapter says that above 55 % of unhealthy nodes evictions become slow. In the
// source the threshold is inclusive, counts from three unhealthy nodes on, and stops evictions
// altogether in a zone of at most 50 nodes.
func TestADisruptedZoneIsLeftAlone(t *testing.T) {
	for _, c := range []struct {
		ready, notReady int
		want            policy.Zone
	}{
		{0, 0, policy.ZoneNormal}, {0, 1, policy.ZoneFull}, {1, 1, policy.ZoneNormal},
		{1, 2, policy.ZoneNormal}, {2, 3, policy.ZonePartial}, {45, 55, policy.ZonePartial},
		{46, 54, policy.ZoneNormal},
	} {
		if got := policy.ZoneOf(c.ready, c.notReady); got != c.want {
			t.Errorf("%d ready, %d not: %v, want %v", c.ready, c.notReady, got, c.want)
		}
	}
	for _, c := range []struct {
		zone  policy.Zone
		nodes int
		all   bool
		want  when.Span
	}{
		{policy.ZoneNormal, 5, false, 10_000}, {policy.ZonePartial, 50, false, 0},
		{policy.ZonePartial, 51, false, 100_000}, {policy.ZoneFull, 10, false, 10_000},
		{policy.ZoneFull, 10, true, 0},
	} {
		if got := policy.EvictionEvery(c.zone, c.nodes, c.all); got != c.want {
			t.Errorf("%v of %d nodes: one every %d ms, want %d", c.zone, c.nodes, got, c.want)
		}
	}
	if unreachable, evicted := kube(t, policy.NewKube(2, 2), 0, 200_000); unreachable != 50_000 ||
		evicted != 0 {
		t.Errorf("in a disrupted zone: unreachable after %d, evicted after %d", unreachable, evicted)
	}
}
