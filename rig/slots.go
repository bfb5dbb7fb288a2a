package main

import (
	"context"

	"golang.org/x/sync/semaphore"

	"holdfast/rig/scenario"
)

// slots are the places of runs at the same time. They are taken in the order in which they were
// asked for.
type slots struct {
	all  int64
	free *semaphore.Weighted
}

func newSlots(n int) slots { return slots{int64(n), semaphore.NewWeighted(int64(n))} }

// take waits for a place for a run of a fault, or for all of them if nothing is to run beside it,
// and returns what gives them back. The error is that of ctx.
func (s slots) take(ctx context.Context, f *scenario.Fault) (release func(), err error) {
	n := int64(1)
	if f.Alone {
		n = s.all
	}
	if err := s.free.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { s.free.Release(n) }, nil
}
