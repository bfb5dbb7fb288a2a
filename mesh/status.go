package mesh

import (
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/route"
	"holdfast/mesh/when"
)

// The methods below read the node between two steps. now is a reading of the counter that Step is
// given, not before the latest step's.

// Status tells what the node says of itself.
func (n *Node) Status(now when.Instant) Status {
	defer n.at(now)()
	s := Status{Node: n.self, Role: n.c.Role, State: n.state, Epoch: n.view().Epoch,
		Mutable: n.mutable()}
	if s.Epoch == 0 {
		return s
	}
	s.Digest = n.digest
	for _, m := range n.view().Members {
		row := MemberStatus{ID: m.ID, Health: "alive", Incarnation: m.Incarnation}
		if e := n.members.Find(m.ID); e != nil {
			row.Health, row.AgeMS = e.Health.String(), int64(e.Silence(n.now))
		}
		s.Members = append(s.Members, row)
	}
	return s
}

// Homes tells where this node believes the objects to be, in table order. Without routing, or
// before the first view, there are none.
func (n *Node) Homes(now when.Instant) []HomeStatus {
	defer n.at(now)()
	if !n.c.Route || n.view().Epoch == 0 {
		return nil
	}
	rows := make([]HomeStatus, 0, len(n.objects.All()))
	for i := range n.objects.All() {
		o := &n.objects.All()[i]
		row := HomeStatus{Object: o.ID, Name: o.Name, Home: o.Route, HomeEpoch: o.RouteEpoch,
			Lease: o.Lease.String(), Version: o.Record.Version}
		if o.Lease != route.NoLease {
			row.ReadMS, row.WriteMS = int64(n.readLeft()), int64(n.writeLeft())
			row.Copies = n.copies(o)
		}
		switch {
		case o.Lease == route.Active:
			row.Home, row.HomeEpoch = n.self, o.LeaseEpoch
		case o.Lease == route.Draining, n.awaits(o.ID):
			row.WriteMS = 0
		}
		rows = append(rows, row)
	}
	return rows
}

// Leaves reports whether a request for an object would leave this node at once: its home is another
// node, and there is a session on the way to it. That home verifies the request's capability.
func (n *Node) Leaves(now when.Instant, o id.Object) bool {
	defer n.at(now)()
	target := n.locate(o)
	m, member := n.view().Find(target)
	return member && target != n.self && n.reachable() == refusal.OK && n.towards(m) != nil
}

// copies is how many nodes hold the published record of an object that is homed here, as far as
// this one knows.
func (n *Node) copies(o *route.Object) int {
	if !o.Local && !o.Record.IsZero() {
		return len(n.view().Members)
	}
	held := 1
	for _, h := range o.Held {
		if h.Digest == o.Record.Digest && n.hasBoot(h.Boot) {
			held++
		}
	}
	return held
}

// AuthorityRow is the `mesh-route: authority` row.
func (n *Node) AuthorityRow(now when.Instant) evidence.Line {
	defer n.at(now)()
	state := "current"
	if n.state == Joining || n.member.lost || n.halted != refusal.OK {
		state = "lost"
	}
	sent := n.member.lease.Sent()
	if n.c.Role == Authority {
		sent = n.now
	}
	return evidence.New("mesh-route", "authority").Str("state", state).
		Epoch("epoch", n.view().Epoch).Bool("mutable", n.mutable()).
		Span("write_lease_ms", n.writeLeft()).Int("lease_sent_ms", int64(sent)).At(n.now)
}

// CountersRow is the `mesh-route: counters` row.
func (n *Node) CountersRow(now when.Instant) evidence.Line {
	defer n.at(now)()
	c := &n.counted
	l := evidence.New("mesh-route", "counters").Uint("routes", c.routes).Uint("sends", c.sends).
		Uint("moved", c.moved).Uint("timeouts", c.timeouts).Uint("refused", c.refused).
		Uint("fences", c.fences).Uint("commits", c.commits).Uint("replays", c.replays)
	if c.lastReplay == refusal.OK {
		l = l.None("last_replay")
	} else {
		l = l.Word("last_replay", c.lastReplay)
	}
	return l.At(n.now)
}

// readLeft is what remains of the read leases here, zero when they are over.
func (n *Node) readLeft() when.Span {
	if !n.readable() {
		return 0
	}
	return n.readUntil().Sub(n.now)
}

// writeLeft is what remains of the write lease. The authority renews its own: it is always whole.
func (n *Node) writeLeft() when.Span {
	switch {
	case !n.mutable():
		return 0
	case n.c.Role == Authority:
		return n.c.Timing.WriteLease
	}
	return n.member.lease.Left(n.clocks())
}

// at lets the methods above see the node at a later instant than that of its latest step, and
// returns what undoes it: looking is not a step.
func (n *Node) at(raw when.Instant) func() {
	before := n.now
	n.now = max(before, raw.Add(n.shift))
	return func() { n.now = before }
}
