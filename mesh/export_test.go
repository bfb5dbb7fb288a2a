package mesh

import (
	"errors"

	"holdfast/mesh/id"
	"holdfast/mesh/route"
	"holdfast/mesh/when"
)

// The methods below let the tests look inside cheaply. But for the two that set something none
// changes the node.

// CanCommit reports whether the node's lease would let it commit at now, when the second clock
// shows second: it is read anew for every commit.
func (n *Node) CanCommit(now when.Instant, second when.Calendar) bool {
	defer n.at(now)()
	before := n.second
	defer func() { n.second = before }()
	n.second = second
	return n.mutable()
}

// CanRead reports whether the node's read leases are valid at now.
func (n *Node) CanRead(now when.Instant) bool {
	defer n.at(now)()
	return n.readable()
}

// Now is the node's own time: that of its latest step.
func (n *Node) Now() when.Instant { return n.now }

// Joined reports whether the node counts itself as a member.
func (n *Node) Joined() bool { return n.state == Joined }

// Holds reports whether the node counts itself as the home of an object, whether it knows it yet or
// not, and does not wait for a former holder of it.
func (n *Node) Holds(o id.Object) bool {
	if row := n.objects.Find(o); row != nil {
		return row.Lease == route.Active && !n.awaits(o)
	}
	return n.c.Route && n.homeOf(o) == n.self
}

// Version is that of the node's record of an object, 0 for none.
func (n *Node) Version(o id.Object) uint64 {
	if row := n.objects.Find(o); row != nil {
		return row.Record.Version
	}
	return 0
}

// Alone reports whether the node's record of an object is a local commit that it has not sent.
func (n *Node) Alone(o id.Object) bool {
	row := n.objects.Find(o)
	return row != nil && row.Local
}

// Epoch is that of the current view, 0 before the first.
func (n *Node) Epoch() id.Epoch { return n.view().Epoch }

// Digest is that of the current view, zero before the first.
func (n *Node) Digest() id.Digest {
	if n.Epoch() == 0 {
		return id.Digest{}
	}
	return n.view().Digest()
}

// waitsMax is how many former holders a boot can ever wait for: two boots of each other member, and
// of itself, have had a lease within the time for which one counts.
const waitsMax = 2 * maxAllow

// CheckBounds reports a table that has outgrown its bound.
func (n *Node) CheckBounds() error {
	switch {
	case len(n.sessions) > sessionsMax:
		return errors.New("sessions")
	case len(n.ops) > opsMax:
		return errors.New("operations")
	case len(n.verified) > verifiedMax:
		return errors.New("verified capabilities")
	case len(n.authority.damped) > maxAllow:
		return errors.New("dampings")
	case len(n.members.All()) > maxAllow:
		return errors.New("members")
	}
	for i := range n.members.All() {
		if len(n.members.All()[i].Waits) > waitsMax {
			return errors.New("waits")
		}
	}
	return nil
}

// SetEchoed makes the authority believe that n has echoed a LeaseAck that was sent at t.
func (n *Node) SetEchoed(node id.Node, t when.Instant) { n.members.Find(node).Echoed = t }

// SetLastAck makes the authority believe that it acknowledged a lease of n at t.
func (n *Node) SetLastAck(node id.Node, t when.Instant) {
	e := n.members.Find(node)
	e.Acked, e.LastAck = true, t
}
