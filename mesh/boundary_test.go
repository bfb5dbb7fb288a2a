package mesh_test

import (
	"crypto/ed25519"
	"fmt"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// boundary is an instant, and what must hold one millisecond before, at and after it.
type boundary struct {
	at    when.Instant
	run   func(t *testing.T, at when.Instant) bool
	holds [3]bool
}

// From then on, up to and including then, and never after.
var (
	from  = [3]bool{false, true, true}
	until = [3]bool{true, true, false}
)

func (b boundary) test(t *testing.T) {
	for i, offset := range []when.Span{-1, 0, 1} {
		t.Run(fmt.Sprintf("%+d ms", offset), func(t *testing.T) {
			if got := b.run(t, b.at.Add(offset)); got != b.holds[i] {
				t.Errorf("at %d: %v, want %v", b.at.Add(offset), got, b.holds[i])
			}
		})
	}
}

// authorityWithMember is an authority whose member n1 was heard last, and acknowledged last, at
// 100, on session 1.
func authorityWithMember(t *testing.T) *solo {
	return authorityOf(t, soloConfig(rootKey, rootBoot))
}

func authorityOf(t *testing.T, c mesh.Config) *solo {
	s := newSolo(t, c)
	s.joins(1, n1Key, n1Boot)
	s.now = 100
	s.gets(1, 2, &wire.ViewAck{Epoch: 2, Digest: s.node.Digest()})
	s.asks(1, n1Key, n1Boot)
	latest[*wire.LeaseAck](s)
	s.clear()
	return s
}

func TestAMemberIsSuspectFromTheSuspicionTimeOn(t *testing.T) {
	boundary{100 + timing.SuspectMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.tickAt(at)
		return s.has("mesh-fail: suspect")
	}, from}.test(t)
}

func TestASilentMemberWithoutSessionsIsRemovedFromTheFailureTimeOn(t *testing.T) {
	boundary{100 + timing.FailMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.step(mesh.LinkDown{Session: 1})
		s.tickAt(at)
		if s.has("mesh-fail: failed") != s.has("mesh-fail: removed") {
			t.Error("failed and removed are one step")
		}
		return s.has("mesh-fail: removed")
	}, from}.test(t)
}

func TestAVerdictWaitsForTheFailureTimeAfterTheLastLeaseAck(t *testing.T) {
	const acked = 900 // after the last frame: only a fault of this node's own makes that possible
	boundary{100 + acked + timing.FailMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.step(mesh.LinkDown{Session: 1})
		s.node.SetLastAck(n1ID, 100+acked)
		s.tickAt(at)
		return s.has("mesh-fail: removed")
	}, from}.test(t)
}

func TestADrainIsAskedForAtTheFailureTime(t *testing.T) {
	boundary{100 + timing.FailMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.tickAt(at)
		return did[mesh.Drain](s)
	}, from}.test(t)
}

func TestADrainThatNobodyAnswersEndsAfterItsTime(t *testing.T) {
	boundary{100 + timing.FailMS + timing.HandlerMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.tickAt(100 + timing.FailMS)
		s.tickAt(at)
		return s.has("mesh-fail: removed")
	}, from}.test(t)
}

func TestTheVerdictFollowsTheDrainAtOnce(t *testing.T) {
	s := authorityWithMember(t)
	s.tickAt(100 + timing.FailMS)
	s.step(mesh.Drained{Session: 1})
	if !s.has("mesh-fail: removed") {
		t.Error("nobody is removed after the drain")
	}
}

func TestTheDrainOfEverySessionIsWaitedFor(t *testing.T) {
	s := authorityWithMember(t)
	s.step(mesh.LinkUp{Session: 2, Key: public(n1Key)})
	s.tickAt(100 + timing.FailMS)
	s.step(mesh.Drained{Session: 2})
	if s.has("mesh-fail: removed") {
		t.Fatal("removed while one session is still being drained")
	}
	s.node.SetEchoed(n1ID, s.now)
	s.gets(1, 2, &wire.Ping{})
	if !s.has("mesh-fail: recovered") {
		t.Error("what had arrived on the other session is not heard")
	}
}

