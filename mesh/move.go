package mesh

import (
	"slices"

	"holdfast/mesh/detect"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/member"
	"holdfast/mesh/record"
	"holdfast/mesh/refusal"
	"holdfast/mesh/replay"
	"holdfast/mesh/route"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// A lab move takes an object from the authority to a member, within one membership epoch
// (spec/protocol.md, "Lab move"). At no point do two nodes hold it Active:
//
//	authority                                  the member that gets it     other members
//	Active -> Draining, takes no commits
//	Move{signed, record}  -------------------> keeps the record, MoveAck   MoveAck
//	all have acknowledged: answers MOVED
//	LeaseAck{moved}       -------------------> Active, MoveAck{active}
//	the step is answered
//
// What is not acknowledged is sent again. A view change ends it: the view says who the home is.

// moveResendMS is how often an unacknowledged Move is sent again.
const moveResendMS = 2_000

// move is the one move that is under way at the authority.
type move struct {
	frame  wire.Move // MoveEpoch is 0 when no move is under way
	ticket Ticket    // of the lab step, 0 when it has been answered
	began  when.Instant
	until  when.Instant
	acked  []id.Node // who knows of it
	sent   when.Instant
}

// moved is an object of which another boot may hold the lease of a move that a view change ended:
// it is not served here before that lease is over (rule L16).
type moved struct {
	object id.Object
	wait   member.Wait
}

// moveStep is step 2: the lowest-numbered object homed at the authority goes to a member that is
// alive and connected.
func (n *Node) moveStep(in LabStep) bool {
	a := &n.authority
	o, to := n.pick((*Node).servedHere), n.reachableMember()
	if !n.c.Route || !n.mutable() || a.move.under() || n.staged.ticket != 0 || o == nil ||
		to == nil {
		return false
	}
	a.moveEpoch = max(a.moveEpoch, n.view().Epoch) + 1
	o.Lease = route.Draining
	m := wire.Move{Object: o.ID, From: n.self, To: to.ID, Epoch: n.view().Epoch,
		MoveEpoch: a.moveEpoch, Since: o.Since, RecordEpoch: o.Record.Epoch,
		Version: o.Record.Version, Request: o.Record.Request, RequestDigest: o.Record.RequestDigest,
		Value: o.Record.Value, Window: o.Record.Window.Append(nil)}
	n.sign(m.Signature[:], wire.SignedMove(&m))
	a.move = move{frame: m, ticket: in.Ticket, began: n.now, until: n.now.Add(opTimeoutMS)}
	n.print(moveRow(&m))
	n.print(n.leaseRow(o))
	n.sendMove()
	return true
}

func moveRow(m *wire.Move) evidence.Line {
	return evidence.New("mesh-route", "move").Object("object", m.Object).Node("from", m.From).
		Node("to", m.To).Epoch("epoch", m.Epoch)
}

// reachableMember is the first member that is alive and has a session.
func (n *Node) reachableMember() *member.Entry {
	for i := range n.members.All() {
		if e := &n.members.All()[i]; e.Health == detect.Alive && n.best(e.ID, e.Boot) != nil {
			return e
		}
	}
	return nil
}

// sendMove sends the move to every member that has not acknowledged it; only the one that gets the
// object gets its record.
func (n *Node) sendMove() {
	mv := &n.authority.move
	mv.sent = n.now
	for i := range n.members.All() {
		e := &n.members.All()[i]
		s := n.best(e.ID, e.Boot)
		if s == nil || slices.Contains(mv.acked, e.ID) && e.ID != mv.frame.To {
			continue
		}
		m := mv.frame
		if e.ID != m.To {
			m.Since, m.RecordEpoch, m.Version, m.Value, m.Window = 0, 0, 0, nil, nil
			m.Request, m.RequestDigest = wire.Request{}, id.Digest{}
		}
		n.send(s, &m)
	}
}

func (mv *move) under() bool { return mv.frame.MoveEpoch != 0 }

// moveTime sends again what has not been acknowledged. The step does not wait for ever, the move
// does: nobody but a new view can say that it will not happen.
func (n *Node) moveTime() {
	mv := &n.authority.move
	if !mv.under() {
		return
	}
	if n.now.Sub(mv.sent) >= moveResendMS {
		n.sendMove()
	}
	if n.now >= mv.until {
		n.answerMove(Unfinished)
	}
}

// moveStuck reports whether a member has left a move unacknowledged for the suspicion time. It gets
// no LeaseAck any more, and so is convicted: a deaf member does not block everybody.
func (n *Node) moveStuck(e *member.Entry) bool {
	mv := &n.authority.move
	return mv.under() && !slices.Contains(mv.acked, e.ID) &&
		n.now.Sub(mv.began) >= n.c.Timing.Suspect
}

// answerMove ends the lab step that waits for the move, if it still does.
func (n *Node) answerMove(s AnswerStatus, rows ...evidence.Line) {
	if mv := &n.authority.move; mv.ticket != 0 {
		n.answerStep(mv.ticket, s, rows...)
		mv.ticket = 0
	}
}

// moveAck takes a member's acknowledgement. When every member knows of the move, the one that gets
// the object is told so with its next LeaseAck; when it is Active, the step is done.
func (n *Node) moveAck(s *session, m *wire.MoveAck) {
	mv := &n.authority.move
	e := n.members.Find(s.peer)
	if !mv.under() || m.Object != mv.frame.Object || m.MoveEpoch != mv.frame.MoveEpoch ||
		e == nil || e.Boot != s.boot {
		return
	}
	if !slices.Contains(mv.acked, s.peer) {
		mv.acked = append(mv.acked, s.peer)
	}
	for i := range n.members.All() {
		if !slices.Contains(mv.acked, n.members.All()[i].ID) {
			return
		}
	}
	o := n.objects.Find(m.Object)
	o.Route, o.RouteEpoch, o.MovedTo = mv.frame.To, mv.frame.MoveEpoch, mv.frame.To
	n.members.Find(mv.frame.To).Moved = mv.frame.MoveEpoch
	if m.Active && s.peer == mv.frame.To {
		n.answerMove(Done, moveRow(&mv.frame).At(n.now))
		*mv = move{}
	}
}

// endMoves forgets the move under way, because the view is about to change. What has been moved,
// and is homed here again by the new view, waits until the other holder's lease is over, or until
// that boot has acknowledged the new view.
func (n *Node) endMoves() {
	a := &n.authority
	n.answerMove(Unfinished)
	a.move = move{}
	n.member.incoming = wire.Move{}
	a.moved = slices.DeleteFunc(a.moved, func(m moved) bool { return n.now >= m.wait.Until })
	for i := range n.objects.All() {
		o := &n.objects.All()[i]
		if o.Lease != route.Draining || o.Route == n.self {
			continue
		}
		if e := n.members.Find(o.Route); e != nil && e.Acked {
			a.moved = append(a.moved, moved{o.ID, e.Fenced(n.c.Timing)})
		}
	}
}

// servedHere picks an object that nobody else may still hold: only such a one can be given away.
func (n *Node) servedHere(o *route.Object) bool {
	return n.heldHere(o) && !n.awaits(o.ID) && n.commitOf(o.ID) == nil
}

// awaits reports whether another boot may still hold a lease of an object that is homed here again.
func (n *Node) awaits(o id.Object) bool {
	return slices.ContainsFunc(n.authority.moved, func(m moved) bool {
		return m.object == o && n.now < m.wait.Until
	})
}

// releaseMoved ends the waits for a boot that has acknowledged the view.
func (n *Node) releaseMoved(node id.Node, boot id.Boot) {
	n.authority.moved = slices.DeleteFunc(n.authority.moved, func(m moved) bool {
		return m.wait.Node == node && m.wait.Boot == boot
	})
}

// anyMoved reports whether an object is at another node than the view says.
func (n *Node) anyMoved() bool {
	return n.c.Route && n.pick((*Node).movedAway) != nil
}

// moveHere takes a Move at a member: it keeps the record of an object that it is to get. Its cached
// route stays as it is, for the home to correct it with MOVED.
func (n *Node) moveHere(s *session, epoch id.Epoch, m *wire.Move) {
	v := n.view()
	if n.state != Joined || epoch != v.Epoch || m.Epoch != v.Epoch || m.From != s.peer ||
		!n.verify(m.Signature[:], wire.SignedMove(m)) {
		return
	}
	ack := &wire.MoveAck{Object: m.Object, MoveEpoch: m.MoveEpoch}
	o := n.objects.Find(m.Object)
	if m.To != n.self && o != nil {
		o.MovedTo = m.To
	}
	if m.To == n.self && (o == nil || o.LeaseEpoch != m.MoveEpoch) {
		if _, err := replay.Parse(m.Window); err != nil || o == nil {
			return // no room for the object: the authority goes on asking until the view changes
		}
		n.member.incoming = *m
	}
	ack.Active = m.To == n.self && o.LeaseEpoch == m.MoveEpoch && o.Lease == route.Active
	n.send(s, ack)
	if m.To == n.self && !ack.Active {
		n.ask(s) // the LeaseAck says when everybody knows
	}
}

// activate makes this node the home of what a LeaseAck says has been moved to it.
func (n *Node) activate(s *session, epoch id.Epoch) {
	m := n.member.incoming
	if m.MoveEpoch == 0 || m.MoveEpoch > epoch {
		return
	}
	n.member.incoming = wire.Move{}
	window, err := replay.Parse(m.Window)
	if err != nil {
		panic("mesh: a kept window has changed")
	}
	o := n.objects.Find(m.Object)
	o.Lease, o.LeaseEpoch, o.Since = route.Active, m.MoveEpoch, m.Since
	r := &record.Record{Epoch: m.RecordEpoch, Version: m.Version, Request: m.Request,
		RequestDigest: m.RequestDigest, Value: m.Value, Window: window}
	if !r.IsZero() {
		r.Seal(o.ID)
	}
	o.Replace(r)
	n.print(n.leaseRow(o))
	n.send(s, &wire.MoveAck{Object: m.Object, MoveEpoch: m.MoveEpoch, Active: true})
}

// movedWord is what a home that has handed an object over, or is about to, answers a request with.
func (n *Node) movedWord(q *wire.RouteReq, o *route.Object) refusal.Word {
	switch {
	case o.Lease != route.Draining:
		return refusal.OK
	case o.Route != n.self:
		return refusal.Moved
	case q.Op == wire.Commit || q.Class == wire.Authoritative:
		return refusal.Draining
	}
	return refusal.OK
}
