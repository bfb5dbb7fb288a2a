package mesh

import (
	"holdfast/mesh/id"
	"holdfast/mesh/route"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// Inspector is a node as those see it who judge it from outside: simulation and search. It tells
// what the node would do, without asking it to do anything: none of its methods changes the node.
// now is a reading of the counter that Step is given, not before the latest step's.
type Inspector struct{ n *Node }

// Inspect returns the inspector of n, which stays good for the node's life.
func Inspect(n *Node) Inspector { return Inspector{n} }

// MayCommit reports whether the node's right to commit by itself would cover a commit whose second
// check reads these clocks. For how long it goes on doing so by the counter, if nothing happens to
// the node, is left; the second clock may end it sooner. With AcksAll a member has no such right.
func (i Inspector) MayCommit(now when.Instant, second when.Calendar) (left when.Span, may bool) {
	defer i.n.at(now)()
	before := i.n.second
	defer func() { i.n.second = before }()
	i.n.second = second
	if i.n.c.Timing.AcksAll && i.n.c.Role == Member {
		return 0, false
	}
	return i.n.writeLeft(), i.n.mutable()
}

// TakesCommits reports whether the node would take a commit of an object that is homed here, when
// the second clock shows second. With AcksAll that is no right: the others have still to agree.
func (i Inspector) TakesCommits(now when.Instant, second when.Calendar) bool {
	defer i.n.at(now)()
	before := i.n.second
	defer func() { i.n.second = before }()
	i.n.second = second
	return i.n.mutable()
}

// Holds reports whether the node counts itself as the home of an object that it knows. It commits
// to it not before from, in its own time: until then a former holder's lease may run (rule L16).
func (i Inspector) Holds(o id.Object) (from when.Instant, holds, known bool) {
	row := i.n.objects.Find(o)
	if row == nil {
		return 0, false, false
	}
	for _, m := range i.n.authority.moved {
		if m.object == o {
			from = max(from, m.wait.Until)
		}
	}
	return from, row.Lease == route.Active, true
}

// HomesHere reports whether the node would count itself as the home of an object that it does not
// know, if it were asked for it: that depends on its view alone.
func (i Inspector) HomesHere(o id.Object) bool {
	return i.n.c.Route && i.n.homeOf(o) == i.n.self
}

// Record is what the node holds of an object: the record of version 0 when it holds none. The value
// is the node's own and must not be changed.
func (i Inspector) Record(o id.Object) (epoch id.Epoch, version uint64, value []byte) {
	if row := i.n.objects.Find(o); row != nil {
		return row.Record.Epoch, row.Record.Version, row.Record.Value
	}
	return 0, 0, nil
}

// Alone reports whether the node's record of an object is a local commit that it has not sent to
// anybody.
func (i Inspector) Alone(o id.Object) bool {
	row := i.n.objects.Find(o)
	return row != nil && row.Local
}

// Remembers reports whether the node knows that a commit of an object was carried out: published,
// or in doubt, as far as its newest record goes. It forgets all but the latest ones.
func (i Inspector) Remembers(o id.Object, r wire.Request) (published, inDoubt bool) {
	row := i.n.objects.Find(o)
	if row == nil {
		return false, false
	}
	return row.Record.Window.Remembers(r), row.Newest().Window.Remembers(r)
}

// Made is the version that a commit of an object made, as far as the newest record here knows it: 0
// if it does not.
func (i Inspector) Made(o id.Object, r wire.Request) uint64 {
	row := i.n.objects.Find(o)
	if row == nil {
		return 0
	}
	version, _ := row.Newest().Window.Version(r)
	return version
}

// Newest names the newest record that the node holds of an object, published or not: version 0 when
// it holds none.
func (i Inspector) Newest(o id.Object) (epoch id.Epoch, version uint64, digest id.Digest) {
	if row := i.n.objects.Find(o); row != nil {
		r := row.Newest()
		return r.Epoch, r.Version, r.Digest
	}
	return 0, 0, id.Digest{}
}

// Includes reports whether a boot of a node is in the current view.
func (i Inspector) Includes(n id.Node, b id.Boot) bool { return i.n.view().HasBoot(n, b) }

// Epoch is that of the current view, 0 before the first.
func (i Inspector) Epoch() id.Epoch { return i.n.view().Epoch }

// Digest is that of the current view, zero before the first.
func (i Inspector) Digest() id.Digest {
	if i.Epoch() == 0 {
		return id.Digest{}
	}
	return i.n.view().Digest()
}

// Members is how many nodes the current view has, 0 before the first.
func (i Inspector) Members() int { return len(i.n.view().Members) }

// Now is the node's own time, that of its latest step.
func (i Inspector) Now() when.Instant { return i.n.now }

// Time is the node's own time when the counter that Step is given shows now: it does not go back
// with the counter.
func (i Inspector) Time(now when.Instant) when.Instant { return max(i.n.now, now.Add(i.n.shift)) }

// Joined reports whether the node counts itself as a member.
func (i Inspector) Joined() bool { return i.n.state == Joined }

// Overgrown names a table that has outgrown its bound, "" for none.
func (i Inspector) Overgrown() string {
	n := i.n
	switch {
	case len(n.sessions) > sessionsMax:
		return "sessions"
	case len(n.ops) > opsMax:
		return "operations"
	case len(n.objects.All()) > ObjectsMax:
		return "objects"
	case len(n.verified) > verifiedMax:
		return "verified capabilities"
	case len(n.authority.damped) > maxAllow:
		return "dampings"
	case len(n.members.All()) > maxAllow:
		return "members"
	case len(n.authority.moved) > ObjectsMax*waitsFor:
		return "moved objects"
	}
	for i := range n.members.All() {
		if len(n.members.All()[i].Waits) > waitsFor {
			return "waits"
		}
	}
	return ""
}

// waitsFor is how many former holders a boot can ever wait for: two boots of each other member, and
// of itself, have had a lease within the time for which one counts.
const waitsFor = 2 * maxAllow
