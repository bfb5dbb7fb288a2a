package lab

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/mesh/when"
	"holdfast/rig/lab/trace"
	"holdfast/rig/report/page/pagetest"
)

// steady is a trace without a flaw, of n gaps, but for the ones given by their places.
func steady(n int, but map[int]trace.Gap) *trace.Trace {
	t := &trace.Trace{Name: "steady", Interval: 100}
	for i := range n {
		g, ok := but[i]
		if !ok {
			g = trace.Gap{Length: 100}
		}
		t.Gaps = append(t.Gaps, g)
		if g.Cause == trace.Self {
			for range g.Length/100 - 1 {
				t.Gaps = append(t.Gaps, trace.Gap{Cause: trace.Self})
			}
		}
	}
	return t
}

func contender(t *testing.T, name string) Contender {
	t.Helper()
	for _, c := range Contenders() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no contender %s", name)
	return Contender{}
}

var settings = Settings{Seed: 1, Crashes: 50, Members: 5}

// compare replays an hour of 100 ms with one long gap in it, and returns what was made of it.
func compare(t *testing.T, name string, gap trace.Gap, s Settings) Result {
	t.Helper()
	tr := steady(36_000, map[int]trace.Gap{20_000: gap})
	r := Compare(contender(t, name), tr, s)
	// From a day's back to what was counted.
	share := float64(tr.Length()) / dayMS
	r.Suspicions, r.Convictions, r.Flaps = r.Suspicions*share, r.Convictions*share, r.Flaps*share
	return r
}

