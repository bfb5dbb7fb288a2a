package node

import (
	"context"
	"net/http"

	"holdfast/kernel/node/web"
	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// What HTTP asks the protocol to do: a lab step, an operation on an object. Each is one event, and
// waits for its Answer.

// ask hands the protocol the input that is made with a ticket, and waits for the answer to it. A
// word other than OK says why there is none.
func (n *Node) ask(ctx context.Context, input func(mesh.Ticket) mesh.Input) (mesh.Answer,
	refusal.Word) {
	ctx, cancel := context.WithTimeout(ctx, web.AnswerTime)
	defer cancel()
	web.Rest(ctx)
	defer web.Resume(ctx)
	e := question{input, make(chan mesh.Answer, 1)}
	if !n.loop.post(ctx, e) {
		return mesh.Answer{}, refusal.NotReady // nothing has begun
	}
	select {
	case a, ok := <-e.reply:
		if !ok {
			return mesh.Answer{}, refusal.Full
		}
		return a, refusal.OK
	case <-n.loop.ended:
	case <-ctx.Done():
	}
	return mesh.Answer{}, refusal.UnknownOutcome
}

// labStep carries out a lab step. An empty capability may pass: step 7 takes none, and the others
// refuse it by its name.
func (n *Node) labStep(ctx context.Context, number int, token []byte) web.Answer {
	if len(token) != 0 && len(token) != capability.Size {
		return web.Word(refusal.Malformed, "the capability has a wrong length")
	}
	a, w := n.ask(ctx, func(t mesh.Ticket) mesh.Input {
		return mesh.LabStep{Ticket: t, Number: number, Capability: token}
	})
	if w != refusal.OK {
		return web.Word(w, "")
	}
	return stepAnswer(a)
}

// stepAnswer turns the protocol's answer into HTTP's.
func stepAnswer(a mesh.Answer) web.Answer {
	switch a.Status {
	case mesh.Done:
		var p page
		for _, row := range a.Lines {
			p.add(row)
		}
		return p.answer()
	case mesh.LabOff:
		return web.Refuse(http.StatusForbidden, refusal.Disabled.String()+": mesh.lab is not set")
	case mesh.UnknownStep:
		return web.Refuse(http.StatusNotFound, "not found: no such step")
	case mesh.WrongRole:
		return web.Refuse(http.StatusConflict, "conflict: this step is for a node of the other role")
	case mesh.WrongOrder:
		return web.Refuse(http.StatusConflict, "conflict: not now, or no object fits")
	case mesh.Unfinished:
		return web.Word(refusal.UnknownOutcome, "begun, and not over in time")
	}
	panic("node: unknown answer")
}

// object carries out a request for an object.
func (n *Node) object(ctx context.Context, q mesh.Request) web.Answer {
	wrong := judge(&q, n.id)
	if wrong == "" && !n.homeVerifies(ctx, &q) {
		q.Verified = n.admitted.verify(n.machine.Clock(), &q.Capability, n.mesh.Root)
		if !q.Verified {
			wrong = forged
		}
	}
	if wrong != "" {
		return web.Word(refusal.BadCapability, wrong)
	}
	a, w := n.ask(ctx, func(t mesh.Ticket) mesh.Input {
		q.Ticket = t
		return q
	})
	if w != refusal.OK {
		return web.Word(w, "")
	}
	if !q.Verified && n.admitted.refused(n.machine.Clock(), &q.Capability, a.Reply.Word) {
		return web.Word(refusal.BadCapability, forged)
	}
	answer := web.Result(q.Op, a)
	if a.Reply.Word == refusal.Disabled && n.mesh.Route && n.mesh.Timing.AcksAll {
		answer.Body = web.Word(refusal.Disabled, byAcks).Body
	}
	return answer
}

// homeVerifies reports whether the signature of a request's capability is left to another node, the
// object's home. A stale-ok read is answered by this one, whatever the home.
func (n *Node) homeVerifies(ctx context.Context, q *mesh.Request) bool {
	if q.Op == wire.Stat && q.Class == wire.StaleOK {
		return false
	}
	switch n.admitted.standing(n.machine.Clock(), &q.Capability) {
	case verifiedHere, unseenWary:
		return false
	case goodAtHome:
		return true
	}
	leaves := make(chan bool, 1)
	o := id.ObjectOf(q.Name)
	return n.loop.look(ctx, func(c core, now when.Instant) { leaves <- c.Leaves(now, o) }) && <-leaves
}

// byAcks says why a node without leases refuses what rests on one.
const byAcks = "with mesh.acks=all no commit is local and no read is authoritative: " +
	"stale-ok tells its age"
