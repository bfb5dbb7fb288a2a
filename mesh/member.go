package mesh

import (
	"errors"
	"slices"

	"holdfast/mesh/detect"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/lease"
	"holdfast/mesh/refusal"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// memberState is what only a member holds. A member never makes a view: it joins, keeps the newest
// certificate it has seen, and asks for its lease (ADR-0008 sections 4 and 6).
//
//	            Confirm, View                   told stale
//	Joining ----------------------> Joined ----------------------> Joining
//	                                  |  ^
//	       lease over, root Suspect   |  | LeaseAck
//	                                  v  |
//	                                 lost: keeps its view, commits nothing
type memberState struct {
	lease lease.Write
	asked when.Instant // when the lease was last asked for
	echo  id.Nonce     // of the newest LeaseAck under this view, 0 for none
	heard when.Instant // last accepted frame of the authority: the read lease counts from it
	lost  bool         // the loss of the authority has been said

	hello   when.Instant // when the last JoinReq was sent
	after   when.Instant // a refused joiner asks again then
	dialled when.Instant // when another session was last asked for

	incoming wire.Move // an object that is to become this node's, MoveEpoch 0 for none
	offer    offer     // a newer view than the one that is installed
	torn     bool      // records have been dropped that the next view will bring again
	former   []proven  // while torn, what there was of them before: the view's certificate proves that
}

func (n *Node) memberLinkUp(s *session) {
	if n.state == Joined {
		n.ask(s)
		return
	}
	n.helloOn(s)
}

// helloOn starts the join on a session. A refused joiner waits.
func (n *Node) helloOn(s *session) {
	if n.now < n.member.after {
		return
	}
	n.member.hello = n.now
	n.send(s, &wire.JoinReq{Boot: n.c.Boot})
}

// ask sends a LeaseReq; the lease will count from this instant (rule L1).
func (n *Node) ask(s *session) {
	v := n.view()
	me, _ := v.Find(n.self)
	m := &wire.LeaseReq{Echo: n.member.echo, Node: n.self, Incarnation: me.Incarnation, Boot: n.c.Boot,
		Digest: n.digest, AuthorityBoot: v.AuthorityBoot, Nonce: n.random.nonce()}
	n.member.asked = n.now
	n.member.lease.Ask(n.clocks(), m.Nonce)
	n.send(s, m)
}

// memberTime does what a member owes to the passing of time.
func (n *Node) memberTime() {
	m := &n.member
	switch {
	case n.state == Joining && n.now.Sub(m.hello) >= resendMS:
		n.onEvery(n.helloOn)
	case n.state == Joined && n.now.Sub(m.asked) >= n.c.Timing.Ask():
		n.onEvery(n.ask)
	}
	if n.state == Joined && n.c.Detect {
		n.watchAuthority()
	}
	if n.silent() && n.now.Sub(m.dialled) >= n.c.Timing.Suspect {
		m.dialled = n.now
		n.out.add(Dial{})
	}
}

// calledOut asks for the lease at once, when there is none: the authority may have called out
// because this node had not echoed anything for long, and acknowledges the next request. Calls that
// come close together, as after a cut, are answered once now and once a tick later.
func (n *Node) calledOut(s *session) {
	m, t := &n.member, n.c.Timing
	switch {
	case n.state != Joined || m.lease.Valid(n.clocks()):
	case n.now.Sub(m.asked) >= t.Tick():
		n.ask(s)
	default:
		m.asked = min(m.asked, n.now.Add(t.Tick()-t.Ask()))
	}
}

func (n *Node) onEvery(f func(*session)) {
	for i := range n.sessions {
		f(&n.sessions[i])
	}
}

// silent reports whether none of the open sessions has answered for the suspicion time: a second
// one may get through where an old one is stuck (protocol.md, "Sessions").
func (n *Node) silent() bool {
	for i := range n.sessions {
		if n.now.Sub(n.sessions[i].heard) < n.c.Timing.Suspect {
			return false
		}
	}
	return len(n.sessions) > 0
}

// watchAuthority suspects the authority, and says when it is lost: the write lease has run out and
// the authority is silent. A member convicts nobody: it has no right to a new view (ADR-0008
// section 6).
func (n *Node) watchAuthority() {
	e := n.members.Find(n.view().Authority)
	if detect.Of(e.Silence(n.now), n.c.Timing) == detect.Alive {
		return
	}
	if e.Health == detect.Alive {
		n.suspect(e)
	}
	if !n.member.lost && !n.member.lease.Valid(n.clocks()) {
		n.loseAuthority()
	}
}

// loseAuthority says that the authority is lost, once.
func (n *Node) loseAuthority() {
	n.member.lease.Zero()
	if n.member.lost {
		return
	}
	n.member.lost = true
	n.print(evidence.New("mesh-fail", "authority").Str("state", "lost").
		Epoch("epoch", n.view().Epoch).Node("root", n.view().Authority).Bool("mutable", false).
		Str("reads", "lease").Int("lease_sent_ms", int64(n.member.lease.Sent())))
}

// memberFrame takes a frame that only a member gets: its sender is the authority, by the session's
// key.
func (n *Node) memberFrame(s *session, epoch id.Epoch, m wire.Message) {
	switch m := m.(type) {
	case *wire.Challenge:
		n.challenge(s, m)
	case *wire.JoinState:
		n.joinState(s, m)
	case *wire.Record:
		n.recordAtMember(s, epoch, m)
	case *wire.Published:
		if n.state == Joined && epoch == n.view().Epoch {
			n.published(s, m)
		}
	case *wire.Confirm:
		n.confirmed(s, m)
	case *wire.Refuse:
		n.refused(s, m)
	case *wire.View:
		n.newView(s, m)
	case *wire.ViewReq:
		n.prove(s)
	case *wire.StaleEpoch:
		n.toldStale(s, m)
	case *wire.Move:
		n.moveHere(s, epoch, m)
	case *wire.LeaseAck:
		n.leaseAck(s, epoch, m)
	}
}

// challenge answers with a signed Join. Sending one ends the lease: from now on another view may
// name this boot, or a successor of it.
func (n *Node) challenge(s *session, m *wire.Challenge) {
	if n.state == Joined && m.AuthorityBoot != n.view().AuthorityBoot {
		n.authorityIsNew()
	}
	if n.state != Joining || n.now < n.member.after {
		return // an answer to a JoinReq of before the last Confirm or Refuse
	}
	n.names(s, m.AuthorityBoot)
	n.member.lease.Zero()
	if s.challenge != m.Nonce {
		s.challenge, s.joining = m.Nonce, n.random.nonce()
	}
	j := &wire.Join{Challenge: m.Nonce, AuthorityBoot: m.AuthorityBoot, Nonce: s.joining,
		Boot: n.c.Boot, Timing: n.c.Timing}
	if n.view().Epoch != 0 {
		j.Certificate = n.cert.Append(nil)
	}
	n.sign(j.Signature[:], wire.SignedJoin(j, n.self))
	n.send(s, j)
}

// authorityIsNew takes the news that the authority runs in another boot than the one that this node
// has pinned: it is lost until it confirms this node above the certificate held here.
func (n *Node) authorityIsNew() {
	n.loseAuthority()
	n.state, n.member.offer = Joining, offer{}
	n.dropStaged(refusal.NoAuthority)
	n.dropCommits(refusal.NoAuthority)
}

// confirmed takes the answer to this node's Join.
func (n *Node) confirmed(s *session, m *wire.Confirm) {
	if n.state != Joining || m.Nonce == 0 || m.Nonce != s.joining {
		return
	}
	c, ok := n.accept(m.Certificate)
	if !ok {
		return
	}
	n.takeOffer(s, c, m.Table, nil)
}

// newView takes a pushed view. One that leaves this boot out is a removal like any other, told in
// another way.
func (n *Node) newView(s *session, m *wire.View) {
	c, err := view.Parse(m.Certificate, n.c.Root)
	if err == nil && c.View.Epoch == n.view().Epoch && c.View.Digest() == n.digest {
		n.send(s, &wire.ViewAck{Epoch: c.View.Epoch, Digest: c.View.Digest()})
		return
	}
	confirmed := n.offered() && n.member.offer.cert.View.Epoch == c.View.Epoch
	if n.state != Joined && !confirmed {
		return
	}
	if c, ok := n.accept(m.Certificate); ok {
		n.takeOffer(s, c, m.Table, m.Kept)
	}
}

// accept verifies a certificate that would become this node's view: signed by the authority, newer
// than the one it holds, and with this boot in it. The same epoch with another digest is a fork:
// the node keeps what it has, and halts.
func (n *Node) accept(b []byte) (view.Certificate, bool) {
	c, err := view.Parse(b, n.c.Root)
	if errors.Is(err, view.ErrSignature) {
		n.print(evidence.New("mesh-join", "refused").Node("node", n.self).
			Word("reason", refusal.WrongAuthority))
		return c, false
	}
	have, got := n.view(), &c.View
	switch {
	case err != nil || got.Epoch < have.Epoch || !got.HasBoot(n.self, n.c.Boot):
		return c, false
	case got.Epoch == have.Epoch && got.Digest() != have.Digest():
		n.halt(refusal.Fork, n.forkRow(have, got))
		return c, false
	}
	return c, true
}

// enter installs an accepted certificate, acknowledges it and asks for the first lease under it.
func (n *Node) enter(s *session, c view.Certificate, kept []id.Object) {
	joining := n.state == Joining
	n.install(c, kept)
	if joining {
		me, _ := c.View.Find(n.self)
		n.print(n.viewRow(evidence.New("mesh-join", "confirmed").Node("node", n.self)).
			Epoch("incarnation", me.Incarnation))
	}
	n.names(s, c.View.AuthorityBoot)
	n.member.heard = n.now
	n.send(s, &wire.ViewAck{Epoch: c.View.Epoch, Digest: c.View.Digest()})
	n.ask(s)
}

// joinRefusals are the words that a join can be refused with.
var joinRefusals = []refusal.Word{refusal.WrongAuthority, refusal.BadSignature, refusal.NotAllowed,
	refusal.Timing, refusal.Duplicate, refusal.Quarantine, refusal.Malformed, refusal.NotCurrent,
	refusal.NotReady}

// refused takes a refusal of the join. Without a time to come back it waits as long as is usual.
func (n *Node) refused(s *session, m *wire.Refuse) {
	if !slices.Contains(joinRefusals, m.Word) {
		n.malformed(s)
		return
	}
	if n.state != Joining || m.Nonce != 0 && m.Nonce != s.joining {
		return
	}
	s.challenge, s.joining = 0, 0
	n.member.after = n.now.Add(min(max(resendMS, when.Span(m.RetryMS)), refusalMaxMS))
	n.print(evidence.New("mesh-join", "refused").Node("node", n.self).Word("reason", m.Word))
}

// toldStale takes the authority's word that this boot is not in the current view: mutability ends
// at once, and the node joins again on the same session (rule L9). The same epoch as this node's is
// told to a boot that another one has replaced without a new epoch, or by an authority with another
// history: the certificate in the Join will show which.
func (n *Node) toldStale(s *session, m *wire.StaleEpoch) {
	own := m.Node == n.self && m.Boot == n.c.Boot
	if !own || n.state != Joined || !n.verify(m.Signature[:], wire.SignedStale(m)) {
		return
	}
	if m.Current < n.view().Epoch {
		n.prove(s) // an authority of that epoch does not know of this view
		return
	}
	n.state = Joining
	n.member.lease.Zero()
	n.member.offer = offer{}
	n.dropStaged(refusal.StaleEpoch)
	n.dropCommits(refusal.StaleEpoch)
	n.print(evidence.New("mesh-fail", "stale").Epoch("epoch", n.view().Epoch).
		Epoch("current", m.Current))
	n.helloOn(s)
}

// prove shows the authority the view that this node holds, against an epoch or a claim that does
// not go with it: an authority that has forgotten what it signed finds out by this.
func (n *Node) prove(s *session) {
	if n.view().Epoch != 0 {
		n.send(s, &wire.View{Certificate: n.cert.Append(nil)})
	}
}

// leaseAck takes the answer to a LeaseReq, if it still matches everything this node holds.
func (n *Node) leaseAck(s *session, epoch id.Epoch, m *wire.LeaseAck) {
	v := n.view()
	if n.state != Joined {
		return // there is no request that it could answer
	}
	if epoch > v.Epoch {
		n.send(s, &wire.ViewReq{})
		return
	}
	me, ok := v.Find(n.self)
	if !ok || epoch != v.Epoch || m.Incarnation != me.Incarnation ||
		m.Digest != n.digest || m.AuthorityBoot != v.AuthorityBoot {
		return
	}
	n.names(s, m.AuthorityBoot)
	if !n.member.lease.Ack(n.now, m.Nonce, n.c.Timing.WriteLease) {
		return
	}
	n.member.echo = m.Nonce
	valid := n.member.lease.Valid(n.clocks())
	if valid && (n.member.lost || n.now.Sub(n.member.lease.Sent()) >= n.c.Timing.Ask()) {
		n.ask(s) // show at once that this answer came, and get one that was less long on its way
	}
	n.dropOthers(s)
	n.activate(s, m.Moved)
	if n.member.lost && valid {
		n.member.lost = false
		n.print(evidence.New("mesh-fail", "authority").Str("state", "restored").
			Epoch("epoch", v.Epoch).Node("root", v.Authority).Bool("mutable", n.mutable()))
	}
}

// dropOthers closes the sessions that have not answered while s has: one of two is kept, the one
// that answers (protocol.md, "Sessions").
func (n *Node) dropOthers(s *session) {
	for i := range n.sessions {
		if o := &n.sessions[i]; o.id != s.id && n.now.Sub(o.heard) >= n.c.Timing.Suspect {
			n.out.add(Close{o.id, "replaced"})
		}
	}
}
