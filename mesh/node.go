package mesh

import (
	"holdfast/mesh/capability"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/lease"
	"holdfast/mesh/member"
	"holdfast/mesh/refusal"
	"holdfast/mesh/route"
	"holdfast/mesh/timing"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
)

// maxAllow bounds mesh.allow: the view has room for the authority and these.
const maxAllow = view.MaxMembers - 1

// State is how far a node has come with its mesh.
type State uint8

// The states. An authority is always Joined. A member is Joining until its first Confirm, and again
// from when it is told that it is not in the view until the next one.
const (
	Joining State = iota
	Joined
)

func (s State) String() string { return [...]string{"joining", "joined"}[s] }

// Node is one node's protocol state. Its fields are grouped by who changes them.
type Node struct {
	// Fixed at New.
	c    Config
	self id.Node

	// Changed by every step.
	now     when.Instant
	raw     when.Instant // the instant handed to the latest step
	shift   when.Span    // now - raw: grows when the clock goes back
	out     *Effects
	random  random
	started when.Instant
	second  when.Calendar // the latest reading of the second clock
	both    lease.Clocks  // the latest one that it answered
	pauses  uint64        // local pauses so far (rule L4 compares it)
	halted  refusal.Word  // why it is a fail-stop, for good; OK when it is none

	// Changed by link inputs and the frames on them.
	sessions []session

	// Changed by installing a view, and by nothing else.
	state   State
	cert    view.Certificate // the newest one installed; its epoch is 0 before the first
	digest  id.Digest        // of its view: asked for with every lease
	members member.Table
	objects *route.Table

	// Changed by what clients ask for.
	ops     []op
	serial  uint64 // of the latest one
	seq     uint64 // of this node's own requests
	staged  staged
	commits []commit
	queue   []queued
	unsaid  []id.Object // published here, and the others have not been told
	saying  pace
	ticket  Ticket // of the latest Recheck
	lab     lab
	marks   Marks // the authority's, as far as they are durable
	counted counters

	verified     [][capability.Size]byte // capabilities whose signatures have been checked
	verifiedNext int                     // the one to be replaced next

	// One of the two is in use, by role.
	authority authority
	member    memberState
}

// New starts a node. The effects are those of its boot: at the authority the view of one.
func New(now when.Instant, c Config, out *Effects) (*Node, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	n := &Node{c: c, self: id.NodeOf(c.public()), raw: now, now: now, started: now,
		second: when.NoSecond, both: lease.Clocks{Second: when.NoSecond}, random: random{seed: c.Seed}}
	n.member.lease.Both = c.Both
	n.objects = route.New(n.c.LabObject)
	n.begin(out)
	if !c.Detect {
		n.print(evidence.New("mesh-fail", "disabled").Str("reason", "config"))
	}
	if !c.Route {
		n.print(evidence.New("mesh-route", "disabled").Str("reason", "config"))
	}
	if c.Role == Authority {
		n.founded()
	}
	n.check()
	return n, nil
}

// Step takes one input that happened at now and appends to out, emptied first, what is to be done.
// now is a reading of this node's own counter. Effects are carried out in order, before the next
// step.
func (n *Node) Step(now when.Instant, in Input, out *Effects) {
	n.begin(out)
	n.advance(now)
	switch in := in.(type) {
	case Tick:
		n.readSecond(in.Second)
	case Persisted:
		n.persisted(in)
	case StartEmpty:
		n.startEmpty(in)
	case LinkUp:
		n.linkUp(in)
	case LinkDown:
		n.linkDown(in)
	case Frame:
		n.frame(in)
	case Drained:
		n.drained(in)
	case Rechecked:
		n.rechecked(in)
	case LabStep:
		n.labStep(in)
	case Request:
		n.clientRequest(in)
	default:
		panic("mesh: unknown input")
	}
	n.passTime()
	n.check()
}

func (n *Node) begin(out *Effects) {
	out.List = out.List[:0]
	n.out = out
}

// advance moves the node's time on. A gap, or a clock that went back, is a local pause: this node
// was not running, so nobody else's silence is to blame, and a lease may have run out unseen (rule
// L5).
func (n *Node) advance(raw when.Instant) {
	gap := raw.Sub(n.raw)
	n.raw = raw
	if gap < 0 {
		n.shift -= gap // time stands still across the jump, and goes on from there
		n.paused(-gap, "back")
		return
	}
	n.now = raw.Add(n.shift)
	if gap > n.c.Timing.Pause() {
		n.paused(gap, "gap")
	}
}

