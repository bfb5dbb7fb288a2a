package node

import (
	"context"
	"time"

	"holdfast/kernel/node/clock"
	"holdfast/mesh"
	"holdfast/mesh/when"
)

// The watchdog's times (rule L15). The authority's is long because its reset loses the only copy of
// a view of one.
const (
	watchdogMember    = 3 * time.Second
	watchdogAuthority = 30 * time.Second
	feedEvery         = 500 * time.Millisecond

	// tickedMS is how long ago the latest tick may be.
	tickedMS when.Span = 1_000
)

// feed arms the watchdog and feeds it as long as the node is well: it is reset when its loop no
// longer takes events or time, or publishes another right to commit than the protocol gives it. A
// node that may not commit, and says so, is well. That is hygiene, no fence: a machine that was
// stopped is reset only after it has gone on.
func (n *Node) feed(ctx context.Context) {
	dog, waits := n.machine.Watchdog, n.machine.Waits
	after := watchdogMember
	if n.mesh.Role == mesh.Authority {
		after = watchdogAuthority
	}
	dog.Start(after)
	for fed := waits.Now(); clock.Sleep(ctx, waits, feedEvery); {
		now := waits.Now()
		if now.Sub(fed) > after {
			return // it is due, and a machine that wakes a moment before it bites must not save itself
		}
		if n.loop.well(ctx) {
			dog.Feed()
			fed = now
		}
	}
}

// well asks the loop, through the queue by which everything that was received reaches it. A loop
// that does not answer until the next feeding is not well.
func (l *loop) well(ctx context.Context) bool {
	ctx, cancel := clock.WithTimeout(ctx, l.waits, feedEvery)
	defer cancel()
	well := false
	answered := l.look(ctx, func(c core, now when.Instant) {
		// What is published is of the latest tick. A lease that came or went since is a disagreement
		// that the next tick ends, long before the watchdog is hungry.
		well = now.Sub(l.ticked) <= tickedMS && c.Status(now).Mutable == l.stats.mutable.Load()
	})
	return answered && well
}
