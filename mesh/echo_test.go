package mesh_test

import (
	"testing"

	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// Life is an answer, not a noise: a frame counts for as long as the member has echoed a LeaseAck
// that was sent at most six seconds ago (protocol.md, "Conviction").

func TestAFrameCountsWhileTheNewestEchoIsNoOlderThanTheSuspicionTime(t *testing.T) {
	boundary{4000 + timing.SuspectMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.tickAt(4000)
		s.asks(1, n1Key, n1Boot) // is acknowledged at 4000
		ack := latest[*wire.LeaseAck](s)
		s.tickAt(5000)
		m := s.leaseReq(n1Key, n1Boot, 77)
		m.Echo = ack.Nonce
		s.gets(1, 2, m) // shows that it has got it
		s.clear()
		s.until(at)
		s.gets(1, 2, &wire.Ping{})
		return !s.has("mesh-fail: suspect") && s.ageOf(n1ID) == 0
	}, until}.test(t)
}

func TestAnEchoOfNothingThatWasSentIsNone(t *testing.T) {
	s := authorityWithMember(t)
	for at := when.Instant(1000); at < 100+timing.SuspectMS; at += 1000 {
		s.tickAt(at)
		m := s.leaseReq(n1Key, n1Boot, 77)
		m.Echo = 123456789
		s.gets(1, 2, m)
	}
	s.tickAt(2 * (100 + timing.SuspectMS))
	if !s.has("mesh-fail: suspect") {
		t.Error("an invented echo counts")
	}
}

// A member that talks and hears nothing would be a member for ever, without a lease: its objects
// would have no home.
func TestADeafMemberIsRemoved(t *testing.T) {
	p := newPair(t)
	p.n1.isolated = true // what it dials does not answer
	p.linksOf(p.n1)[0].end(p.n1).cut = true
	p.run(20_000)
	if p.root.node.Epoch() != 3 || p.said(p.root, "mesh-fail: removed") != 1 {
		t.Error("a deaf member stays")
	}
	if p.said(p.n1, "state=lost") != 1 {
		t.Error("the deaf member does not say that the authority is lost")
	}
}

// What the authority withholds on purpose is not held against the member.
func TestAMemberThatIsMadeToWaitIsNotSuspectedForIt(t *testing.T) {
	p := newPair(t)
	p.kill(p.n1)
	p.boot(p.n1) // a new boot waits for the lease of the old one
	p.connect(p.n1)
	p.run(30_000)
	if n := p.said(p.root, "mesh-fail: suspect"); n != 0 {
		t.Errorf("suspected %d times", n)
	}
	if p.root.node.Epoch() != 3 || !p.n1.node.Joined() {
		t.Error("the new boot has not joined, and stayed")
	}
}
