package main

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/rig/scenario"
)

// TestNothingRunsBesideWhatRunsAlone: places are given in order, and none while somebody has all.
func TestNothingRunsBesideWhatRunsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		var begun []time.Duration
		start := time.Now()
		for _, alone := range []bool{false, true, false, false, false} {
			release, err := s.take(t.Context(), &scenario.Fault{Alone: alone})
			if err != nil {
				t.Fatal(err)
			}
			begun = append(begun, time.Since(start))
			time.AfterFunc(time.Minute, release)
		}
		want := []time.Duration{0, time.Minute, 2 * time.Minute, 2 * time.Minute, 3 * time.Minute}
		if !slices.Equal(begun, want) {
			t.Errorf("begun after %v, want %v", begun, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.take(ctx, &scenario.Fault{Alone: true}); err == nil {
			t.Error("a place is given to a run that is not to begin any more")
		}
	})
}
