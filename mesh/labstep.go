package mesh

import (
	"slices"

	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/route"
	"holdfast/mesh/wire"
)

// kept is a RouteReq that arrived once, to arrive again in step 7, with who sent it.
type kept struct {
	data  []byte
	peer  id.Node
	epoch id.Epoch
}

type labStep struct {
	role  Role
	op    wire.Op
	picks func(*Node, *route.Object) bool // whether an object fits
}

// labSteps are the steps (spec/system.md section 7) that route one operation to the lowest-numbered
// object that fits. Step 7 is none of them; 2, 3, 4 and 9 need lab moves and do not exist yet.
var labSteps = map[int]labStep{
	1:  {Member, wire.Stat, (*Node).homedAtAuthority},
	5:  {Authority, wire.Commit, (*Node).homedAtMember},
	6:  {Authority, wire.Stat, (*Node).justFenced},
	8:  {Authority, wire.Commit, (*Node).justFenced},
	10: {Authority, wire.Commit, (*Node).homedAtMember},
}

func (n *Node) homedAtAuthority(o *route.Object) bool { return o.Route == n.view().Authority }
func (n *Node) homedAtMember(o *route.Object) bool    { return o.Route != n.view().Authority }

func (n *Node) anyObject(*route.Object) bool { return true }

// justFenced picks an object whose cached route the current view has fenced: it was homed at a node
// that has been removed.
func (n *Node) justFenced(o *route.Object) bool { return o.Fenced == n.view().Epoch }

func (n *Node) labStep(in LabStep) {
	refuse := func(s AnswerStatus) { n.out.add(Answer{Ticket: in.Ticket, Status: s}) }
	step, routed := labSteps[in.Number]
	switch {
	case !n.c.Lab:
		refuse(LabOff)
	case in.Number == 7:
		n.replayStep(in)
	case !routed:
		refuse(UnknownStep)
	case step.role != n.c.Role:
		refuse(WrongRole)
	default:
		fits := step.picks
		if !n.c.Route {
			fits = (*Node).anyObject // without routing nobody is its home, and the answer says so
		}
		o := n.pick(fits)
		if n.state != Joined || o == nil {
			refuse(WrongOrder)
			return
		}
		var c [capability.Size]byte
		copy(c[:], in.Capability) // a short or missing one is refused as any bad one is
		if !n.start(in.Ticket, in.Number, o, step.op, c) {
			refuse(WrongOrder)
		}
	}
}

// pick returns the first object that fits: the table is in the order of the lab's numbers.
func (n *Node) pick(fits func(*Node, *route.Object) bool) *route.Object {
	for i := range n.objects.All() {
		if o := &n.objects.All()[i]; fits(n, o) {
			return o
		}
	}
	return nil
}

// replayStep is step 7: a frame of an old epoch arrives, as from the session it came on then. It
// goes through the receive path that every RouteReq takes, and must be refused there.
func (n *Node) replayStep(in LabStep) {
	if n.c.Role != Authority {
		n.out.add(Answer{Ticket: in.Ticket, Status: WrongRole})
		return
	}
	if len(n.kept.data) == 0 || len(n.ops) == opsMax {
		n.out.add(Answer{Ticket: in.Ticket, Status: WrongOrder})
		return
	}
	epoch, m, err := wire.Parse(n.kept.data)
	if err != nil {
		panic("mesh: a kept frame has changed")
	}
	q := m.(*wire.RouteReq)
	// The operation only carries the answer to the result row: it is never sent.
	p := n.begun(op{ticket: in.Ticket, step: in.Number, q: *q, target: n.self, attempts: 1})
	n.serve(from{op: p.serial, node: n.kept.peer}, epoch, q)
}

// routeReq takes a request from another node.
func (n *Node) routeReq(s *session, epoch id.Epoch, q *wire.RouteReq, data []byte) {
	if n.c.Lab && n.c.Role == Authority {
		n.kept = kept{slices.Clone(data), s.peer, epoch}
	}
	if n.c.Role == Authority && !n.current(s, epoch) && epoch == n.view().Epoch {
		// A boot that is not in the view, under the right number: told already, and refused.
		n.answerRefused(from{node: s.peer, session: s.id}, q, refusal.StaleEpoch)
		return
	}
	n.serve(from{node: s.peer, session: s.id}, epoch, q)
}