func TestAnOldBarrierDoesNotAnswerForANewOne(t *testing.T) {
	s := authorityWithMember(t)
	s.tickAt(100 + timing.FailMS) // asks for a barrier, which does not come yet
	s.node.SetEchoed(n1ID, s.now)
	s.gets(1, 2, &wire.Ping{})
	s.tickAt(s.now.Add(timing.FailMS)) // asks for the second one
	s.step(mesh.Drained{Session: 1})
	if s.has("mesh-fail: removed") {
		t.Fatal("the first barrier says nothing about what arrived behind it")
	}
	s.step(mesh.Drained{Session: 1})
	if !s.has("mesh-fail: removed") {
		t.Error("the second barrier ends the drain")
	}
}

func TestAnOldBootIsProbedForOneSecond(t *testing.T) {
	boundary{200 + 1000, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.now = 200
		s.asksToJoin(2, n1Key, n1Boot+1)
		if s.count(wire.KindPing) != 1 {
			t.Fatal("the old boot is not asked")
		}
		s.tickAt(at)
		return s.count(wire.KindJoinState) > 0
	}, from}.test(t)
}

func TestAnOldBootIsProbedOnlyBeforeTheSuspicionTime(t *testing.T) {
	boundary{100 + timing.SuspectMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.until(at)
		s.clear()
		s.asksToJoin(2, n1Key, n1Boot+1)
		return s.count(wire.KindJoinState) > 0
	}, from}.test(t)
}

func TestALearnerIsRefusedFromItsTimeOn(t *testing.T) {
	boundary{6000, func(t *testing.T, at when.Instant) bool {
		s := newSolo(t, soloConfig(rootKey, rootBoot))
		s.asksToJoin(1, n1Key, n1Boot)
		s.tickAt(at)
		if refused := s.count(wire.KindRefuse) > 0; refused {
			if w := latest[*wire.Refuse](s).Word; w != refusal.NotReady {
				t.Errorf("refused with %v", w)
			}
			return true
		}
		return false
	}, from}.test(t)
}

func TestAViewIsSentAgainAfterASecond(t *testing.T) {
	boundary{100 + 1000, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.joins(2, n2Key, 1)
		if s.count(wire.KindView) != 1 {
			t.Fatal("the view is not pushed at once")
		}
		s.tickAt(at)
		return s.count(wire.KindView) > 1
	}, from}.test(t)
}

func TestAnAcknowledgedViewIsNotSentAgain(t *testing.T) {
	s := authorityWithMember(t)
	s.joins(2, n2Key, 1)
	s.gets(1, 3, &wire.ViewAck{Epoch: 3, Digest: s.node.Digest()})
	s.clear()
	s.tickAt(5000)
	if n := s.count(wire.KindView); n != 4 { // to n2, which does not acknowledge
		t.Errorf("%d views are sent, want the four to n2", n)
	}
}

func TestAStaleBootIsToldOnceASecond(t *testing.T) {
	boundary{100 + 1000, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.asks(1, n1Key, n1Boot+1)
		if s.count(wire.KindStaleEpoch) != 1 {
			t.Fatal("not told at once")
		}
		s.until(at)
		s.asks(1, n1Key, n1Boot+1)
		return s.count(wire.KindStaleEpoch) > 1
	}, from}.test(t)
}

func TestAnIdleSessionIsPingedFromTheHeartbeatOn(t *testing.T) {
	boundary{100 + timing.HeartbeatMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		// What it hears does not matter: idleness is that of its own direction (U22).
		for s.now < at-2 {
			s.gets(1, 2, &wire.Pong{})
			s.now += 2
		}
		s.now = at
		s.gets(1, 2, &wire.Pong{})
		return s.count(wire.KindPing) > 0
	}, from}.test(t)
}

func TestTheWriteLeaseIsValidUpToItsLastMillisecond(t *testing.T) {
	boundary{timing.WriteLeaseMS, func(t *testing.T, at when.Instant) bool {
		s := newMember(t, nil)
		s.until(at)
		s.gets(1, 2, request(rootID, "lab-0", wire.Commit, 2, 1))
		w := latest[*wire.RouteRep](s).Word
		if w != refusal.OK && w != refusal.NotCurrent {
			t.Errorf("refused with %v", w)
		}
		return w == refusal.OK
	}, until}.test(t)
}

