package mesh

import (
	"crypto/ed25519"
	"slices"

	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/replay"
	"holdfast/mesh/route"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// What an object's home does with a request, in this order (protocol.md, "Local commit"):
//
//	sender's epoch   stale-epoch, unknown-epoch: before any look-up, so that a frame of the past is
//	                 answered with a fence and not as a replay (ADR-0008 section 3)
//	capability       signature, object, holder, right, epoch
//	home             not-home: a node that holds no lease never makes up a redirect
//	identity         replay, unknown-outcome, or the remembered reply
//	lease            the read lease, or the write lease
//
// With AcksAll (package timing) no lease gives a right: what rests on one alone, a local commit and
// an authoritative read, is refused as disabled. The write lease only says then whether it is worth
// asking the others for their acknowledgements.
//
// A commit, or an authoritative read, is then staged; the adapter reads the clock again; lease,
// view and pauses are checked a second time, and only then is it published and answered (rule L4).
// A commit that was checked before this node was stopped can so never be applied after it.

// from is who sent a request: its answer goes there.
type from struct {
	op      uint64  // the serial of one of this node's own, 0 for another node's request
	session Session // on which that came
	node    id.Node
}

// staged is the one commit, or authoritative read, between its two checks.
type staged struct {
	ticket Ticket // 0: nothing is staged
	q      wire.RouteReq
	from   from
	epoch  id.Epoch
	pauses uint64
}

// counters are the numbers of the `mesh-route: counters` row, and malformed frames.
type counters struct {
	routes, sends, moved, timeouts, refused, fences, commits, replays uint64
	lastReplay                                                        refusal.Word
	malformed                                                         uint64
}

// serve judges a request at this node, with the epoch of whoever sent it, and answers it now or,
// for a commit, after the second check.
func (n *Node) serve(who from, epoch id.Epoch, q *wire.RouteReq) {
	switch w := n.judge(who, epoch, q); {
	case w == refusal.NoObject && q.Class == wire.Authoritative:
		n.stage(who, q, unmade(q.Object))
		return
	case w != refusal.OK:
		n.answerRefused(who, q, w)
		return
	}
	o := n.known(who, q)
	if o == nil {
		n.answerRefused(who, q, refusal.Full)
		return
	}
	if n.joinsCommit(who, q) {
		return
	}
	verdict, w, reply := o.Record.Window.Check(q, o.Since)
	switch verdict {
	case replay.Refuse:
		n.answerRefused(who, q, w)
		return
	case replay.Repeat:
		n.answer(who, n.reply(q, o, reply))
		return
	}
	if w := n.leaseFor(q, o); w != refusal.OK {
		n.answerRefused(who, q, w)
		return
	}
	switch {
	case n.enqueue(who, epoch, q):
	case q.Op == wire.Commit && n.durability(q, o) == wire.Replicated:
		n.replicate(who, q, o)
	case q.Op == wire.Commit || q.Class == wire.Authoritative:
		n.stage(who, q, o)
	default:
		n.read(who, q, o)
	}
}

// read answers a stat with the record that is published.
func (n *Node) read(who from, q *wire.RouteReq, o *route.Object) {
	reply := replay.Reply{Version: o.Record.Version, Durability: wire.None}
	o.Record.Window.Remember(q, reply)
	n.answer(who, n.reply(q, o, reply))
}

// judge makes the checks that need no lease.
func (n *Node) judge(who from, epoch id.Epoch, q *wire.RouteReq) refusal.Word {
	current := n.view().Epoch
	switch {
	case !n.c.Route:
		return refusal.Disabled
	case epoch < current:
		return refusal.StaleEpoch
	case epoch > current:
		return refusal.UnknownEpoch
	case q.FirstEpoch > epoch:
		return refusal.Malformed
	}
	if w := n.capable(q, who.node, current); w != refusal.OK {
		return w
	}
	o := n.objects.Find(q.Object)
	switch {
	case o == nil && n.homeOf(q.Object) != n.self, o != nil && o.Lease == route.NoLease:
		return refusal.NotHome
	case q.Op == wire.Stat && n.never(o):
		return n.neverWord(q)
	case o == nil && q.IfVersion != 0 && q.IfVersion != wire.AnyVersion:
		return refusal.VersionConflict
	case o == nil:
		return refusal.OK
	}
	return n.movedWord(q, o)
}

// capable checks the capability of a request that a holder makes under an epoch.
func (n *Node) capable(q *wire.RouteReq, holder id.Node, current id.Epoch) refusal.Word {
	c, ok := n.capability(q.Capability)
	right := capability.RightStat
	if q.Op == wire.Commit {
		right = capability.RightCommit
	}
	switch {
	case !ok || c.Object != q.Object || c.Holder != holder || !c.Rights.Has(right):
		return refusal.BadCapability
	case c.Epoch < current:
		return refusal.StaleEpoch
	case c.Epoch > current:
		return refusal.UnknownEpoch
	}
	return refusal.OK
}

// never reports whether an object was never committed. The lab's exist anyway.
func (n *Node) never(o *route.Object) bool {
	return o == nil || o.Record.Version == 0 && !slices.Contains(n.c.LabObject, o.Name)
}

// neverWord answers a stat of an object that was never committed here. That there is none is an
// answer like any other: a home whose lease is over may have been left behind, and one that joins
// again has given its records away.
func (n *Node) neverWord(q *wire.RouteReq) refusal.Word {
	if w := n.leaseFor(q, unmade(q.Object)); w != refusal.OK {
		return w
	}
	return refusal.NoObject
}

// unmade stands for an object that this node homes and nobody has committed to.
func unmade(o id.Object) *route.Object { return &route.Object{ID: o, Lease: route.Active} }

// known returns the object's row, made now for the first commit of a new object that is homed here;
// nil when the table is full.
func (n *Node) known(who from, q *wire.RouteReq) *route.Object {
	if o := n.objects.Find(q.Object); o != nil {
		return o
	}
	name := ""
	if i := n.indexOf(who.op); i >= 0 {
		name = n.ops[i].name
	}
	o := n.objects.Add(q.Object, name, ObjectsMax)
	if o != nil {
		n.homed(o)
		o.Lease, o.LeaseEpoch, o.Since = route.Active, n.view().Epoch, n.view().Epoch
	}
	return o
}

// verifiedMax bounds the capabilities remembered as verified: a signature costs milliseconds.
const verifiedMax = 32

// capability verifies an encoded capability, or finds that it has done so before.
func (n *Node) capability(b [capability.Size]byte) (capability.Capability, bool) {
	if slices.Contains(n.verified, b) {
		c, err := capability.Parse(b[:])
		return c, err == nil
	}
	c, err := capability.Verify(b[:], n.c.Root)
	if err != nil {
		return c, false
	}
	n.remember(b)
	return c, true
}

// remember takes a capability as verified from here on.
func (n *Node) remember(b [capability.Size]byte) {
	switch {
	case slices.Contains(n.verified, b):
	case len(n.verified) < verifiedMax:
		n.verified = append(n.verified, b)
	default:
		n.verified[n.verifiedNext] = b
		n.verifiedNext = (n.verifiedNext + 1) % verifiedMax
	}
}

// leaseFor checks the lease that an operation needs: a commit and an authoritative read the write
// lease, a lease read the read lease.
func (n *Node) leaseFor(q *wire.RouteReq, o *route.Object) refusal.Word {
	switch {
	case n.c.Timing.AcksAll && byLeaseAlone(q):
		return refusal.Disabled
	case q.Op == wire.Commit && int(q.Copies) > len(n.view().Members):
		return refusal.NotCurrent
	case q.Op == wire.Commit || q.Class == wire.Authoritative:
		return n.writable(o.ID)
	case q.Class == wire.Lease && !n.readable():
		return refusal.NotCurrent
	}
	return refusal.OK
}

// byLeaseAlone reports whether nothing but a write lease makes the answer to a request right.
func byLeaseAlone(q *wire.RouteReq) bool {
	return q.Op == wire.Commit && q.Durability == wire.Local ||
		q.Op == wire.Stat && q.Class == wire.Authoritative
}

// writable returns why this node, an object's home, may not commit to it, if it may not.
func (n *Node) writable(o id.Object) refusal.Word {
	switch {
	case n.mutable() && n.awaits(o):
		return refusal.Draining
	case n.mutable():
		return refusal.OK
	case n.halted != refusal.OK:
		return n.halted
	case n.member.lost || n.state == Joining:
		return refusal.NoAuthority
	}
	return refusal.NotCurrent
}

// readUntil is the last instant of the read leases here. They all count from the same one, the last
// accepted frame of the authority; the authority renews its own (ADR-0008 section 4).
func (n *Node) readUntil() when.Instant {
	if n.c.Role == Authority {
		return n.now.Add(timing.ReadLeaseMS)
	}
	return n.member.heard.Add(timing.ReadLeaseMS)
}

// readable reports whether the read leases here are valid, their last millisecond included.
func (n *Node) readable() bool { return n.halted == refusal.OK && n.now <= n.readUntil() }

// stage holds a checked commit until the clock has been read again.
func (n *Node) stage(who from, q *wire.RouteReq, o *route.Object) {
	switch {
	case n.staged.ticket != 0:
		n.answerRefused(who, q, refusal.Full) // the adapter has not answered the last Recheck
		return
	case q.IfVersion != wire.AnyVersion && q.IfVersion != o.Record.Version:
		n.answerRefused(who, q, refusal.VersionConflict)
		return
	}
	n.ticket++
	n.staged = staged{n.ticket, *q, who, n.view().Epoch, n.pauses}
	n.out.add(Recheck{n.ticket})
}

// rechecked finishes what was staged, unless it was dropped meanwhile.
func (n *Node) rechecked(in Rechecked) {
	n.readSecond(in.Second)
	g := n.staged
	if g.ticket == 0 || g.ticket != in.Ticket {
		return
	}
	n.staged = staged{}
	n.finishStaged(&g)
	n.dequeue()
}

// finishStaged makes the second check of what was staged, and publishes or answers.
func (n *Node) finishStaged(g *staged) {
	if g.q.Class == wire.StaleOK {
		n.readStale(g)
		return
	}
	o := n.objects.Find(g.q.Object)
	if o == nil && g.q.Op == wire.Stat {
		o = unmade(g.q.Object)
	}
	switch w := n.writable(g.q.Object); {
	case g.epoch != n.view().Epoch || o == nil || o.Lease != route.Active:
		n.answerRefused(g.from, &g.q, refusal.StaleEpoch)
	case w != refusal.OK:
		n.answerRefused(g.from, &g.q, w)
	case g.pauses != n.pauses:
		n.answerRefused(g.from, &g.q, refusal.NotCurrent)
	case g.q.Op == wire.Stat && n.never(o):
		n.answerRefused(g.from, &g.q, refusal.NoObject)
	case g.q.Op == wire.Stat:
		n.read(g.from, &g.q, o)
	default:
		n.publish(g, o)
	}
}

func (n *Node) publish(g *staged, o *route.Object) {
	r := &o.Record
	r.Epoch, r.Version = g.epoch, r.Version+1
	r.Request, r.RequestDigest = g.q.Request, g.q.Digest()
	r.Value = append(r.Value[:0:0], g.q.Value...)
	reply := replay.Reply{Version: r.Version, Durability: wire.Local, Copies: 1}
	r.Window.RememberAs(&g.q, r.RequestDigest, reply)
	r.Seal(o.ID)
	o.Local, o.Held, o.Owed = true, nil, 0
	n.counted.commits++
	if !n.c.Detect {
		n.said(o.ID) // the authority asks whether anything was ever committed when it admits a boot
	}
	n.answer(g.from, n.reply(&g.q, o, reply))
}

// dropStaged discards a commit whose lease has just ended, with the word for it: it was never sent
// to anybody.
func (n *Node) dropStaged(w refusal.Word) {
	g := n.staged
	n.staged = staged{}
	if g.ticket != 0 {
		n.answerRefused(g.from, &g.q, w)
	}
}

func (n *Node) reply(q *wire.RouteReq, o *route.Object, r replay.Reply) *wire.RouteRep {
	rep := &wire.RouteRep{Request: q.Request, Home: n.self, HomeEpoch: o.LeaseEpoch,
		Version: r.Version, Class: q.Class, Durability: r.Durability, Copies: r.Copies}
	if q.Op == wire.Stat {
		rep.Value = o.Record.Value
	}
	return rep
}

// answerRefused answers with a word, and with what this node believes about the object.
func (n *Node) answerRefused(who from, q *wire.RouteReq, w refusal.Word) {
	n.counted.refused++
	if w == refusal.Replay || w == refusal.StaleEpoch {
		n.counted.replays++
		n.counted.lastReplay = w
	}
	rep := &wire.RouteRep{Request: q.Request, Word: w, Class: q.Class}
	if o := n.objects.Find(q.Object); o != nil {
		rep.Home, rep.HomeEpoch, rep.Version = o.Home, o.HomeEpoch, o.Record.Version
		switch {
		case o.Lease == route.Active:
			rep.Home, rep.HomeEpoch = n.self, o.LeaseEpoch
		case w == refusal.Moved:
			rep.Home, rep.HomeEpoch = o.Route, o.RouteEpoch
		}
	}
	n.answer(who, rep)
}

// answer hands a reply to whoever asked. A session that is gone takes its answer with it: the
// client asks again, and the request's identity keeps it from being executed twice.
func (n *Node) answer(who from, rep *wire.RouteRep) {
	if who.op != 0 {
		n.replied(who.op, rep)
		return
	}
	if s := n.find(who.session); s != nil {
		n.sendTo(s, who.node, rep)
	}
}

// verify checks a signature of the authority.
func (n *Node) verify(sig, body []byte) bool { return ed25519.Verify(n.c.Root, body, sig) }
