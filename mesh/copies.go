package mesh

import (
	"holdfast/mesh/detect"
	"holdfast/mesh/id"
	"holdfast/mesh/record"
	"holdfast/mesh/refusal"
	"holdfast/mesh/route"
	"holdfast/mesh/wire"
)

// Holding copies: what a node does with the records of objects that others are the homes of. Links
// form a star, so a member's record goes to the authority, which stores it, acknowledges it and
// passes it on; the other members' acknowledgements come back the same way.
//
// Every record is answered on the session on which it came, with RecordAck or RecordRefuse. A link
// carries at most creditMax that have not been, in each direction: whoever has no credit waits, and
// nobody waits for him. A record that could not be passed on is sent again by its home, which does
// not get all acknowledgements. What is on its way on a session is not sent on it again: a session
// delivers everything, or ends.
const creditMax = 8

// lend sends a record on a session if that has credit, and reports whether it is on its way.
func (n *Node) lend(s *session, m *wire.Record, d id.Digest) bool {
	free := -1
	for i, l := range s.loans {
		if l == d {
			return true
		}
		if l == (id.Digest{}) {
			free = i
		}
	}
	if free < 0 {
		return false
	}
	s.loans[free] = d
	n.send(s, m)
	return true
}

// repaid notes that a record has been answered.
func (s *session) repaid(d id.Digest) {
	for i := range s.loans {
		if s.loans[i] == d {
			s.loans[i] = id.Digest{}
		}
	}
}

// holder is who may make records of an object in the current view: its home, or who a lab move has
// given it to; nobody while a move is under way.
func (n *Node) holder(o *route.Object) id.Node {
	switch {
	case o.Lease == route.Active:
		return n.self
	case !o.MovedTo.IsZero():
		return o.MovedTo
	case o.Lease == route.Draining:
		return id.Node{}
	}
	return o.Home
}

// rowFor returns the row of an object that somebody else's record is about, made now if there is
// room; nil when the table is full.
func (n *Node) rowFor(o id.Object) *route.Object {
	if row := n.objects.Find(o); row != nil {
		return row
	}
	row := n.objects.Add(o, "", ObjectsMax)
	if row != nil && n.view().Epoch != 0 {
		n.homed(row)
	}
	return row
}

// homed gives a new row its home by the view. How long that has been the home is not known here: no
// longer than the view.
func (n *Node) homed(row *route.Object) {
	v := n.view()
	m, _ := v.Find(n.homeOf(row.ID))
	row.Home, row.Route, row.Incarnation = m.ID, m.ID, m.Incarnation
	row.HomeEpoch, row.RouteEpoch, row.HomeSince = v.Epoch, v.Epoch, v.Epoch
}

// keep stores a record of an object's home and returns the word to refuse it with, if any. Gaps are
// allowed: local commits are not sent.
func (n *Node) keep(o *route.Object, r *record.Record) refusal.Word {
	newest := o.Newest()
	switch {
	case r.After(newest):
	case r.Digest == newest.Digest:
		return refusal.OK
	default:
		return refusal.Conflict
	}
	if !o.Staged.IsZero() && r.Version > o.Staged.Version {
		o.Publish() // its home makes a version only when the one before is published
	}
	o.Staged, o.StagedAt, o.Local = *r, n.instant(), false
	return refusal.OK
}

// answerRecord acknowledges or refuses a record on the session that it came on.
func (n *Node) answerRecord(s *session, m *wire.Record, d id.Digest, w refusal.Word) {
	ack := wire.RecordAck{Epoch: n.view().Epoch, AuthorityBoot: m.AuthorityBoot, Object: m.Object,
		Digest: d, Node: n.self, Boot: n.c.Boot}
	if w == refusal.OK {
		n.send(s, &ack)
		return
	}
	no := &wire.RecordRefuse{Ack: ack, Word: w}
	if o := n.objects.Find(m.Object); o != nil {
		no.HeldEpoch, no.HeldVersion = o.Newest().Epoch, o.Newest().Version
	}
	n.send(s, no)
}

// recordAtAuthority takes a record from a member.
func (n *Node) recordAtAuthority(s *session, epoch id.Epoch, m *wire.Record) {
	r, err := record.Of(m)
	if err != nil {
		n.malformed(s)
		return
	}
	own := m.Home == s.peer && m.Boot == s.boot && m.AuthorityBoot == n.c.Boot
	switch {
	case m.Mode == wire.Proof && own:
		n.proof(s, m, r)
	case m.Mode == wire.HandOver && own:
		n.handedOver(s, m, r)
	case m.Mode == wire.Replicate && own && n.state == Joined && n.current(s, epoch):
		n.replicated(s, m, r)
	default:
		n.answerRecord(s, m, r.Digest, refusal.StaleEpoch)
	}
}

