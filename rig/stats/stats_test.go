package stats

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/internal/golden"
	"holdfast/rig/judge"
	"holdfast/rig/report"
)

// The interval's ends are those of Wilson (1927) as tables have them.
func TestTheIntervalIsWilsons(t *testing.T) {
	for rate, want := range map[Rate][2]float64{
		{0, 0}:     {0, 1},
		{0, 10}:    {0, 0.2775},
		{10, 10}:   {0.7225, 1},
		{5, 10}:    {0.2366, 0.7634},
		{50, 50}:   {0.9287, 1},
		{48, 50}:   {0.8654, 0.9890},
		{999, 999}: {0.9962, 1},
	} {
		low, high := rate.Interval()
		if math.Abs(low-want[0]) > 0.0001 || math.Abs(high-want[1]) > 0.0001 {
			t.Errorf("%d of %d: %.4f to %.4f, want %v", rate.Held, rate.Runs, low, high, want)
		}
	}
}

func TestTheIntervalHoldsTheShareAndShrinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := rapid.IntRange(1, 1000).Draw(t, "runs")
		r := Rate{rapid.IntRange(0, runs).Draw(t, "held"), runs}
		low, high := r.Interval()
		if low < 0 || high > 1 || r.Share() < low-1e-9 || r.Share() > high+1e-9 {
			t.Fatalf("%d of %d: share %f outside %f to %f", r.Held, r.Runs, r.Share(), low, high)
		}
		more := Rate{10 * r.Held, 10 * r.Runs}
		if l, h := more.Interval(); h-l >= high-low {
			t.Fatalf("ten times the runs of %v do not tell more", r)
		}
	})
}

func TestQuantilesAreOfWhatWasMeasured(t *testing.T) {
	var values []time.Duration
	for n := range 20 {
		values = append(values, time.Duration(n+1))
	}
	for _, c := range []struct {
		n    int
		p    float64
		want time.Duration
	}{
		{1, 0.5, 1}, {1, 0.95, 1}, {2, 0.5, 1}, {2, 0.51, 2}, {3, 0.5, 2}, {20, 0.5, 10},
		{20, 0.95, 19}, {20, 0.951, 20}, {20, 1, 20}, {20, 0, 1},
	} {
		if got := quantile(values[:c.n], c.p); got != c.want {
			t.Errorf("the %g quantile of 1 to %d is %d, want %d", c.p, c.n, got, c.want)
		}
	}
}

// run is a result with a timed check and another one.
func run(fault string, seed uint64, ms int, other judge.Status) report.Result {
	value := time.Duration(ms) * time.Millisecond
	most := 6500 * time.Millisecond
	r := report.Result{Fault: fault, Seed: seed, Checks: []judge.Result{
		{Name: "suspect", Status: judge.Held, Margin: &judge.Margin{What: "suspect after",
			Value: value, Least: 6 * time.Second, Most: most, Slack: most - value}},
		{Name: "fences", Status: other},
	}}
	switch other {
	case judge.Violated:
		r.Exit = judge.CodeViolated
	case judge.Inconclusive:
		r.Exit, r.Reason = judge.CodeInconclusive, "too slow"
	}
	return r
}

// sets are two sets of runs: the second is worse.
func sets() (before, after []Fault) {
	return Of([]report.Result{
			run("kill-peer", 1, 6010, judge.Held), run("none", 2, 6100, judge.Held),
			run("kill-peer", 3, 6030, judge.Held), run("kill-peer", 4, 6020, judge.Held),
		}), Of([]report.Result{
			run("restart", 9, 6001, judge.Held), run("kill-peer", 5, 6400, judge.Violated),
			run("kill-peer", 6, 6200, judge.Inconclusive),
		})
}

func TestRunsAreGatheredByFault(t *testing.T) {
	faults, worse := sets()
	if len(faults) != 2 || faults[0].Name != "kill-peer" || faults[0].Rate != (Rate{3, 3}) {
		t.Fatalf("got %+v", faults)
	}
	want := Times{What: "suspect after", Count: 3, Least: 6 * time.Second,
		Most: 6500 * time.Millisecond, Min: 6010 * time.Millisecond, P50: 6020 * time.Millisecond,
		P95: 6030 * time.Millisecond, Max: 6030 * time.Millisecond, Slack: 470 * time.Millisecond,
		Seed: 3}
	if got := *faults[0].Checks[0].Times; got != want {
		t.Errorf("times are\n%+v, want\n%+v", got, want)
	}
	if faults[0].Checks[1].Times != nil {
		t.Error("a check without a time has times")
	}
	failed := []Failure{
		{Seed: 5, Exit: judge.CodeViolated, Checks: []string{"fences"}},
		{Seed: 6, Exit: judge.CodeInconclusive, Reason: "too slow", Checks: []string{"fences"}},
	}
	if got := worse[1].Failed; !reflect.DeepEqual(got, failed) {
		t.Errorf("failures are %+v, want %+v", got, failed)
	}
}

func TestWorseIsWhatHeldAlwaysAndDoesNoMore(t *testing.T) {
	before, after := sets()
	for _, c := range []struct {
		pairs []Pair
		want  []string
	}{
		{Match(before, after), []string{"fences"}},
		{Match(after, before), nil},
		{Match(before, before), nil},
		{Match(after, after), nil},
	} {
		var worse []string
		for _, p := range c.pairs {
			worse = append(worse, p.Worse()...)
		}
		if !reflect.DeepEqual(worse, c.want) {
			t.Errorf("worse is %q, want %q", worse, c.want)
		}
	}
}

func TestWhatPeopleRead(t *testing.T) {
	before, after := sets()
	var text strings.Builder
	err := WriteText(&text, before)
	text.WriteString("----\n")
	if err == nil {
		err = WriteText(&text, after)
	}
	text.WriteString("----\n")
	if err == nil {
		err = WriteComparison(&text, Match(before, after))
	}
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/text.txt", text.String())
}