func TestTheSecondCheckIsTheOneThatCounts(t *testing.T) {
	boundary{timing.WriteLeaseMS, func(t *testing.T, at when.Instant) bool {
		s := newMember(t, nil)
		s.held = true
		s.until(timing.WriteLeaseMS - 500)
		s.gets(1, 2, request(rootID, "lab-0", wire.Commit, 2, 1))
		if s.count(wire.KindRouteRep) != 0 {
			t.Fatal("answered before the clock was read again")
		}
		s.now = at
		s.step(mesh.Rechecked{Ticket: 1})
		return latest[*wire.RouteRep](s).Word == refusal.OK
	}, until}.test(t)
}

func TestAPauseBetweenTheTwoChecksDiscardsTheCommit(t *testing.T) {
	s := authorityWithMember(t)
	s.held = true
	s.gets(1, 2, request(n1ID, "lab-1", wire.Commit, 2, 1))
	s.now += timing.PauseMS + 1
	s.step(mesh.Rechecked{Ticket: 1})
	if w := latest[*wire.RouteRep](s).Word; w != refusal.NotCurrent {
		t.Errorf("answered with %v", w)
	}
	if v := s.node.Version(id.ObjectOf("lab-1")); v != 0 {
		t.Errorf("version %d is published", v)
	}
}

func TestANewViewEndsTheLeaseAndWhatWasAskedFor(t *testing.T) {
	s := newMember(t, nil)
	s.tickAt(2000)
	asked := latest[*wire.LeaseReq](s)
	v := viewOf(3, true, map[*ed25519.PrivateKey]id.Boot{
		&rootKey: rootBoot, &n1Key: n1Boot, &n2Key: 1})
	s.gets(1, 3, viewFrame(v, rootKey))
	if s.node.Epoch() != 3 || s.node.CanCommit(s.now, when.NoSecond) {
		t.Fatal("the lease of the old view is valid under the new one")
	}
	again := latest[*wire.LeaseReq](s)
	if again.Nonce == asked.Nonce || again.Digest != s.node.Digest() {
		t.Fatal("no lease is asked for under the new view")
	}
	for _, nonce := range []id.Nonce{asked.Nonce, again.Nonce} {
		s.gets(1, 3, &wire.LeaseAck{Incarnation: again.Incarnation, Digest: again.Digest,
			AuthorityBoot: rootBoot, Nonce: nonce})
		if got := s.node.CanCommit(s.now, when.NoSecond); got != (nonce == again.Nonce) {
			t.Errorf("the answer to request %v gives a lease: %v", nonce, got)
		}
	}
}

func TestTheLeaseCountsFromWhenItWasAskedFor(t *testing.T) {
	const asked, answered = 2000, 3900
	boundary{asked + timing.WriteLeaseMS, func(t *testing.T, at when.Instant) bool {
		s := newMember(t, nil)
		s.tickAt(asked)
		s.until(answered)
		s.ack(1, 2)
		s.until(at)
		return s.node.CanCommit(s.now, when.NoSecond)
	}, until}.test(t)
}

func TestTheReadLeaseIsValidUpToItsLastMillisecond(t *testing.T) {
	boundary{timing.ReadLeaseMS, func(t *testing.T, at when.Instant) bool {
		s := newMember(t, nil)
		s.until(at)
		return s.node.CanRead(s.now)
	}, until}.test(t)
}

func TestAMemberAsksForItsLeaseEveryThirdOfIt(t *testing.T) {
	boundary{timing.WriteLeaseMS / 3, func(t *testing.T, at when.Instant) bool {
		s := newMember(t, nil)
		s.tickAt(at)
		return s.count(wire.KindLeaseReq) > 0
	}, from}.test(t)
}

func TestAJoinerAsksAgainAfterASecond(t *testing.T) {
	boundary{1000, func(t *testing.T, at when.Instant) bool {
		s := newSolo(t, soloConfig(n1Key, n1Boot))
		s.step(mesh.LinkUp{Session: 1, Key: public(rootKey)})
		s.tickAt(at)
		return s.count(wire.KindJoinReq) > 1
	}, from}.test(t)
}

