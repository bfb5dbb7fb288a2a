package mesh_test

import (
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// comesAndGoes lets an authority admit three boots of n1, each of which loses its session at once.
func comesAndGoes(t *testing.T, s *solo, session mesh.Session, times [3]when.Instant) {
	t.Helper()
	for _, at := range times {
		s.until(at)
		s.joins(session, n1Key, bootOf(session))
		s.step(mesh.LinkDown{Session: session})
		session++
	}
}

// bootOf is the boot that uses a session.
func bootOf(session mesh.Session) id.Boot { return n1Boot + id.Boot(session) }

func TestThreeAdmissionsWithinAMinuteAreRestless(t *testing.T) {
	boundary{60_000, func(t *testing.T, at when.Instant) bool {
		s := newSolo(t, soloConfig(rootKey, rootBoot))
		comesAndGoes(t, s, 1, [3]when.Instant{0, 30_000, at})
		return s.has("mesh-fail: degraded node=" + n1ID.String() + " recoveries=3")
	}, [3]bool{true, false, false}}.test(t)
}

// joinsRestlessly goes on at once with three admissions within two seconds.
func joinsRestlessly(t *testing.T, s *solo, session mesh.Session) {
	t.Helper()
	s.step(mesh.Tick{})
	comesAndGoes(t, s, session, [3]when.Instant{s.now, s.now + 1000, s.now + 2000})
}

// heldBack is how long the next boot of n1 is told to wait, 0 when it may join.
func (s *solo) heldBack(session mesh.Session) when.Span {
	s.clear()
	s.step(mesh.LinkUp{Session: session, Key: public(n1Key)})
	s.gets(session, 0, &wire.JoinReq{Boot: bootOf(session)})
	s.gets(session, 0, signedJoin(n1Key, bootOf(session), latest[*wire.Challenge](s)))
	s.step(mesh.LinkDown{Session: session})
	if s.count(wire.KindJoinState) > 0 {
		return 0
	}
	r := latest[*wire.Refuse](s)
	if r.Word != refusal.NotReady {
		s.t.Errorf("refused with %v", r.Word)
	}
	return when.Span(r.RetryMS)
}

func TestTheNextAdmissionOfADegradedNodeWaitsTwiceAsLongEachTime(t *testing.T) {
	s := newSolo(t, soloConfig(rootKey, rootBoot))
	session := mesh.Session(1)
	for _, wait := range []when.Span{30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000} {
		joinsRestlessly(t, s, session)
		session += 3
		end := s.now.Add(wait)
		for _, left := range []when.Span{wait, 1, 0} {
			s.now = end.Add(-left)
			if got := s.heldBack(session); got != left {
				t.Fatalf("%d ms before the end of %d it waits for %d", left, wait, got)
			}
			session++
		}
	}
}

func TestTenQuietMinutesMakeANodeLikeAnyOther(t *testing.T) {
	boundary{2000 + 30_000 + 600_000, func(t *testing.T, at when.Instant) bool {
		s := newSolo(t, soloConfig(rootKey, rootBoot))
		joinsRestlessly(t, s, 1)
		s.now = at - 2000
		joinsRestlessly(t, s, 4)
		return s.heldBack(9) == 30_000 // not 60 s
	}, from}.test(t)
}

func TestRecoveriesCountAsAdmissionsDo(t *testing.T) {
	s := authorityWithMember(t)
	for range 2 {
		s.tickAt(s.now.Add(timing.SuspectMS))
		s.node.SetEchoed(n1ID, s.now)
		s.gets(1, 2, &wire.Ping{})
	}
	if !s.has("mesh-fail: degraded") {
		t.Error("a join and two recoveries within a minute")
	}
	s.clear()
	s.asks(1, n1Key, n1Boot)
	latest[*wire.LeaseAck](s) // a member stays one
}

func TestAMemberThatIsDegradedIsStillToldTheView(t *testing.T) {
	s := newSolo(t, soloConfig(rootKey, rootBoot))
	comesAndGoes(t, s, 1, [3]when.Instant{0, 1000, 2000})
	s.clear()
	boot := bootOf(3)
	s.step(mesh.LinkUp{Session: 9, Key: public(n1Key)})
	s.gets(9, 0, &wire.JoinReq{Boot: boot})
	s.gets(9, 0, signedJoin(n1Key, boot, latest[*wire.Challenge](s)))
	latest[*wire.Confirm](s)
}
