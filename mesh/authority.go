package mesh

import (
	"holdfast/mesh/detect"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/member"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// resendMS is how often what waits for an answer is sent again (protocol.md, "Sessions").
const resendMS = 1_000

// authority is what only the authority holds. It alone signs views: it admits, convicts and removes
// (ADR-0008 section 2).
type authority struct {
	unproven  pace // saying that an epoch is unproven
	committed bool // a member may have committed something of which no record is here
	damped    []damping

	change  change       // the view change under way
	next    Marks        // what is being made durable
	looking bool         // the marks are being compared with the chip; no change begins meanwhile
	pause   when.Instant // no other change before this, since marks could not be written
	waiting bool         // it has said that it waits for a prover

	move      move     // the lab move under way
	moveEpoch id.Epoch // of the latest one
	moved     []moved  // what former moves still keep from being served here
}

// establish signs v, whose epoch is durable as signed, and makes it the current view.
func (n *Node) establish(v view.View) {
	v.BootsCount = n.c.Detect
	n.install(view.Sign(v, n.c.Key), nil)
}

// push sends the current view to a member; it is sent again until the member acknowledges it.
func (n *Node) push(e *member.Entry) {
	e.Pushed = n.now
	if s := n.best(e.ID, e.Boot); s != nil {
		n.send(s, n.viewFor(&e.Member, e.Viewed))
	}
}

// pushAgain sends the current view to a member, unless that has just been done, or is done when the
// member has got the records that it lacks.
func (n *Node) pushAgain(e *member.Entry) {
	if s := n.best(e.ID, e.Boot); s != nil && s.synchronizes {
		n.synchronize(s)
		return
	}
	if n.now.Sub(e.Pushed) >= resendMS {
		n.push(e)
	}
}

// authorityTime does what the authority owes to the passing of time.
func (n *Node) authorityTime() {
	if n.halted != refusal.OK {
		return
	}
	n.recover()
	n.changeTime()
	n.admissionTime()
	n.moveTime()
	if n.c.Detect {
		n.detect()
	}
	for i := range n.members.All() {
		e := &n.members.All()[i]
		if e.Viewed < n.view().Epoch {
			n.pushAgain(e)
		}
	}
	n.pushHanded()
	for i := range n.sessions {
		n.synchronize(&n.sessions[i])
	}
}

// detect moves members along Alive, Suspect, Failed. Between silence and verdict, everything that
// had arrived from the member is taken in (rule L12); the verdict also waits for the failure window
// after the last LeaseAck, so that no acknowledged lease outlives it.
func (n *Node) detect() {
	for i := range n.members.All() {
		e := &n.members.All()[i]
		health := detect.Of(e.Silence(n.now), n.c.Timing)
		if e.Health == detect.Alive && health >= detect.Suspect {
			n.suspect(e)
		}
		if health < detect.Failed || e.Acked && n.now.Sub(e.LastAck) < n.c.Timing.Fail {
			continue
		}
		if e.Drain == member.DrainIdle {
			n.drain(e)
		}
		if e.Drain == member.DrainedOnce || n.now >= e.DrainEnd {
			n.convict(e)
			return // the table is a new one now; the next step goes on
		}
	}
}

func (n *Node) suspect(e *member.Entry) {
	e.Health = detect.Suspect
	n.print(evidence.New("mesh-fail", "suspect").Node("node", e.ID).
		Epoch("epoch", n.view().Epoch).Span("silent_ms", e.Silence(n.now)))
}

// drain asks for the barrier behind the member's readers. With no session nothing can have arrived.
func (n *Node) drain(e *member.Entry) {
	e.Drain, e.DrainEnd = member.DrainedOnce, n.now
	for i := range n.sessions {
		if s := &n.sessions[i]; s.peer == e.ID {
			s.barriers++
			e.Drain, e.DrainEnd = member.DrainAsked, n.now.Add(timing.HandlerMS)
			n.out.add(Drain{s.id})
		}
	}
}

// drained takes the barrier of one session. The first of several is enough only if it was the one
// that had something to say: then the silence is over. The others are waited for at most until
// DrainEnd.
func (n *Node) drained(in Drained) {
	s := n.find(in.Session)
	if s == nil || n.c.Role != Authority {
		return
	}
	s.barriers = max(0, s.barriers-1)
	e := n.members.Find(s.peer)
	if e == nil || e.Drain != member.DrainAsked {
		return
	}
	for i := range n.sessions {
		if o := &n.sessions[i]; o.peer == e.ID && o.barriers > 0 {
			return
		}
	}
	e.Drain = member.DrainedOnce
}

// convict declares a member failed and removes it. From here on nothing is acknowledged to it (rule
// L2).
func (n *Node) convict(e *member.Entry) {
	if e.Health != detect.Failed {
		e.Health = detect.Failed
		n.print(evidence.New("mesh-fail", "failed").Node("node", e.ID).
			Epoch("epoch", n.view().Epoch).Span("silent_ms", e.Silence(n.now)))
	}
	if n.mayChange() {
		n.propose(change{members: n.view().Without(e.ID), removed: e.ID})
	}
}

// authorityFrame takes a frame that only an authority gets.
func (n *Node) authorityFrame(s *session, epoch id.Epoch, m wire.Message) {
	if n.halted != refusal.OK {
		n.haltedFrame(s, m)
		return
	}
	if n.state == Joining {
		n.quarantinedFrame(s, m)
		return
	}
	switch m := m.(type) {
	case *wire.JoinReq:
		n.joinReq(s, m)
	case *wire.Join:
		n.join(s, m)
	case *wire.JoinReady:
		n.joinReady(s, m)
	case *wire.LeaseReq:
		n.names(s, m.Boot)
		if n.current(s, epoch) {
			n.leaseReq(s, m)
		}
	case *wire.ViewReq:
		n.viewReq(s, m)
	case *wire.Record:
		n.recordAtAuthority(s, epoch, m)
	case *wire.Published:
		if n.current(s, epoch) {
			n.published(s, m)
		}
	case *wire.ViewAck:
		n.viewAck(s, m)
	case *wire.View:
		n.proven(m)
	case *wire.MoveAck:
		if n.current(s, epoch) {
			n.moveAck(s, m)
		}
	}
}

// current reports whether a frame of that epoch is of the current one, from a member. If not, the
// sender is told: the view when it is in it, else that it is not (rule L9).
func (n *Node) current(s *session, epoch id.Epoch) bool {
	e := n.members.Find(s.peer)
	in := e != nil && e.Boot == s.boot
	switch {
	case epoch > n.view().Epoch:
		n.unproven(s)
		return false
	case !in:
		n.tellStale(s)
		return false
	case epoch < n.view().Epoch:
		n.pushAgain(e)
		return false
	}
	return true
}

// tellStale tells a boot that is not in the view what the current epoch is, at most once a second.
func (n *Node) tellStale(s *session) {
	if s.boot == 0 || !s.told.due(n.now) {
		return
	}
	m := &wire.StaleEpoch{Current: n.view().Epoch, AuthorityBoot: n.c.Boot, Node: s.peer, Boot: s.boot}
	n.sign(m.Signature[:], wire.SignedStale(m))
	n.send(s, m)
}

// unproven says, at most once a second, that a frame claimed an epoch above the authority's own,
// and asks for the certificate. The claim alone is no proof that this authority has forgotten
// something.
func (n *Node) unproven(s *session) {
	if n.authority.unproven.due(n.now) {
		n.print(evidence.New("mesh-fail", "refused").Str("reason", "unproven"))
		n.send(s, &wire.ViewReq{})
	}
}

// proven takes a certificate that a member holds against the authority's view.
func (n *Node) proven(m *wire.View) {
	if c, err := view.Parse(m.Certificate, n.c.Root); err == nil {
		n.compare(&c.View)
	}
}

// leaseReq acknowledges a request in which everything matches what the authority holds.
func (n *Node) leaseReq(s *session, m *wire.LeaseReq) {
	e := n.members.Find(s.peer)
	if m.Node != s.peer || m.Boot != e.Boot || m.Incarnation != e.Incarnation ||
		m.Digest != n.digest || m.AuthorityBoot != n.c.Boot {
		n.pushAgain(e) // two views under one number: the member sees that by the certificate
		return
	}
	n.hasViewed(e) // else it could not name the digest under this epoch
	e.Echo(m.Echo)
	if e.Waiting(n.now) || !n.active() {
		// A former holder's lease may still run (L16), or the epoch is not durable yet (L8): that the
		// member gets no answer is not its fault.
		e.Echoed = n.now
	}
	n.credit(s)
	switch {
	case e.Health == detect.Failed || e.Waiting(n.now) || !n.active() || n.moveStuck(e) ||
		n.owing(e.Boot, e.ID):
		return // also: convicted (L2), or deaf to a move or a record
	case !n.hears(s.peer):
		n.callOut(s, e) // an acknowledgement that nobody hears would only put the conviction off
		return
	}
	n.mayServe(e)
	e.Acked, e.LastAck = true, n.now
	e.Asked(n.now, m.Nonce)
	n.send(s, &wire.LeaseAck{Incarnation: e.Incarnation, Digest: m.Digest,
		AuthorityBoot: n.c.Boot, Nonce: m.Nonce, Moved: e.Moved})
}

// callOut asks a member that has not echoed anything for too long to show that it hears, at most
// once a second, or a suspicion time if that is shorter: the answer to the latest question is the
// one that counts.
func (n *Node) callOut(s *session, e *member.Entry) {
	if n.now.Sub(e.Called) < min(resendMS, n.c.Timing.Suspect) {
		return
	}
	e.Called = n.now
	m := &wire.Ping{Nonce: n.random.nonce()}
	e.Asked(n.now, m.Nonce)
	n.send(s, m)
}

func (n *Node) viewAck(s *session, m *wire.ViewAck) {
	e := n.members.Find(s.peer)
	if e == nil || e.Boot != s.boot || m.Epoch != n.view().Epoch || m.Digest != n.digest {
		return
	}
	n.hasViewed(e)
}

// hasViewed notes that a member has installed the current view, and so holds its table of records.
func (n *Node) hasViewed(e *member.Entry) {
	if e.Viewed == n.view().Epoch {
		return
	}
	e.Viewed = n.view().Epoch
	n.hurryCommits()
	n.pushHanded()
	n.releaseHanded()
	if !n.settled() {
		return
	}
	for i := range n.objects.All() {
		n.objects.All()[i].Local = false
	}
}

// quarantinedFrame takes a frame while there is no view. A member that asks the authority of an
// earlier boot for its lease is challenged: it has to join this one.
func (n *Node) quarantinedFrame(s *session, m wire.Message) {
	switch m := m.(type) {
	case *wire.JoinReq:
		n.joinReq(s, m)
	case *wire.Join:
		n.join(s, m)
	case *wire.JoinReady:
		n.joinReady(s, m)
	case *wire.Record:
		n.recordAtAuthority(s, 0, m)
	case *wire.LeaseReq:
		n.joinReq(s, &wire.JoinReq{Boot: m.Boot})
	case *wire.View:
		n.proven(m)
	}
}

// haltedFrame answers those who wait for an answer of an authority that has halted.
func (n *Node) haltedFrame(s *session, m wire.Message) {
	switch m := m.(type) {
	case *wire.JoinReq:
		n.send(s, &wire.Refuse{Word: refusal.NotReady, RetryMS: refusalMS})
	case *wire.Join:
		n.send(s, &wire.Refuse{Nonce: m.Nonce, Word: refusal.NotReady, RetryMS: refusalMS})
	}
}
