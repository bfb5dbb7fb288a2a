package mesh

import (
	"slices"

	"holdfast/mesh/capability"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/route"
	"holdfast/mesh/wire"
)

// lab is what the steps of the lab remember of each other (spec/system.md section 7).
type lab struct {
	object  id.Object    // of the latest step 1
	request wire.Request // of the latest step 3
	kept    kept
}

// kept is a RouteReq that arrived once, to arrive again in step 7, with who sent it.
type kept struct {
	data []byte
	peer id.Node
}

// labStep is one step: who carries it out, and how. It returns whether it has begun; the answer
// then comes with the operation's end.
type labStep struct {
	role  Role
	begin func(*Node, LabStep) bool
}

var labSteps = map[int]labStep{
	1:  {Member, (*Node).firstStep},
	2:  {Authority, (*Node).moveStep},
	3:  {Member, (*Node).staleRouteStep},
	4:  {Member, (*Node).sameRequestStep},
	5:  {Authority, routes(wire.Commit, (*Node).movedOrHomedAtMember)},
	6:  {Authority, routes(wire.Stat, (*Node).justFenced)},
	7:  {Authority, (*Node).replayStep},
	8:  {Authority, routes(wire.Commit, (*Node).justFenced)},
	9:  {Member, (*Node).isolatedStep},
	10: {Authority, routes(wire.Commit, (*Node).movedOrHomedAtMember)},
}

func (n *Node) labStep(in LabStep) {
	step, known := labSteps[in.Number]
	switch {
	case !n.c.Lab:
		n.answerStep(in.Ticket, LabOff)
	case !known:
		n.answerStep(in.Ticket, UnknownStep)
	case step.role != n.c.Role:
		n.answerStep(in.Ticket, WrongRole)
	case n.state != Joined && in.Number != 9 || !step.begin(n, in):
		n.answerStep(in.Ticket, WrongOrder)
	}
}

func (n *Node) answerStep(t Ticket, s AnswerStatus, rows ...evidence.Line) {
	n.out.add(Answer{Ticket: t, Status: s, Lines: rows})
}

// pick returns the first object of the lab that fits, nil for none: they are in the order of their
// numbers. Without routing nobody is a home, any object fits, and the answer says so.
func (n *Node) pick(fits func(*Node, *route.Object) bool) *route.Object {
	for i := range n.objects.Fixed() {
		if o := &n.objects.Fixed()[i]; !n.c.Route || fits(n, o) {
			return o
		}
	}
	return nil
}

func (n *Node) homedAtAuthority(o *route.Object) bool { return o.Route == n.view().Authority }
func (n *Node) homedAtMember(o *route.Object) bool    { return o.Route != n.view().Authority }
func (n *Node) heldHere(o *route.Object) bool         { return o.Lease == route.Active }
func (n *Node) movedAway(o *route.Object) bool        { return o.Route != o.Home }

// justFenced picks an object whose cached route the current view has fenced: it was homed at a node
// that has been removed.
func (n *Node) justFenced(o *route.Object) bool { return o.Fenced == n.view().Epoch }

// movedOrHomedAtMember picks an object that a lab move has taken to a member, before others that
// are homed there anyway.
func (n *Node) movedOrHomedAtMember(o *route.Object) bool {
	if n.pick((*Node).movedAway) != nil {
		return n.movedAway(o)
	}
	return n.homedAtMember(o)
}

// routes is a step that routes one operation to the lowest-numbered object that fits.
func routes(kind wire.Op, fits func(*Node, *route.Object) bool) func(*Node, LabStep) bool {
	return func(n *Node, in LabStep) bool {
		o := n.pick(fits)
		return o != nil && n.start(n.labOp(in, o, kind))
	}
}

// labOp is a lab step's operation. The steps keep the ADR's classes: a read under the read lease, a
// local commit. A short or missing capability is refused at the home as any bad one is.
func (n *Node) labOp(in LabStep, o *route.Object, kind wire.Op) op {
	q := wire.RouteReq{Request: n.request(), FirstEpoch: max(1, n.view().Epoch), Object: o.ID,
		Op: kind, Class: wire.Lease, IfVersion: wire.AnyVersion, Within: opTimeoutMS}
	copy(q.Capability[:], in.Capability)
	if len(in.Capability) != capability.Size {
		q.Capability = [capability.Size]byte{}
	}
	if kind == wire.Commit {
		q.Durability, q.Value = wire.Local, []byte("step")
	}
	return op{ticket: in.Ticket, step: in.Number, q: q}
}

// firstStep is step 1: a stat of an object homed at the authority, which step 3 asks for again.
func (n *Node) firstStep(in LabStep) bool {
	o := n.pick((*Node).homedAtAuthority)
	if o == nil {
		return false
	}
	n.lab.object = o.ID
	return n.start(n.labOp(in, o, wire.Stat))
}

// staleRouteStep is step 3: step 1 again, through a cached route that the move has made stale.
func (n *Node) staleRouteStep(in LabStep) bool {
	o := n.objects.Find(n.lab.object)
	if o == nil {
		return false
	}
	p := n.labOp(in, o, wire.Stat)
	n.lab.request = p.q.Request
	return n.start(p)
}

// sameRequestStep is step 4: the request identity of step 3 with another body.
func (n *Node) sameRequestStep(in LabStep) bool {
	o := n.objects.Find(n.lab.object)
	if o == nil || n.lab.request.Seq == 0 {
		return false
	}
	p := n.labOp(in, o, wire.Commit)
	p.q.Request = n.lab.request
	return n.start(p)
}

// replayStep is step 7: a frame of an old epoch arrives, as from the session it came on then. It
// goes through the receive path that every RouteReq takes, and must be refused there.
func (n *Node) replayStep(in LabStep) bool {
	if len(n.lab.kept.data) == 0 || len(n.ops) == opsMax {
		return false
	}
	epoch, m, err := wire.Parse(n.lab.kept.data)
	if err != nil {
		panic("mesh: a kept frame has changed")
	}
	q := m.(*wire.RouteReq)
	// The operation only carries the answer to the result row: it is never sent.
	p := n.begun(op{ticket: in.Ticket, step: in.Number, q: *q, target: n.self, attempts: 1})
	n.serve(from{op: p.serial, node: n.lab.kept.peer}, epoch, q)
	return true
}

// isolatedStep is step 9: what a cut-off member answers to a commit of an object that it homes, and
// to a read of one homed at the authority. Both rows are the answer.
func (n *Node) isolatedStep(in LabStep) bool {
	local, remote := n.pick((*Node).heldHere), n.pick((*Node).homedAtAuthority)
	return local != nil && remote != nil &&
		n.start(n.labOp(in, local, wire.Commit), n.labOp(in, remote, wire.Stat))
}

// routeReq takes a request from another node.
func (n *Node) routeReq(s *session, epoch id.Epoch, q *wire.RouteReq, data []byte) {
	if n.c.Lab && n.c.Role == Authority {
		n.lab.kept = kept{slices.Clone(data), s.peer}
	}
	if n.c.Role == Authority && n.state == Joining {
		n.answerRefused(from{node: s.peer, session: s.id}, q, n.noView())
		return
	}
	if n.c.Role == Authority && !n.current(s, epoch) && epoch == n.view().Epoch {
		// A boot that is not in the view, under the right number: told already, and refused.
		n.answerRefused(from{node: s.peer, session: s.id}, q, refusal.StaleEpoch)
		return
	}
	n.serve(from{node: s.peer, session: s.id}, epoch, q)
}
