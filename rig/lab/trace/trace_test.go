package trace_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/mesh/when"
	"holdfast/rig/lab/trace"
	"holdfast/rig/scenario"
)

func TestAFileIsRead(t *testing.T) {
	got, err := trace.Read(strings.NewReader(`# a comment
interval,100
100
101.4
101.5,peer

# another
2900,path
0,self
3600000
`))
	want := &trace.Trace{Interval: 100, Gaps: []trace.Gap{
		{100, trace.Peer}, {101, trace.Peer}, {102, trace.Peer}, {2900, trace.Path}, {0, trace.Self},
		{3_600_000, trace.Peer},
	}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if got.Worst() != 3_600_000 || got.Length() != 3_603_203 {
		t.Errorf("worst %d of %d", got.Worst(), got.Length())
	}
}

func TestWithoutAnIntervalTheMedianIsIt(t *testing.T) {
	got, err := trace.Read(strings.NewReader("100\n103\n102\n5000\n101\n"))
	if err != nil || got.Interval != 102 {
		t.Errorf("interval %d, %v", got.Interval, err)
	}
}

func TestABadFileIsRefusedWithItsLine(t *testing.T) {
	for content, want := range map[string]string{
		"":                            "no gap",
		"# nothing\n":                 "no gap",
		"interval,100\n":              "no gap",
		"0\n0\n":                      "the median of the gaps is 0",
		"100\n\n# c\n-1\n":            `line 4: gap "-1"`,
		"100\n1e3\n":                  `line 2: gap "1e3"`,
		"100\n 100\n":                 `line 2: gap " 100"`,
		"100\n1.\n":                   `line 2: gap "1."`,
		"100\n.5\n":                   `line 2: gap ".5"`,
		"100\n1.2345\n":               `line 2: gap "1.2345"`,
		"100\n3600001\n":              `line 2: gap "3600001", want at most 3600000 ms`,
		"100\n99999999999999999999\n": "want at most",
		"100,\n":                      `line 1: cause "", want one of peer, path, self`,
		"100,PEER\n":                  `line 1: cause "PEER"`,
		"100,peer,more\n":             "line 1: 3 fields",
		"interval,0\n100\n":           `line 1: interval "0"`,
		"interval,1.5\n100\n":         `line 1: interval "1.5"`,
		"interval\n100\n":             "line 1: want interval,<milliseconds>",
		"interval,1\ninterval,1\n":    "line 2: a second interval",
		"100\ninterval,100\n":         "line 2: the interval stands before the first gap",
		"\"100\n":                     "line 1",
		"gap_ms,cause\n100,peer\n":    `line 1: gap "gap_ms"`,
	} {
		if _, err := trace.Read(strings.NewReader(content)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", content, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("# c\ninterval,100\n100\n101.5,peer\n2900,path\n"))
	f.Add([]byte("100\n"))
	f.Add([]byte("\"1\n\",self"))
	f.Add([]byte("interval,5\r\n3\r\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		read, err := trace.Read(bytes.NewReader(content))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := read.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := trace.Read(&b)
		if d := cmp.Diff(read, again); d != "" || err != nil {
			t.Errorf("%v\n%s", err, d)
		}
	})
}

// figures are the mean, the deviation and the longest of a trace's gaps.
func figures(tr *trace.Trace) (mean, deviation float64, worst when.Span) {
	sum, squares := 0.0, 0.0
	for _, g := range tr.Gaps {
		sum += float64(g.Length)
		squares += float64(g.Length) * float64(g.Length)
		worst = max(worst, g.Length)
	}
	n := float64(len(tr.Gaps))
	mean = sum / n
	return mean, math.Sqrt(squares/n - mean*mean), worst
}

func kind(t *testing.T, name string) trace.Kind {
	t.Helper()
	for _, k := range trace.Kinds() {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("no kind %s", name)
	return trace.Kind{}
}

const hour = 3_600_000

// Section 4 of the chapter, what it measured of processes that were well.
func TestTheSyntheticTracesHaveTheChaptersFigures(t *testing.T) {
	mean, deviation, worst := figures(kind(t, "idle").Make(hour, 1))
	if mean < 100 || mean > 101.5 || deviation > 1.5 || worst > 120 {
		t.Errorf("idle: mean %.2f, deviation %.2f, worst %d", mean, deviation, worst)
	}
	mean, deviation, worst = figures(kind(t, "busy").Make(hour, 1))
	if math.Abs(mean-101.1) > 0.1 || math.Abs(deviation-2.4) > 0.2 || worst < 146 || worst > 250 {
		t.Errorf("busy: mean %.2f, deviation %.2f, worst %d; want 101.1, 2.4 and at least 146",
			mean, deviation, worst)
	}
	gc := kind(t, "gc").Make(hour, 1)
	_, _, worst = figures(gc)
	lengths := make([]when.Span, 0, len(gc.Gaps))
	for _, g := range gc.Gaps {
		lengths = append(lengths, g.Length)
	}
	slices.Sort(lengths)
	if median := lengths[len(lengths)/2]; median < 580 || median > 620 || worst != 2_900 {
		t.Errorf("gc: median %d, worst %d; want about 600 and 2900", median, worst)
	}
}

func TestEveryKindIsMadeFromItsSeedAlone(t *testing.T) {
	for _, k := range trace.Kinds() {
		a, b, other := k.Make(hour, 7), k.Make(hour, 7), k.Make(hour, 8)
		if !slices.Equal(a.Gaps, b.Gaps) {
			t.Errorf("%s: one seed, two traces", k.Name)
		}
		if slices.Equal(a.Gaps, other.Gaps) {
			t.Errorf("%s: two seeds, one trace", k.Name)
		}
		if l := a.Length(); l < hour || l > hour+20_000 {
			t.Errorf("%s: %d ms long", k.Name, l)
		}
		var read bytes.Buffer
		if err := a.Write(&read); err != nil {
			t.Fatal(err)
		}
		again, err := trace.Read(&read)
		if err != nil || !slices.Equal(again.Gaps, a.Gaps) || again.Interval != a.Interval {
			t.Errorf("%s: its file is not it: %v", k.Name, err)
		}
	}
}

func TestTroublesHaveTheirCauses(t *testing.T) {
	for name, want := range map[string]trace.Cause{
		"loss": trace.Path, "flapping": trace.Path, "observer": trace.Self, "stalls": trace.Peer,
	} {
		worst := trace.Gap{}
		for _, g := range kind(t, name).Make(hour, 3).Gaps {
			if g.Length > worst.Length {
				worst = g
			}
		}
		if worst.Cause != want || worst.Length < 200 {
			t.Errorf("%s: the longest gap is %d ms, by %v; want it by %v",
				name, worst.Length, worst.Cause, want)
		}
	}
}

func TestARunGivesTheGapsUntilItsFault(t *testing.T) {
	records, err := scenario.StoredRun("kill-peer")
	if err != nil {
		t.Fatal(err)
	}
	got, err := trace.OfRun(records, "n1", "n0", 2_000)
	if err != nil {
		t.Fatal(err)
	}
	// The member is killed; what its next boot sends, 10 s later, is not of this trace.
	if l := got.Length(); got.Interval != 2_000 || len(got.Gaps) != 19 || got.Worst() > 2_100 ||
		l > 5_000 {
		t.Errorf("%d gaps in %d ms, the worst %d", len(got.Gaps), got.Length(), got.Worst())
	}
	if _, err := trace.OfRun(records, "n1", "n7", 2_000); err == nil {
		t.Error("gaps of a node that there is not")
	}
}
