package mesh

import (
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
)

// A node that comes and goes is let in more and more slowly (spec/protocol.md, "Join and
// told-stale"; failure.md, U17): each of its joins moves objects to it, and each of its failures
// leaves them without a home for seconds. After three admissions or recoveries from suspicion
// within a minute it is degraded: its next admission waits, 30 s at first, twice as long each time,
// 10 minutes at most. Ten quiet minutes after the end of a wait make it a node like any other.
const (
	restless       = 3
	restlessMS     = 60_000
	degradedMS     = 30_000
	degradedMaxMS  = 600_000
	degradedOverMS = degradedMaxMS
)

// damping is what the authority remembers of a node that it may admit.
type damping struct {
	node  id.Node
	came  [restless]when.Instant // the latest admissions and recoveries, the oldest first
	n     int                    // of them
	wait  when.Span              // the latest one, 0 for none
	until when.Instant           // no admission before
}

// unsteady notes that a node has been admitted or has recovered.
func (n *Node) unsteady(node id.Node) {
	if n.c.Role != Authority {
		return
	}
	d := n.dampingOf(node)
	if d.n == restless {
		copy(d.came[:], d.came[1:])
		d.n--
	}
	d.came[d.n] = n.now
	d.n++
	if d.n < restless || n.now.Sub(d.came[0]) >= restlessMS {
		return
	}
	if n.now.Sub(d.until) >= degradedOverMS {
		d.wait = 0
	}
	d.wait = min(max(degradedMS, 2*d.wait), degradedMaxMS)
	d.until, d.n = n.now.Add(d.wait), 0
	n.print(evidence.New("mesh-fail", "degraded").Node("node", node).Int("recoveries", restless))
}

// heldBack is how long a degraded node has to wait for its admission, 0 for others.
func (n *Node) heldBack(node id.Node) when.Span {
	return max(0, n.dampingOf(node).until.Sub(n.now))
}

// dampingOf returns the entry of a node, made now when there is none yet. There is one at most for
// each node that mesh.allow names.
func (n *Node) dampingOf(node id.Node) *damping {
	for i := range n.authority.damped {
		if d := &n.authority.damped[i]; d.node == node {
			return d
		}
	}
	n.authority.damped = append(n.authority.damped, damping{node: node})
	return &n.authority.damped[len(n.authority.damped)-1]
}
