package node

import (
	"context"

	"holdfast/kernel/node/link"
	"holdfast/kernel/node/web"
	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
)

// event is what the loop takes from its queue: what happened on a link, a look at the protocol's
// state, a question that the protocol answers.
type event interface{ handle(l *loop) }

// linkEvent is what happened on a link.
type linkEvent struct{ link.Event }

func (e linkEvent) handle(l *loop) {
	switch e := e.Event.(type) {
	case link.Up:
		l.print(evidence.New("mesh-link", "up").Node("node", id.NodeOf(e.Key)).
			Str("remote", e.Remote).Int("slot", int64(e.Slot)))
		l.peers[e.Session] = id.NodeOf(e.Key)
		l.step(mesh.LinkUp{Session: mesh.Session(e.Session), Key: e.Key})
	case link.Arrived:
		l.hear(e.Session)
		// What was on its way when the session was closed is nobody's any more.
		if !l.closing[e.Session] {
			l.step(mesh.Frame{Session: mesh.Session(e.Session), Data: e.Data})
		}
	case link.Drained:
		l.step(mesh.Drained{Session: mesh.Session(e.Session)})
	case link.Down:
		delete(l.closing, e.Session)
		delete(l.heard, e.Session)
		delete(l.peers, e.Session)
		l.down(e)
		l.step(mesh.LinkDown{Session: mesh.Session(e.Session)})
	case link.Refused:
		l.refused(e)
	default:
		panic("node: unknown link event")
	}
}

// hear notes that a frame came, for the figures: the protocol's detector has a clock of its own.
func (l *loop) hear(s link.Session) {
	now := l.clock()
	if peer, ok := l.peers[s]; ok {
		l.health.Heard(now, peer)
	}
	if before, ok := l.heard[s]; ok {
		l.stats.gaps.observe(now.Sub(before))
	}
	l.heard[s] = now
}

// down says why a session is over. A peer that takes nothing is a decision of this node's: `local`
// in the row, which has no word for it, and a line for whoever reads the console.
func (l *loop) down(e link.Down) {
	why := e.Reason
	if why == link.Full {
		l.log.Note("link: " + e.Peer.String() + " does not take what is sent to it")
		why = link.Local
	}
	l.print(evidence.New("mesh-link", "down").Node("node", e.Peer).Str("reason", string(why)))
}

// saidMS is the least time between two rows about refused connections with one reason: without it
// a stranger could fill the log.
const saidMS when.Span = 1_000

// refused says why a connection is no session, once a second for each reason. That nobody listens
// is no refusal by anybody.
func (l *loop) refused(e link.Refused) {
	if e.Reason == link.Unreachable {
		l.log.Note("link: nobody listens at " + e.Remote)
		return
	}
	l.stats.refused.Add(1)
	now := l.clock()
	if at, ok := l.said[e.Reason]; ok && now.Sub(at) < saidMS {
		return
	}
	l.said[e.Reason] = now
	l.print(evidence.New("mesh-link", "refused").Str("remote", e.Remote).
		Str("reason", string(e.Reason)))
}

// look reads the protocol's state between two steps.
type look struct {
	read func(c core, now when.Instant)
	done chan struct{}
}

func (e look) handle(l *loop) {
	e.read(l.core, l.clock())
	close(e.done)
}

// look has read called by the loop, and reports false when ctx, the loop or web.AnswerTime ended
// before.
func (l *loop) look(ctx context.Context, read func(c core, now when.Instant)) bool {
	ctx, cancel := context.WithTimeout(ctx, web.AnswerTime)
	defer cancel()
	web.Rest(ctx)
	defer web.Resume(ctx)
	e := look{read, make(chan struct{})}
	if !l.post(ctx, e) {
		return false
	}
	select {
	case <-e.done:
		return true
	case <-l.ended:
	case <-ctx.Done():
	}
	return false
}

// question is an input that has an answer.
type question struct {
	input func(mesh.Ticket) mesh.Input
	reply chan mesh.Answer // capacity 1; closed instead of answered when there are too many
}

func (e question) handle(l *loop) {
	if len(l.asked) == askedMax {
		close(e.reply)
		return
	}
	l.ticket++
	l.asked[l.ticket] = e.reply
	l.step(e.input(l.ticket))
}
