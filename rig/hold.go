package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"holdfast/rig/journal"
	"holdfast/rig/progress"
	"holdfast/rig/scenario"
	"holdfast/rig/world"
)

// holdLimit ends a pair that somebody has forgotten.
const holdLimit = 12 * time.Hour

// holdUp keeps a run's machines up, reachable from this host, until the user interrupts it. That is
// how it is meant to end: the run is over then, and the verdict is as without it. Only what a
// machine does meanwhile changes it, such as a panic.
func (s *session) holdUp(
	w *world.World, reporter *progress.Reporter, folder string, end journal.End,
) journal.End {
	nodes := w.Running()
	var lines []string // to try
	for i, node := range nodes {
		address, err := w.Forward(node)
		if err != nil {
			return journal.End{Outcome: journal.Trouble, Reason: err.Error()}
		}
		fmt.Printf("%s  http://%v/\n", node, address)
		put := ""
		if i == 0 {
			put = "-X PUT --data hello "
		}
		lines = append(lines, fmt.Sprintf("  curl -sS %s-H \"Authorization: Holdfast $(%s cap "+
			"--node %s --object greeting %s)\" http://%v/objects/greeting\n",
			put, os.Args[0], node, folder, address))
	}
	fmt.Printf("\nTo try, in another terminal:\n%s\nCtrl-C ends it.\n", strings.Join(lines, ""))
	held := reporter.Wait("Ctrl-C", holdLimit)
	limit := time.NewTimer(holdLimit)
	defer limit.Stop()
	select {
	case <-limit.C:
	case <-w.Context().Done():
		if cause := context.Cause(w.Context()); !errors.Is(cause, errInterrupted) {
			held(cause)
			return scenario.Ending(cause, errInterrupted)
		}
		s.mu.Lock()
		s.released = true
		s.mu.Unlock()
	}
	held(nil)
	return end
}