func TestARefusedJoinerWaitsAsLongAsItWasTold(t *testing.T) {
	boundary{3500, func(t *testing.T, at when.Instant) bool {
		s := newSolo(t, soloConfig(n1Key, n1Boot))
		s.step(mesh.LinkUp{Session: 1, Key: public(rootKey)})
		s.gets(1, 1, &wire.Refuse{Word: refusal.NotAllowed, RetryMS: 3500})
		s.tickAt(at)
		return s.count(wire.KindJoinReq) > 1
	}, from}.test(t)
}

func TestARefusedJoinerDoesNotWaitForEver(t *testing.T) {
	boundary{600_000, func(t *testing.T, at when.Instant) bool {
		s := newSolo(t, soloConfig(n1Key, n1Boot))
		s.step(mesh.LinkUp{Session: 1, Key: public(rootKey)})
		s.gets(1, 1, &wire.Refuse{Word: refusal.NotAllowed, RetryMS: 1<<32 - 1})
		s.tickAt(at)
		return s.count(wire.KindJoinReq) > 1
	}, from}.test(t)
}

func TestAMemberDialsOnceItsSessionsAreSilentForTheSuspicionTime(t *testing.T) {
	boundary{timing.SuspectMS, func(t *testing.T, at when.Instant) bool {
		s := newMember(t, nil)
		s.tickAt(at)
		return did[mesh.Dial](s)
	}, from}.test(t)
}

func TestAnOperationEndsAtItsTimeLimit(t *testing.T) {
	boundary{100 + 5000, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.step(mesh.LabStep{Ticket: 7, Number: 5, Capability: capabilityOf(s, "lab-0")})
		s.tickAt(at)
		if len(s.answers) > 0 && s.answers[0].Status != mesh.Done {
			t.Error("the answer is no result")
		}
		return len(s.answers) > 0
	}, from}.test(t)
}

func TestAGapIsAPauseWhenItIsLongerThanItsBound(t *testing.T) {
	boundary{100 + timing.PauseMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.now = at
		s.step(mesh.Tick{})
		return s.has("mesh-fail: paused")
	}, [3]bool{false, false, true}}.test(t)
}

func TestAPauseIsNoTimeForAProbeOrALearner(t *testing.T) {
	const pause = 20_000
	s := authorityWithMember(t)
	s.asksToJoin(2, n1Key, n1Boot+1) // probes n1
	probe := latest[*wire.Ping](s).Nonce
	s.asksToJoin(3, n2Key, 1) // learns
	s.now += pause
	s.step(mesh.Tick{})
	if s.count(wire.KindRefuse) != 0 || s.count(wire.KindJoinState) != 1 {
		t.Fatal("a verdict about what this node could not hear")
	}
	s.until(s.now.Add(500))
	s.gets(1, 2, &wire.Pong{Nonce: probe})
	s.gets(3, 0, &wire.JoinReady{Nonce: latest[*wire.JoinState](s).Nonce})
	if s.count(wire.KindRefuse) != 1 || s.node.Epoch() != 3 {
		t.Error("the old boot has answered and the learner is ready: both count")
	}
}

func TestAClockThatGoesBackIsAPause(t *testing.T) {
	boundary{100, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.now = at
		s.step(mesh.Tick{})
		return s.has("mesh-fail: paused")
	}, [3]bool{true, false, false}}.test(t)
}

func TestTheNextTickIsDueWithinTheTickTime(t *testing.T) {
	s := authorityWithMember(t)
	for range 200 {
		due := s.node.Deadline()
		if due <= s.now || due > s.now.Add(timing.TickMS) {
			t.Fatalf("at %d the next tick is due at %d", s.now, due)
		}
		s.now = due
		s.step(mesh.Tick{})
	}
}

func TestTheNextTickIsNotLaterThanWhatItIsFor(t *testing.T) {
	s := authorityWithMember(t)
	s.until(100 + timing.SuspectMS - 10)
	s.step(mesh.Tick{})
	if due := s.node.Deadline(); due != 100+timing.SuspectMS {
		t.Errorf("due at %d, want the suspicion at %d", due, 100+timing.SuspectMS)
	}
}

func capabilityOf(s *solo, object string) []byte {
	c := request(s.self(), object, wire.Commit, max(1, s.node.Epoch()), 1).Capability
	return c[:]
}

func (s *solo) self() id.Node { return id.NodeOf(public(s.config.Key)) }
