package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"holdfast/internal/imagebuild/imagetest"
)

func TestTheSoakJudgesTheConsole(t *testing.T) {
	for _, line := range []string{"FAIL channels: x", "panic: x", "fatal error: x"} {
		s := newSoak()
		s.heard("ok channels: 1 rounds")
		s.heard(line)
		s.heard("goroutine 1:")
		if len(s.failed) != 1 || s.failed[0] != line || s.rounds["channels"] != "1 rounds" {
			t.Errorf("%q: failed %q, rounds %v", line, s.failed, s.rounds)
		}
	}
	s := newSoak()
	for i := range checks {
		s.heard("ok " + strings.Repeat("x", i+1) + ": 2 rounds")
	}
	if err := s.report(t.Output()); err == nil {
		t.Error("nothing was exchanged, and that is no failure")
	}
	s.requests.Add(1)
	s.echoes.Add(1)
	if err := s.report(t.Output()); err != nil {
		t.Error(err)
	}
	delete(s.rounds, "x")
	if err := s.report(t.Output()); err == nil {
		t.Error("a check never came round, and that is no failure")
	}
}

// A soak as short as one round of every check and one exchange of every kind.
func TestAShortSoak(t *testing.T) {
	imagetest.NeedsQEMU(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s, err := boot(ctx, t.TempDir(), "64M", 3*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer s.end()
	go func() {
		for s.report(new(strings.Builder)) != nil && ctx.Err() == nil && len(s.failures()) == 0 {
			select {
			case <-s.came:
			case <-ctx.Done():
			}
		}
		cancel()
	}()
	s.load(ctx)
	if err := s.report(t.Output()); err != nil {
		t.Error(err)
	}
}
