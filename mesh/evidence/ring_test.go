package evidence

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/when"
)

func TestARingKeepsItsNewestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Ring
		var model []Numbered
		for i := range rapid.IntRange(0, 3*RingSize).Draw(t, "lines") {
			l := New("mesh-fail", "paused").At(when.Instant(i))
			model = append(model, Numbered{r.Append(l), l})
		}
		for i, n := range model {
			if n.N != uint64(i+1) {
				t.Fatalf("line %d has number %d", i+1, n.N)
			}
		}
		after := rapid.Uint64Range(0, uint64(len(model)+2)).Draw(t, "after")
		want := model[min(int(after), len(model)):]
		want = want[max(0, len(want)-RingSize):]
		got := r.After(after)
		if len(got) != len(want) {
			t.Fatalf("%d lines after %d of %d, want %d", len(got), after, len(model), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("line %v, want %v", got[i], want[i])
			}
		}
	})
}

func TestAfterTheLastNumberThereIsNothing(t *testing.T) {
	var r Ring
	r.Append(New(Single))
	if got := r.After(1<<64 - 1); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestANumberedLineReadsAsItIsWritten(t *testing.T) {
	l, err := Parse(suspect)
	if err != nil {
		t.Fatal(err)
	}
	want := Numbered{256, l}
	if want.String() != "256 "+suspect {
		t.Errorf("%s", want)
	}
	if got, err := ParseNumbered(want.String()); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	for _, s := range []string{"", "1", suspect, "0 " + suspect, "01 " + suspect, "1  " + suspect,
		"1 chatter", "-1 " + suspect, "1 " + strings.ToUpper(suspect)} {
		if n, err := ParseNumbered(s); err == nil {
			t.Errorf("%q reads as %v", s, n)
		}
	}
}
