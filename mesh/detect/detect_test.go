package detect_test

import (
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/detect"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
)

func TestBothBoundariesAreInclusive(t *testing.T) {
	for _, c := range []struct {
		silence when.Span
		want    detect.Health
	}{
		{-1, detect.Alive}, {0, detect.Alive},
		{timing.SuspectMS - 1, detect.Alive},
		{timing.SuspectMS, detect.Suspect},
		{timing.SuspectMS + 1, detect.Suspect},
		{timing.FailMS - 1, detect.Suspect},
		{timing.FailMS, detect.Failed},
		{timing.FailMS + 1, detect.Failed},
		{1<<63 - 1, detect.Failed}, {-1 << 63, detect.Alive},
	} {
		if got := detect.Of(c.silence, timing.Default); got != c.want {
			t.Errorf("silent for %d: %v, want %v", c.silence, got, c.want)
		}
	}
}

func TestMoreSilenceIsNeverBetterHealth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := timing.Timing{Suspect: when.Span(rapid.Int64Range(1, 1000).Draw(t, "suspect"))}
		c.Fail = c.Suspect + when.Span(rapid.Int64Range(1, 1000).Draw(t, "fail"))
		a := when.Span(rapid.Int64Range(-10, 3000).Draw(t, "silence"))
		b := a + when.Span(rapid.Int64Range(0, 3000).Draw(t, "more"))
		if detect.Of(a, c) > detect.Of(b, c) {
			t.Errorf("%v after %d, %v after %d", detect.Of(a, c), a, detect.Of(b, c), b)
		}
	})
}

func TestHealthIsWrittenAsInEvidence(t *testing.T) {
	for h, want := range map[detect.Health]string{
		detect.Alive: "alive", detect.Suspect: "suspect", detect.Failed: "failed",
	} {
		if h.String() != want {
			t.Errorf("%v, want %s", h, want)
		}
	}
}
