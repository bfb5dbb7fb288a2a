package mesh

import (
	"holdfast/mesh/detect"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
)

// Requests between two members go through the authority: links form a star (spec/system.md section
// 3). A Forward carries the frame as its sender made it, and names both ends. The authority passes
// it on for members of the current view only, and none for a member that it is about to remove. A
// forwarded frame is life of the member that sent it, on whose session it came, and of nobody else.
//
// What cannot be passed on is dropped: whoever asked sends it again, and the request's identity
// keeps it from being executed twice.

// forward takes a Forward: the authority passes it on, a member takes the frame out.
func (n *Node) forward(s *session, epoch id.Epoch, m *wire.Forward) {
	inner, body, err := wire.Parse(m.Frame)
	if err != nil {
		n.malformed(s)
		return
	}
	if n.c.Role == Authority {
		if m.From == s.peer && n.state == Joined && n.halted == refusal.OK && n.current(s, epoch) {
			n.passForward(s, m, inner, body)
		}
		return
	}
	if m.To != n.self || n.state != Joined || epoch != n.view().Epoch || !n.view().Has(m.From) {
		return
	}
	switch body := body.(type) {
	case *wire.RouteReq:
		n.serve(from{node: m.From, session: s.id}, inner, body)
	case *wire.RouteRep:
		n.routeRep(m.From, body)
	}
}

// passForward hands a frame on to the member that it is for. It keeps a hop's share of the time
// that a request has left.
func (n *Node) passForward(s *session, m *wire.Forward, inner id.Epoch, body wire.Message) {
	e := n.members.Find(s.peer)
	to := n.members.Find(m.To)
	if e.Health == detect.Failed {
		return
	}
	q, request := body.(*wire.RouteReq)
	if to == nil || to.Health == detect.Failed {
		if request {
			n.answerRefused(from{node: m.From, session: s.id}, q, refusal.NoRoute)
		}
		return
	}
	out := n.best(to.ID, to.Boot)
	if out == nil {
		return
	}
	if request {
		q.Within = less(q.Within)
		m.Frame = frameOf(inner, q)
	}
	n.send(out, m)
}

// less is what remains of the time for an answer after a hop has kept its share.
func less(within uint32) uint32 { return max(1, within-min(within, hopMS)) }

// frameOf encodes a frame without its length prefix.
func frameOf(epoch id.Epoch, m wire.Message) []byte {
	return wire.Append(nil, epoch, m)[wire.PrefixSize:]
}

// sendTo sends a request or a reply to a node of the view, on the session that leads there.
func (n *Node) sendTo(s *session, to id.Node, m wire.Message) {
	if s.peer == to {
		n.send(s, m)
		return
	}
	n.send(s, &wire.Forward{From: n.self, To: to, Frame: frameOf(n.view().Epoch, m)})
}
