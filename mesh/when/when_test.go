package when

import "testing"

func TestInstantsSaturateAtNever(t *testing.T) {
	for _, c := range []struct {
		from Instant
		by   Span
		want Instant
	}{
		{0, 0, 0},
		{5, 3, 8},
		{5, -3, 2},
		{Never - 1, 1, Never},
		{Never - 1, 2, Never},
		{Never, Second, Never},
		{1, Span(Never), Never},
		{Never, -1, Never - 1},
	} {
		if got := c.from.Add(c.by); got != c.want {
			t.Errorf("%d + %d = %d, want %d", c.from, c.by, got, c.want)
		}
	}
}

func TestInstantsAreOrderedAndApart(t *testing.T) {
	if got := Instant(8).Sub(5); got != 3 {
		t.Errorf("from 5 to 8 are %d ms", got)
	}
	if got := Instant(5).Sub(8); got != -3 {
		t.Errorf("from 8 to 5 are %d ms", got)
	}
	if Instant(5).Min(8) != 5 || Instant(8).Min(5) != 5 {
		t.Error("the earlier of 5 and 8 is not 5")
	}
}
