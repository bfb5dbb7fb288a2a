package lab

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/nvram"
	"holdfast/nvram/config"
	"holdfast/rig/lab/trace"
)

const sixHours when.Span = 6 * 3_600_000

func TestEveryProposalIsOneThatANodeTakes(t *testing.T) {
	for _, k := range trace.Kinds() {
		tr := k.Make(sixHours, 1)
		g, err := Suggest(tr, 0.001, 0, settings)
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		if err := g.Timing.Check(); err != nil || g.Spare < 0 {
			t.Errorf("%s: %v: %v, %d ms to spare", k.Name, g.Timing, err, g.Spare)
		}
		late := g.Played.Max - g.Timing.Fail
		if g.Played.Convictions != 0 || g.Played.Missed != 0 || late > max(tickMS, g.Timing.Ask()) {
			t.Errorf("%s: replayed: %+v", k.Name, g.Played)
		}
		if least := g.Worst + g.Timing.Ask(); g.Timing.Fail < least {
			t.Errorf("%s: fail %d, and a frame came %d after the one before", k.Name, g.Timing.Fail,
				least)
		}
		var b bytes.Buffer
		if err := g.WriteText(&b, tr); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		env, err := nvram.NewEnvironment(strings.TrimSpace(lines[len(lines)-1]))
		if err == nil {
			err = config.Check(env)
		}
		if err != nil {
			t.Errorf("%s: %q is no line of an environment: %v", k.Name, lines[len(lines)-1], err)
		}
	}
}

func TestASteadyPeerGetsTheShortestWindow(t *testing.T) {
	g, err := Suggest(trace.Kinds()[0].Make(sixHours, 1), 0.001, 0, settings)
	if want := (timing.Timing{Heartbeat: 300, Suspect: 1_175, Fail: 2_350, WriteLease: 400}); err !=
		nil || g.Timing != want {
		t.Errorf("%v, %v; want %v", g.Timing, err, want)
	}
	shorter := g.Timing
	shorter.Fail -= roundTo
	if shorter.Check() == nil {
		t.Errorf("rule L3 would leave %d ms", shorter.Fail)
	}
}

// A window that no lease leaves the time for is had without leases, and as long as it is wanted.
func TestAShorterWindowIsProposedWithoutLeases(t *testing.T) {
	idle := trace.Kinds()[0].Make(sixHours, 1)
	for within, acks := range map[when.Span]bool{2_350: false, 2_349: true, 1_000: true, 780: true} {
		g, err := Suggest(idle, 0.001, within, settings)
		if err != nil {
			t.Errorf("within %d: %v", within, err)
			continue
		}
		want := within / roundTo * roundTo
		if !acks {
			want = 2_350
		}
		if err := g.Timing.Check(); err != nil || g.Timing.AcksAll != acks || g.Timing.Fail != want {
			t.Errorf("within %d: %+v: %v", within, g.Timing, err)
		}
		if g.Played.Convictions != 0 || g.Played.Missed != 0 {
			t.Errorf("within %d, replayed: %+v", within, g.Played)
		}
		var b bytes.Buffer
		if err := g.WriteText(&b, idle); err != nil {
			t.Fatal(err)
		}
		var keys []string
		for line := range strings.Lines(b.String()) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "mesh.") {
				keys = append(keys, line)
			}
		}
		env, err := nvram.NewEnvironment(keys...)
		if err == nil {
			err = config.Check(env)
		}
		if err != nil || slices.Contains(keys, "mesh.acks=all") != acks {
			t.Errorf("within %d: %q: %v", within, keys, err)
		}
	}
}

func TestARarerMistakeTakesLonger(t *testing.T) {
	tr := trace.Kinds()[3].Make(sixHours, 1)
	often, err := Suggest(tr, 100, 0, settings)
	if err != nil {
		t.Fatal(err)
	}
	seldom, err := Suggest(tr, 0.0001, 0, settings)
	if err != nil {
		t.Fatal(err)
	}
	if often.Timing.Fail >= seldom.Timing.Fail {
		t.Errorf("fail %d for 100 a day, %d for 0.0001", often.Timing.Fail, seldom.Timing.Fail)
	}
}

func TestWhatCannotBeProposedIsSaid(t *testing.T) {
	late := steady(1_000, map[int]trace.Gap{1: {Length: 4_000}, 2: {Length: 3_000}})
	_, tooShort := Suggest(late, 0.001, 1_000, settings)
	if tooShort == nil || !strings.Contains(tooShort.Error(), "also without leases") {
		t.Errorf("within a second, with frames that are three late: %v", tooShort)
	}
	slow := steady(1_000, map[int]trace.Gap{1: {Length: 300_000}, 2: {Length: 200_000}})
	for want, err := range map[string]error{
		"too few":              suggestErr(steady(gapsLeast-1, nil), 1),
		"must be positive":     suggestErr(steady(100, nil), 0),
		"a failure window":     suggestErr(slow, 0.001),
		"rate of false convic": suggestErr(steady(100, nil), math.Inf(1)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func suggestErr(t *trace.Trace, rate float64) error {
	_, err := Suggest(t, rate, 0, settings)
	return err
}

// Of exponentially distributed lateness the tail is known exactly.
func TestTheTailOfAnExponentialIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const mean, n = 1_000.0, 100_000
	late := make([]when.Span, n)
	for i := range late {
		late[i] = when.Span(random.ExpFloat64() * mean)
	}
	slices.Sort(late)
	for _, p := range []float64{0.5, 1e-2, 1e-4, 1e-6, 1e-8} {
		got, far := rare(late, p)
		want := -mean * math.Log(p)
		// Beyond the sample the most careful of several estimates is taken.
		if far != (p*n < 10) || float64(got) < 0.97*want || float64(got) > 1.6*want {
			t.Errorf("exceeded once in %g: %d ms (extrapolated: %v), want %.0f", 1/p, got, far, want)
		}
	}
}

func TestTheTailIsNeverBelowWhatWasSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		late := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 10_000), func(v int) when.Span {
			return when.Span(v)
		}), gapsLeast, 200).Draw(t, "late")
		slices.Sort(late)
		p := rapid.Float64Range(1e-12, 1).Draw(t, "p")
		length, far := rare(late, p)
		if worst := late[len(late)-1]; far && length < worst || !far && length > worst {
			t.Fatal(fmt.Sprint(length, far, worst))
		}
		if rarer, _ := rare(late, p/2); rarer < length {
			t.Fatalf("exceeded half as often: %d ms, after %d", rarer, length)
		}
	})
}
