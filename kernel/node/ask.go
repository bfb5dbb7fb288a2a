package node

import (
	"context"
	"net/http"

	"holdfast/kernel/node/web"
	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/refusal"
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
	if wrong := n.admitted.judge(&q, n.id, n.mesh.Root); wrong != "" {
		return web.Word(refusal.BadCapability, wrong)
	}
	q.Verified = true
	a, w := n.ask(ctx, func(t mesh.Ticket) mesh.Input {
		q.Ticket = t
		return q
	})
	if w != refusal.OK {
		return web.Word(w, "")
	}
	answer := web.Result(q.Op, a)
	if a.Reply.Word == refusal.Disabled && n.mesh.Route && n.mesh.Timing.AcksAll {
		answer.Body = web.Word(refusal.Disabled, byAcks).Body
	}
	return answer
}

// byAcks says why a node without leases refuses what rests on one.
const byAcks = "with mesh.acks=all no commit is local and no read is authoritative: " +
	"stale-ok tells its age"
