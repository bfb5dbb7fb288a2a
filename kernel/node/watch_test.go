package node

import (
	"math"
	"sync"
	"time"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/netstack/virtual"
)

// watch stands between a node's loop and its protocol, and notes when the node could have committed
// to which object and when it did. After each step the protocol tells what it could do from then
// on, and until when, if nothing happened to it; the next step is the next thing that happens. So
// nothing is missed, however short. It changes nothing.
type watch struct {
	core
	clock  *virtual.Clock
	booted time.Duration // when the machine's counter began

	mu      sync.Mutex
	inside  mesh.Inspector
	status  mesh.Status  // after the latest step
	asked   when.Instant // when the lease was asked for that a member holds
	heard   when.Instant // when the latest frame came
	leases  history      // when the node could commit, by the product's rule
	adrs    history      // and by the rule of ADR-0008 as it is written
	commits [id.LabObjects][]time.Duration
}

func newWatch(c *virtual.Clock) *watch { return &watch{clock: c, booted: c.Elapsed()} }

// watchLoop puts a watch in place. It is an event, because the loop owns the protocol.
type watchLoop struct{ *watch }

func (e watchLoop) handle(l *loop) {
	w := e.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	w.core, w.inside = l.core, mesh.Inspect(l.core.(*mesh.Node))
	l.core = w
	w.look(l.clock())
}

// Step implements core. A commit is published by a Rechecked, which gives the record a new version.
func (w *watch) Step(now when.Instant, in mesh.Input, out *mesh.Effects) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var before [id.LabObjects]uint64
	_, commits := in.(mesh.Rechecked)
	if commits {
		before = w.versions()
	}
	if _, ok := in.(mesh.Frame); ok {
		w.heard = now
	}
	w.core.Step(now, in, out)
	w.look(now)
	if !commits {
		return
	}
	for i, v := range w.versions() {
		if v > before[i] {
			w.commits[i] = append(w.commits[i], w.clock.Elapsed())
		}
	}
}

func (w *watch) versions() (v [id.LabObjects]uint64) {
	for i, o := range labObjects {
		_, v[i], _ = w.inside.Record(o)
	}
	return v
}

// labObjects are the objects that the nodes of a lab know from the start.
var labObjects = func() (all [id.LabObjects]id.Object) {
	for i := range all {
		all[i] = id.ObjectOf(id.LabName(i))
	}
	return all
}()

// look notes what the node can do from this instant on.
func (w *watch) look(now when.Instant) {
	w.status = w.core.Status(now)
	second, _ := w.second()
	left, may := w.inside.MayCommit(now, second)
	if may && w.status.Role == mesh.Member {
		w.asked = now.Add(left - timing.WriteLeaseMS)
	}
	here := w.clock.Elapsed()
	for i, o := range labObjects {
		var lease, adr spell
		if from, holds, _ := w.inside.Holds(o); holds {
			begin := max(here, w.at(from))
			if may {
				lease = spell{begin, w.until(now.Add(left))}
			}
			adr = spell{begin, w.untilByADR()}
		}
		w.leases[i].next(here, lease)
		w.adrs[i].next(here, adr)
	}
}

// until is when a write lease is over whose last millisecond is t. The authority renews its own for
// as long as it runs.
func (w *watch) until(t when.Instant) time.Duration {
	if w.status.Role == mesh.Authority {
		return math.MaxInt64
	}
	return w.at(t + 1)
}

// untilByADR is when a member's write lease would be over if it counted from the arrival of the
// authority's latest frame, as section 4 of ADR-0008 has it. The authority's is the same by both
// rules. A member that has been told that it is no member has none by either, which is kinder to
// the ADR than its text.
func (w *watch) untilByADR() time.Duration {
	s := &w.status
	if s.State != mesh.Joined || s.Role == mesh.Authority && !s.Mutable {
		return 0
	}
	return w.until(w.heard.Add(timing.WriteLeaseMS))
}

// end notes that the node can do nothing any more.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range labObjects {
		w.leases[i].next(w.clock.Elapsed(), spell{})
		w.adrs[i].next(w.clock.Elapsed(), spell{})
	}
}

// read is what the watch saw in the latest step.
func (w *watch) read() (status mesh.Status, asked time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status, w.at(w.asked)
}
