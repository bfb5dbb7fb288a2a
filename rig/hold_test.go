package main

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"holdfast/rig/journal"
	"holdfast/rig/progress"
	"holdfast/rig/provision"
	"holdfast/rig/world"
)

// heldRun holds a world without machines until its context ends for a cause.
func heldRun(t *testing.T, end journal.End, cause error) (journal.End, *session) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	w, err := world.Open(ctx, world.Config{
		Fault: "test", Folder: t.TempDir(), Cast: provision.Draw(1, 2), Patient: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(end)
	s := new(session)
	time.AfterFunc(0, func() { cancel(cause) })
	return s.holdUp(w, progress.New(io.Discard, "test", 0), "runs/x", end), s
}

func TestAHeldRunEndsAsItWasWhenTheUserEndsIt(t *testing.T) {
	for _, outcome := range []journal.Outcome{journal.Complete, journal.Deadline} {
		end, s := heldRun(t, journal.End{Outcome: outcome}, errInterrupted)
		if end.Outcome != outcome || !s.released {
			t.Errorf("a run with outcome %s ends with %+v, released: %v", outcome, end, s.released)
		}
	}
}

func TestAHeldRunThatStopsByItselfSaysWhy(t *testing.T) {
	end, s := heldRun(t, journal.End{Outcome: journal.Complete}, errors.New("no more"))
	if end.Outcome != journal.Trouble || end.Reason != "no more" || s.released {
		t.Errorf("it ends with %+v, released: %v", end, s.released)
	}
}