// replicated stores a member's commit, acknowledges it and passes it on. From the decision to
// convict the member on, and before the epoch is durable as activated, nothing is acknowledged.
func (n *Node) replicated(s *session, m *wire.Record, r *record.Record) {
	e := n.members.Find(s.peer)
	if e.Health == detect.Failed || e.Waiting(n.now) || !n.active() {
		n.answerRecord(s, m, r.Digest, refusal.NotCurrent)
		return
	}
	o := n.rowFor(m.Object)
	w := refusal.Full
	switch {
	case r.Epoch != n.view().Epoch:
		w = refusal.StaleEpoch
	case o != nil && n.holder(o) != s.peer:
		w = refusal.NotHome
	case o != nil:
		before := o.Newest().Digest
		if w = n.keep(o, r); w == refusal.OK && before != r.Digest {
			o.Held, o.Owed = []route.Holding{{Boot: s.boot, Digest: r.Digest}}, n.now
		}
	}
	n.answerRecord(s, m, r.Digest, w)
	if w == refusal.OK {
		n.passOn(s.peer, o, m)
	}
}

// passOn sends a member's record to the others that are not known to hold it. For whom there is no
// credit, or no session, its home will send it again. One that is to be removed gets nothing any
// more.
func (n *Node) passOn(home id.Node, o *route.Object, m *wire.Record) {
	for i := range n.members.All() {
		e := &n.members.All()[i]
		if e.ID == home || o.Holds(e.Boot) || e.Health == detect.Failed || e.Viewed < n.view().Epoch {
			continue
		}
		if s := n.best(e.ID, e.Boot); s != nil {
			n.lend(s, m, o.Newest().Digest)
		}
	}
}

// recordAtMember takes a record from the authority.
func (n *Node) recordAtMember(s *session, epoch id.Epoch, m *wire.Record) {
	r, err := record.Of(m)
	if err != nil {
		n.malformed(s)
		return
	}
	w := refusal.StaleEpoch
	switch {
	case m.Mode == wire.State:
		w = n.stateRecord(s, epoch, m, r)
	case m.Mode != wire.Replicate || n.state != Joined || n.offered():
	case epoch > n.view().Epoch:
		n.send(s, &wire.ViewReq{})
	case epoch == n.view().Epoch && r.Epoch == epoch && m.AuthorityBoot == n.view().AuthorityBoot &&
		n.view().Speaks(m.Home, m.Boot) && m.Home != n.self:
		w = n.copied(m, r)
	}
	n.answerRecord(s, m, r.Digest, w)
}

// copied stores a commit of another node.
func (n *Node) copied(m *wire.Record, r *record.Record) refusal.Word {
	switch o := n.rowFor(m.Object); {
	case o == nil:
		return refusal.Full
	case n.holder(o) != m.Home:
		return refusal.NotHome
	default:
		return n.keep(o, r)
	}
}

// recordAck takes an acknowledgement: at a member from the authority, of itself or passed on; at
// the authority from a member.
func (n *Node) recordAck(s *session, m *wire.RecordAck) {
	if m.Node == s.peer {
		s.repaid(m.Digest)
	}
	if n.c.Role == Member {
		if m.AuthorityBoot == n.view().AuthorityBoot || n.state == Joining {
			n.handOn(s, m)
			n.acknowledged(m)
		}
		return
	}
	o := n.objects.Find(m.Object)
	if m.Node != s.peer || m.Boot != s.boot || m.AuthorityBoot != n.c.Boot || o == nil ||
		n.state != Joined {
		return
	}
	o.Hold(s.boot, m.Digest)
	n.synchronize(s)
	n.releaseHanded()
	e := n.members.Find(s.peer)
	if e == nil || e.Boot != s.boot || e.Health == detect.Failed || m.Epoch != n.view().Epoch {
		return
	}
	home := n.members.Find(n.holder(o))
	switch {
	case n.holder(o) == n.self:
		n.acknowledged(m)
	case home != nil && home.ID != s.peer && home.Health != detect.Failed:
		if to := n.best(home.ID, home.Boot); to != nil {
			n.send(to, m)
		}
	}
}

// recordRefuse takes a refusal. What was refused for lack of room or of a view is sent again; a new
// object that the authority has no room for, and of which it has been sent one copy, has never
// begun.
func (n *Node) recordRefuse(s *session, m *wire.RecordRefuse) {
	if m.Ack.Node != s.peer {
		return
	}
	s.repaid(m.Ack.Digest)
	s.rest = n.now.Add(resendMS)
	if n.c.Role == Member && n.state == Joined && m.Word == refusal.Full {
		n.neverBegun(m)
	}
	if n.c.Role == Member && m.Word != refusal.Full {
		n.handOn(s, &m.Ack)
	}
}