func TestALongGapIsHeldAgainstThePeerByItsCause(t *testing.T) {
	two := settings
	two.Members = 2
	for _, c := range []struct {
		policy                  string
		gap                     trace.Gap
		settings                Settings
		suspicions, convictions float64
	}{
		{"fixed-1s", trace.Gap{Length: 900}, settings, 0, 0},
		{"fixed-1s", trace.Gap{Length: 1_100}, settings, 1, 1},
		{"etcd", trace.Gap{Length: 900}, settings, 0, 0},
		{"etcd", trace.Gap{Length: 2_100}, settings, 1, 1},
		{"holdfast", trace.Gap{Length: 4_000}, settings, 0, 0},
		{"holdfast", trace.Gap{Length: 9_000}, settings, 1, 0},
		{"holdfast", trace.Gap{Length: 14_100}, settings, 1, 1},
		{"phi-normal", trace.Gap{Length: 3_000}, settings, 0, 0},
		{"phi-normal", trace.Gap{Length: 6_000}, settings, 1, 1},
		{"phi-exp", trace.Gap{Length: 12_000}, settings, 0, 0},
		{"phi-exp", trace.Gap{Length: 20_000}, settings, 1, 1},
		{"kubernetes", trace.Gap{Length: 40_000}, settings, 0, 0},
		{"kubernetes", trace.Gap{Length: 70_000}, settings, 1, 0},
		{"kubernetes", trace.Gap{Length: 400_000}, settings, 1, 1},
		// A path that breaks is no matter to those who ask others, if there are any.
		{"swim", trace.Gap{Length: 30_000, Cause: trace.Path}, settings, 0, 0},
		{"swim", trace.Gap{Length: 30_000, Cause: trace.Peer}, settings, 1, 1},
		{"swim", trace.Gap{Length: 30_000, Cause: trace.Path}, two, 1, 1},
		{"fixed-3s", trace.Gap{Length: 30_000, Cause: trace.Path}, settings, 1, 1},
		// A watcher that stood still looks at the clock before its mail.
		{"fixed-3s", trace.Gap{Length: 4_000, Cause: trace.Self}, settings, 1, 1},
		{"holdfast", trace.Gap{Length: 60_000, Cause: trace.Self}, settings, 0, 0},
		{"phi-exp", trace.Gap{Length: 60_000, Cause: trace.Self}, settings, 0, 0},
	} {
		r := compare(t, c.policy, c.gap, c.settings)
		if !near(r.Suspicions, c.suspicions) || !near(r.Convictions, c.convictions) {
			t.Errorf("%s, %d ms by %v, %d members: %.2f suspicions, %.2f convictions; want %g, %g",
				c.policy, c.gap.Length, c.gap.Cause, c.settings.Members, r.Suspicions, r.Convictions,
				c.suspicions, c.convictions)
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }

func TestASuspicionThatIsRefutedConvictsNobody(t *testing.T) {
	for _, name := range []string{"swim", "lifeguard"} {
		r := compare(t, name, trace.Gap{Length: 3_500}, settings)
		if !near(r.Suspicions, 1) || r.Convictions != 0 {
			t.Errorf("%s: %.2f suspicions and %.2f convictions of a peer that paused 3.4 s",
				name, r.Suspicions, r.Convictions)
		}
	}
}

func TestACrashIsFoundAfterTheTimeout(t *testing.T) {
	tr := steady(36_000, nil)
	for name, c := range map[string]struct{ least, most when.Span }{
		"fixed-1s": {900, 1_010}, "etcd": {900, 2_010}, "holdfast": {10_000, 12_010},
		"phi-normal": {3_500, 4_600}, "phi-exp": {17_400, 18_500}, "swim": {4_000, 12_000},
		"kubernetes": {340_000, 355_010},
	} {
		r := Compare(contender(t, name), tr, settings)
		if r.Missed != 0 || r.P50 < c.least || r.Max > c.most || r.P50 > r.P99 || r.P99 > r.Max {
			t.Errorf("%s: missed %d, found in %d, %d, %d ms; want %d to %d",
				name, r.Missed, r.P50, r.P99, r.Max, c.least, c.most)
		}
		if r.Suspicions != 0 {
			t.Errorf("%s: suspects a steady peer", name)
		}
	}
}

func TestAPeerThatComesAndGoesFlaps(t *testing.T) {
	but := map[int]trace.Gap{}
	for i := 20_000; i < 20_500; i += 100 {
		but[i] = trace.Gap{Length: 1_500}
	}
	but[30_000] = trace.Gap{Length: 1_500} // minutes later: this one is none
	tr := steady(36_000, but)
	r := Compare(contender(t, "fixed-1s"), tr, settings)
	share := float64(tr.Length()) / dayMS
	if !near(r.Convictions*share, 6) || !near(r.Flaps*share, 4) {
		t.Errorf("%.2f convictions, %.2f flaps; want 6 and 4",
			r.Convictions*share, r.Flaps*share)
	}
}

func TestAPeerThatIsConvictedAlreadyIsNotFoundAtOnce(t *testing.T) {
	but := map[int]trace.Gap{}
	for i := range 1_000 {
		but[i] = trace.Gap{Length: 10_000}
	}
	r := Compare(contender(t, "fixed-1s"), steady(1_000, but), settings)
	if r.P50 < 100 || r.Max > 1_010 {
		t.Errorf("found after %d to %d ms of a second that the timeout is", r.P50, r.Max)
	}
}

func TestOnlyTheWatchersOwnPathIsBroken(t *testing.T) {
	tr := steady(100, map[int]trace.Gap{50: {Length: 5_000, Cause: trace.Path}})
	g := newGroup(contender(t, "swim").group(5), settings, hear(tr, 100))
	const now = 7_000
	g.ask(now, 0, 1, true)
	if len(g.mail) != 0 {
		t.Error("an answer on the broken path")
	}
	g.ask(now, 1, 1, false)
	if len(g.mail) != 1 || g.mail[0].at != now+when.Instant(roundTrip) {
		t.Errorf("another member's answer: %+v", g.mail)
	}
}

func TestAPolicyThatNeedsMoreHeartbeatsIsLeftOut(t *testing.T) {
	tr := steady(1_000, nil)
	tr.Interval = 2_000
	for _, c := range Contenders() {
		r := Compare(c, tr, settings)
		if left := r.Left != ""; left != (c.Interval < 2_000) {
			t.Errorf("%s with a heartbeat every %d ms: left out %v", c.Name, c.Interval, left)
		}
	}
}

func TestThinningKeepsTheTraceOrItsNearestBeats(t *testing.T) {
	tr := steady(100, map[int]trace.Gap{50: {Length: 5_000, Cause: trace.Path}})
	if got := hear(tr, 100).beats; len(got) != 101 || got[100] != 9_900+5_000 {
		t.Errorf("the trace's own heartbeat: %d beats, the last at %d", len(got), got[len(got)-1])
	}
	// What was due while the path was broken is lost, and not late.
	broken := steady(100, map[int]trace.Gap{50: {Length: 4_500, Cause: trace.Path}})
	stopped := steady(100, map[int]trace.Gap{50: {Length: 4_500, Cause: trace.Peer}})
	if b, s := hear(broken, 1_000).beats[6], hear(stopped, 1_000).beats[6]; b != 10_000 || s != 9_500 {
		t.Errorf("the beat after a gap that ends at 9500 comes at %d by path and %d by peer", b, s)
	}
	got := hear(tr, 1_000).beats
	want := []when.Instant{0, 1_000, 2_000, 3_000, 4_000, 5_000, 10_000, 11_000, 12_000, 13_000,
		14_000}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("one in ten: %s", d)
	}
}

func TestOneSeedIsOneTable(t *testing.T) {
	traces := []*trace.Trace{trace.Kinds()[1].Make(600_000, 3)}
	few := settings
	few.Crashes = 5
	a, b := Run(Contenders(), traces, few, Prices{1, 100, 1}), Run(Contenders(), traces, few,
		Prices{1, 100, 1})
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
}

func TestTheParetoSetIsWhatNothingDominates(t *testing.T) {
	p := Part{Results: []Result{
		{Policy: "quick", P99: 100, Convictions: 9, Messages: 10},
		{Policy: "slow", P99: 900, Convictions: 0, Messages: 10},
		{Policy: "slower", P99: 901, Convictions: 0, Messages: 10},
		{Policy: "frugal", P99: 9_000, Convictions: 0, Messages: 1},
		{Policy: "twin", P99: 100, Convictions: 9, Messages: 10},
		{Policy: "blind", P99: 1, Missed: 1},
		{Policy: "left", Left: "why"},
	}}
	p.price(Prices{Second: 2, Conviction: 10, Crashes: 0.5}, 10)
	var marked []string
	for _, r := range p.Results {
		if r.Pareto {
			marked = append(marked, r.Policy)
		}
	}
	if want := []string{"quick", "slow", "frugal", "twin"}; !slices.Equal(marked, want) {
		t.Errorf("%v, want %v", marked, want)
	}
}

func TestTheCostIsThatOfBothErrors(t *testing.T) {
	prices := Prices{Second: 2, Conviction: 10, Crashes: 0.5}
	if got := prices.cost(Result{Mean: 3_000, Convictions: 4}, 10); got != 0.5*3*2+4*10 {
		t.Errorf("%g", got)
	}
	// One crash in ten is noticed by nobody, for half a day.
	want := 0.5 * (0.9*3 + 0.1*43_200) * 2
	if got := prices.cost(Result{Mean: 3_000, Missed: 1}, 10); !near(got, want) {
		t.Errorf("%g, want %g", got, want)
	}
}

func TestThePageIsWhole(t *testing.T) {
	traces := []*trace.Trace{trace.Kinds()[0].Make(120_000, 1), trace.Kinds()[2].Make(120_000, 1)}
	traces[0].Name, traces[0].About = "<script>alert(1)</script>", "<b>&"
	few := settings
	few.Crashes = 3
	var b bytes.Buffer
	if err := Run(Contenders(), traces, few, Prices{1, 100, 1}).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range pagetest.Check(b.String()) {
		t.Error(wrong)
	}
	if strings.Contains(b.String(), "<script>alert") {
		t.Error("the name of a trace became a part of the page")
	}
	for _, c := range Contenders() {
		if !strings.Contains(b.String(), c.Name) {
			t.Errorf("no %s on the page", c.Name)
		}
	}
}
