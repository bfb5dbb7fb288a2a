package page

import (
	"html/template"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/rig/report/page/pagetest"
)

// hostile is text as a broken or malicious kernel may print it.
const hostile = `</script><script>alert(1)</script>"'><img src=x onerror=alert(1)>`

func written(t *testing.T, d Document) string {
	t.Helper()
	var b strings.Builder
	if err := d.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAPageIsWholeOfflineAndEscaped(t *testing.T) {
	plot := Plot{Title: hostile, Note: hostile, X: Axis{Label: hostile, Ticks: []string{hostile}},
		Series: []Series{{Name: hostile, Lines: true,
			Points: []Point{{0, 1, hostile, true}, {1, 2, "", false}}}},
		Marks: []Mark{{3, hostile}}}
	gauge := Gauge{Least: 6, Most: 6.5, Value: 6.1, Unsharp: 0.01, Tone: Good, Title: hostile}
	page := written(t, Document{
		Title: hostile, Tone: Bad, Word: hostile, Lead: hostile, Facts: []Fact{{hostile, hostile}},
		Sections: []Section{{ID: "one", Title: hostile, Note: hostile, HTML: plot.HTML() + gauge.HTML()},
			{ID: "two", Title: "empty"}},
		Style: ".x { color: red; }", Script: "\"use strict\";\nconsole.log(1 < 2 && 3 > 2);\n",
	})
	for _, wrong := range pagetest.Check(page) {
		t.Error(wrong)
	}
	if strings.Contains(page, "<img") || strings.Count(page, "<script>") != 2 {
		t.Error("hostile text became an element")
	}
}

func TestAnEndTagInAScriptIsTheCallersMistake(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it was written")
		}
	}()
	_ = Document{Script: "x = '</script>'"}.Write(new(strings.Builder))
}

func TestTicksAreRound(t *testing.T) {
	for _, c := range []struct {
		scale Scale
		about int
		want  string
	}{
		{Scale{0, 10}, 5, "0 2 4 6 8 10"},
		{Scale{5.95, 6.55}, 4, "6 6.2 6.4"},
		{Scale{-1, 1}, 4, "-1 -0.5 0 0.5 1"},
		{Scale{0, 0.003}, 3, "0 0.001 0.002 0.003"},
		{Scale{0, 40000}, 4, "0 10000 20000 30000 40000"},
		{Scale{3, 4}, 1, "3 4"},
	} {
		var got []string
		for _, tick := range c.scale.Ticks(c.about) {
			got = append(got, tick.Text)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%v, about %d: %s, want %s", c.scale, c.about, text, c.want)
		}
	}
}

func TestAScaleHoldsItsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.Float64Range(-1e6, 1e6)).Draw(t, "values")
		s := Fit(values...)
		if !(s.From < s.To) {
			t.Fatalf("%v is no scale", s)
		}
		for _, v := range values {
			if share := s.Share(v); !(share > 0 && share < 1) {
				t.Fatalf("%v lies at %v of %v", v, share, s)
			}
		}
		if n := len(s.Ticks(5)); n < 2 || n > 11 {
			t.Fatalf("%d ticks on %v", n, s)
		}
	})
}

func TestNumbersAreShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 100: "100", 0.5: "0.5", 1.0 / 3: "0.333", -0.0001: "0",
	} {
		if got := short(v, 3); got != want {
			t.Errorf("short(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestAPlotPlacesItsPoints(t *testing.T) {
	p := Plot{Title: "t", X: Axis{Scale: &Scale{0, 10}}, Y: Axis{Scale: &Scale{0, 1}}, Height: 136,
		Series: []Series{{Lines: true, Points: []Point{{X: 0, Y: 0}, {X: 5, Y: 1}}}}}
	got := p.HTML()
	for _, want := range []template.HTML{
		`cx="0%" cy="118"`, `cx="50%" cy="18"`, `x1="0%" y1="118" x2="50%" y2="18"`,
	} {
		if !strings.Contains(string(got), string(want)) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}
