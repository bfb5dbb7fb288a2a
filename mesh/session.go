package mesh

import (
	"crypto/ed25519"
	"slices"

	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// sessionsMax bounds the open sessions: two for each peer, and a third for the moment in which the
// adapter replaces the oldest.
const sessionsMax = 3 * maxAllow

// session is one authenticated link. Boot is zero until the peer has named it.
type session struct {
	id    Session
	key   ed25519.PublicKey
	peer  id.Node
	boot  id.Boot
	since when.Instant
	heard when.Instant // last well-formed frame
	sent  when.Instant // last transmission

	// The authority's.
	barriers  int       // asked for and not yet reached
	admission admission // of the peer's boot
	told      pace      // telling the peer that it is stale
	refusals  pace      // saying that it was refused

	synchronizes bool         // its peer has asked for records, and is sent those that it lacks
	rest         when.Instant // it has refused one: it is sent none before this
	proofs       []proven     // of a joiner, for an authority that has been restarted
	complete     bool         // these are all

	// A member's.
	challenge id.Nonce // the latest one that was answered with a Join
	joining   id.Nonce // of that Join
	learning  id.Nonce // the Join for which the authority's records are learned
	proving   bool     // the authority has asked for the records here
	proved    []id.Digest

	loans [creditMax]id.Digest // of records on their way, zero for none
}

// pace holds back what was done less than a second ago: what a peer can provoke must not fill the
// console or the link.
type pace struct {
	begun bool
	last  when.Instant
}

// due reports whether it may be done again, and takes it as done.
func (p *pace) due(now when.Instant) bool {
	if p.begun && now.Sub(p.last) < resendMS {
		return false
	}
	p.begun, p.last = true, now
	return true
}

func (n *Node) linkUp(in LinkUp) {
	if len(n.sessions) == sessionsMax {
		n.out.add(Close{in.Session, "local"})
		return
	}
	s := session{id: in.Session, key: in.Key, peer: id.NodeOf(in.Key), since: n.now, heard: n.now}
	s.sent = n.now
	n.sessions = append(n.sessions, s)
	n.sayAgain()
	if n.c.Role == Member {
		n.memberLinkUp(&n.sessions[len(n.sessions)-1])
	}
}

func (n *Node) linkDown(in LinkDown) {
	n.sessions = slices.DeleteFunc(n.sessions, func(s session) bool { return s.id == in.Session })
	if n.member.offer.session == in.Session {
		n.member.offer = offer{} // it will be offered again
	}
	n.requeueOps(in.Session)
}

func (n *Node) find(s Session) *session {
	for i := range n.sessions {
		if n.sessions[i].id == s {
			return &n.sessions[i]
		}
	}
	return nil
}

// best returns the session to that boot of a peer which answered last, nil when there is none.
func (n *Node) best(peer id.Node, boot id.Boot) *session {
	var best *session
	for i := range n.sessions {
		s := &n.sessions[i]
		if s.peer == peer && s.boot == boot && (best == nil || s.heard > best.heard) {
			best = s
		}
	}
	return best
}

func (n *Node) send(s *session, m wire.Message) {
	s.sent = n.now
	data := wire.Append(nil, n.view().Epoch, m)
	n.out.add(Send{Session: s.id, Control: wire.IsControl(m.Kind()), Data: data})
}

// frame takes one frame in. The order is: authenticate (the link did), parse, credit; so that
// neither a stranger nor a malformed frame is ever proof of life (failure.md, U29).
func (n *Node) frame(in Frame) {
	s := n.find(in.Session)
	if s == nil {
		return // the session has been closed; what was still on its way is nobody's
	}
	epoch, m, err := wire.Parse(in.Data)
	if err != nil {
		n.malformed(s)
		return
	}
	s.heard = n.now
	n.credit(s)
	switch m := m.(type) {
	case *wire.Ping:
		n.send(s, &wire.Pong{Nonce: m.Nonce})
		if n.c.Role == Member {
			n.calledOut(s)
		}
		return
	case *wire.Pong:
		n.pong(s, m)
		return
	case *wire.RouteReq:
		n.routeReq(s, epoch, m, in.Data)
		return
	case *wire.RouteRep:
		n.routeRep(s.peer, m)
		return
	case *wire.Forward:
		n.forward(s, epoch, m)
		return
	case *wire.RecordAck:
		n.recordAck(s, m)
		return
	case *wire.RecordRefuse:
		n.recordRefuse(s, m)
		return
	}
	if n.c.Role == Authority {
		n.authorityFrame(s, epoch, m)
	} else {
		n.memberFrame(s, epoch, m)
	}
}

// malformed ends a session on which something came that no correct node sends.
func (n *Node) malformed(s *session) {
	n.counted.malformed++
	n.out.add(Close{s.id, "malformed"})
}

// credit counts a frame as proof of life of the boot that the session's peer has named, if that is
// the one in the view (ADR-0008 section 1). Until it is named, nothing is credited.
func (n *Node) credit(s *session) {
	if n.c.Role == Member && s.boot != 0 && s.boot == n.view().AuthorityBoot {
		n.member.heard = n.now
	}
	if n.c.Role == Authority && !n.hears(s.peer) {
		return
	}
	silence, recovered := n.members.Heard(n.now, s.peer, s.boot)
	if recovered && n.c.Detect {
		n.print(evidence.New("mesh-fail", "recovered").Node("node", s.peer).
			Epoch("epoch", n.view().Epoch).Span("silent_ms", silence))
		n.unsteady(s.peer)
	}
}

// hears reports whether a member has lately shown that it gets what the authority sends: it has
// echoed a LeaseAck or a Ping that is no older than the suspicion time. One that only talks is no
// better than one that is silent: it would keep its objects for ever, and serve them half of the
// time (protocol.md, "Conviction").
func (n *Node) hears(peer id.Node) bool {
	e := n.members.Find(peer)
	return e != nil && n.now.Sub(e.Echoed) <= n.c.Timing.Suspect
}

// names notes that the session's peer runs this boot; the frame that says so counts as its life. An
// admission was about the boot that was named before.
func (n *Node) names(s *session, b id.Boot) {
	if s.boot != b {
		s.boot = b
		s.admission = admission{}
		s.synchronizes, s.proofs, s.complete = false, nil, false
		n.credit(s)
	}
}

// keepAlive pings every session that has not been transmitted on for a heartbeat: idleness is per
// direction, so that a chatty peer does not silence this node (failure.md, U22).
func (n *Node) keepAlive() {
	for i := range n.sessions {
		if s := &n.sessions[i]; n.now.Sub(s.sent) >= n.c.Timing.Heartbeat {
			n.send(s, &wire.Ping{Nonce: n.random.nonce()})
		}
	}
}