func (n *Node) paused(d when.Span, kind string) {
	n.pauses++
	if kind == "gap" {
		n.members.Excuse(n.now, d)
		n.excuseAdmissions(d)
		n.excuseRecords(d)
	}
	if kind == "rtc" {
		n.age(d)
		n.member.lease.Stood(d)
	}
	n.member.lease.Zero()
	n.member.asked = n.now.Add(-n.c.Timing.Ask()) // a member asks again at once
	n.lookAgain()
	n.print(evidence.New("mesh-fail", "paused").Span("ms", d).Str("kind", kind))
}

// apartMax is how far the two clocks may move apart between two readings, beside their drift: the
// second one counts whole seconds.
const apartMax = 1_500

// readSecond takes a reading of the second clock. When it has moved on and the counter has not, or
// the other way round, this node was stopped in a way that the counter does not show (rule L6). A
// clock that has been silent for a while is compared with what it last answered: a machine may have
// been frozen in between.
func (n *Node) readSecond(s when.Calendar) {
	if !n.c.Both {
		return
	}
	before := n.both
	n.second = s
	if s == when.NoSecond {
		return
	}
	n.both = lease.Clocks{Counter: n.now, Second: s}
	if before.Second == when.NoSecond {
		return
	}
	ran := n.now.Sub(before.Counter)
	apart := s.Sub(before.Second) - ran
	most := apartMax + ran*2*timing.DriftPercent/(100-timing.DriftPercent)
	if apart > most || apart < -most {
		n.paused(max(apart, -apart), "rtc")
	}
}

// clocks are the latest readings of both clocks.
func (n *Node) clocks() lease.Clocks { return lease.Clocks{Counter: n.now, Second: n.second} }

// passTime does what is due, whatever the input was.
func (n *Node) passTime() {
	n.keepAlive()
	n.expireOps()
	n.commitTime()
	n.sayPublished()
	if n.c.Role == Authority {
		n.authorityTime()
		return
	}
	n.memberTime()
}

// Deadline returns the instant at which the next Tick is due, on the clock that Step is given.
func (n *Node) Deadline() when.Instant {
	at := n.now.Add(n.c.Timing.Tick())
	sooner := func(t when.Instant) {
		if t > n.now { // what is overdue waits for something else than time
			at = at.Min(t)
		}
	}
	for i := range n.members.All() {
		e := &n.members.All()[i]
		if n.c.Detect {
			sooner(e.Due(n.c.Timing))
		}
		if e.Drain == member.DrainAsked {
			sooner(e.DrainEnd)
		}
	}
	if n.c.Role == Authority && n.state == Joining {
		sooner(n.started.Add(n.c.Timing.Fail))
	}
	if n.c.Role == Member && n.state == Joined {
		sooner(n.member.asked.Add(n.c.Timing.Ask()))
	}
	return at.Add(-n.shift)
}

// view is the current view: zero, with epoch 0, before the first.
func (n *Node) view() *view.View { return &n.cert.View }

func (n *Node) print(l evidence.Line) { n.out.add(Print{l.At(n.now)}) }

// halt stops the node for good: it has seen proof that the authority, or another holder of its key,
// has signed two histories. Serving on could make a second home. An authority signs and
// acknowledges nothing from here on; the word is what both refuse mutable service with.
func (n *Node) halt(w refusal.Word, row evidence.Line) {
	if n.halted == refusal.OK {
		n.halted = w
		n.print(row)
		n.dropStaged(w)
	}
}

// mutable reports whether this node may commit now, as far as its lease goes.
func (n *Node) mutable() bool {
	if n.c.Role == Authority {
		return n.halted == refusal.OK && n.state == Joined && n.active()
	}
	return n.halted == refusal.OK && n.state == Joined && n.member.lease.Valid(n.clocks())
}

// check panics when an invariant of the node is broken. It runs after every step, in production
// too.
func (n *Node) check() {
	v := n.view()
	switch {
	case n.c.Role == Authority && n.state != Joined && n.c.Marks == nil:
		panic("mesh: the authority is not in its own view")
	case n.state == Joined && !v.HasBoot(n.self, n.c.Boot):
		panic("mesh: joined without being in the view")
	case n.state == Joining && n.member.lease.Valid(n.clocks()):
		panic("mesh: a write lease without membership")
	case len(n.sessions) > sessionsMax || len(n.ops) > opsMax || len(n.queue) > queueMax ||
		len(n.commits) > ObjectsMax:
		panic("mesh: a table has outgrown its bound")
	}
	for i := range n.objects.All() {
		o := &n.objects.All()[i]
		moved := o.LeaseEpoch > n.view().Epoch // a lab move gave it
		if o.Lease == route.Active && o.Home != n.self && !moved {
			panic("mesh: an active lease away from home")
		}
	}
}
