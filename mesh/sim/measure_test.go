package sim

import (
	"strings"
	"testing"
)

func TestHistogramsAddUp(t *testing.T) {
	var a, b, sum Histogram
	for _, d := range []Time{0, 999, Millisecond, 3 * Second} {
		a.note(d)
	}
	b.note(-Second)
	sum.add(&a)
	sum.add(&Histogram{})
	sum.add(&b)
	if sum.N != 5 || sum.Least != -Second || sum.Most != 3*Second || sum.Buckets[0] != 3 ||
		sum.Buckets[1] != 1 || sum.Buckets[12] != 1 {
		t.Errorf("%+v", sum)
	}
	table := sum.Table("  ")
	for _, want := range []string{"5 times, least -1.000s, most 3.000s", "below 4.096s"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	if got := new(Histogram).Table(""); got != "never\n" {
		t.Errorf("an empty one: %q", got)
	}
}

func TestNumbersAreDrawnWithinTheirBounds(t *testing.T) {
	r := random{1}
	for range 10_000 {
		if d := r.scale(3*Millisecond, 7*Second); d < 3*Millisecond || d > 7*Second {
			t.Fatalf("scale: %d", d)
		}
		if d := r.between(5, 6); d != 5 && d != 6 {
			t.Fatalf("between: %d", d)
		}
		if p := r.ppm(2); p < -2 || p > 2 {
			t.Fatalf("ppm: %d", p)
		}
	}
}
