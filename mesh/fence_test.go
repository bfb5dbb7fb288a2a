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

// What a live holder may still have is not given to another before it has acknowledged the new
// view, or FENCE has passed since its last LeaseAck (rule L16).

func TestANewBootGetsItsLeaseFromTheFenceOn(t *testing.T) {
	boundary{100 + timing.FenceMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.step(mesh.LinkDown{Session: 1})
		s.joins(2, n1Key, n1Boot+1)
		s.until(at - 2000)
		s.asks(2, n1Key, n1Boot+1) // as it has since it joined
		s.until(at)
		s.asks(2, n1Key, n1Boot+1)
		return s.count(wire.KindLeaseAck) > 0
	}, from}.test(t)
}

// TestANewcomerGetsItsLeaseFromTheFenceOn: nobody but n1 knows what n1 is the home of, so that the
// newcomer may have got something from it.
func TestANewcomerGetsItsLeaseFromTheFenceOn(t *testing.T) {
	boundary{100 + timing.FenceMS, func(t *testing.T, at when.Instant) bool {
		c := soloConfig(rootKey, rootBoot)
		c.LabObject = nil
		s := authorityOf(t, c)
		s.joins(2, n2Key, 1)
		s.until(at - 2000)
		s.asks(2, n2Key, 1) // as it has since it joined
		s.until(at)
		s.asks(2, n2Key, 1)
		return s.count(wire.KindLeaseAck) > 0
	}, from}.test(t)
}

func TestANewcomerGetsItsLeaseOnceTheOthersHaveTheNewView(t *testing.T) {
	s := authorityWithMember(t)
	old := s.node.Digest()
	s.joins(2, n2Key, 1)
	for _, ack := range []wire.ViewAck{{Epoch: 2, Digest: old}, {Epoch: 3, Digest: old}} {
		s.gets(1, 3, &ack)
		s.asks(2, n2Key, 1)
		if s.count(wire.KindLeaseAck) != 0 {
			t.Fatalf("the acknowledgement of another view counts: %+v", ack)
		}
	}
	s.gets(1, 3, &wire.ViewAck{Epoch: 3, Digest: s.node.Digest()})
	s.asks(2, n2Key, 1)
	latest[*wire.LeaseAck](s)
}

func TestAThirdBootInheritsTheFenceOfTheFirst(t *testing.T) {
	boundary{100 + timing.FenceMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.step(mesh.LinkDown{Session: 1})
		s.joins(2, n1Key, n1Boot+1)
		s.step(mesh.LinkDown{Session: 2})
		s.until(5000)
		s.joins(3, n1Key, n1Boot+2)
		s.until(at)
		s.asks(3, n1Key, n1Boot+2)
		return s.count(wire.KindLeaseAck) > 0
	}, from}.test(t)
}

func TestANewcomerInheritsTheFenceOfAReplacedBoot(t *testing.T) {
	boundary{100 + timing.FenceMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.step(mesh.LinkDown{Session: 1})
		s.joins(2, n1Key, n1Boot+1)
		s.until(5000)
		s.joins(3, n2Key, 1)
		s.gets(2, 4, &wire.ViewAck{Epoch: 4, Digest: s.node.Digest()}) // of n1's new boot only
		s.until(at)
		s.asks(3, n2Key, 1)
		return s.count(wire.KindLeaseAck) > 0
	}, from}.test(t)
}

// movedToAMember is an authority that has moved lab-1 to n1, which has had its lease and the word
// of the move at 100, and whose next boot has then joined.
func movedToAMember(t *testing.T) *solo {
	s := authorityWithMember(t)
	s.step(mesh.LabStep{Ticket: 1, Number: 2})
	m := latest[*wire.Move](s)
	s.gets(1, 2, &wire.MoveAck{Object: m.Object, MoveEpoch: m.MoveEpoch})
	s.asks(1, n1Key, n1Boot)
	if latest[*wire.LeaseAck](s).Moved != m.MoveEpoch {
		t.Fatal("the LeaseAck does not name the move")
	}
	s.step(mesh.LinkDown{Session: 1})
	s.joins(2, n1Key, n1Boot+1)
	s.gets(2, 3, &wire.ViewAck{Epoch: 3, Digest: s.node.Digest()})
	s.clear()
	return s
}

func TestAMovedObjectIsServedAgainFromTheFenceOn(t *testing.T) {
	boundary{100 + timing.FenceMS, func(t *testing.T, at when.Instant) bool {
		s := movedToAMember(t)
		s.until(at)
		s.gets(2, 3, request(n1ID, "lab-1", wire.Commit, 3, 1))
		w := latest[*wire.RouteRep](s).Word
		if w != refusal.OK && w != refusal.Draining {
			t.Errorf("refused with %v", w)
		}
		return w == refusal.OK
	}, from}.test(t)
}

func TestAMovedObjectIsMovedAgainFromTheFenceOn(t *testing.T) {
	boundary{100 + timing.FenceMS, func(t *testing.T, at when.Instant) bool {
		s := movedToAMember(t)
		s.until(at)
		s.node.SetEchoed(n1ID, s.now)
		s.gets(2, 3, &wire.Ping{})
		s.step(mesh.LabStep{Ticket: 2, Number: 2})
		return latest[*wire.Move](s).Object == id.ObjectOf("lab-1")
	}, from}.test(t)
}

// TestANewBootCostsAnEpochOnceSomethingWasCommitted: without failure detection, too
// (spec/system.md section 4).
func TestANewBootCostsAnEpochOnceSomethingWasCommitted(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(s *solo)
		epoch   id.Epoch
	}{
		"nothing was": {func(*solo) {}, 2},
		"here": {func(s *solo) {
			s.replicates(s.homedAt(rootID, 0), 1, func(q *mesh.Request) { q.Durability = wire.Local })
		}, 3},
		"replicated by the member": {func(s *solo) {
			s.gets(1, 2, recordOf("lab-0", n1ID, n1Boot, 2, "a"))
		}, 3},
		"locally by the member": {func(s *solo) {
			s.gets(1, 2, &wire.Published{Rows: []wire.PublishedRow{{Object: id.ObjectOf("lab-0"),
				Epoch: 2, Version: 1}}})
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			config := soloConfig(rootKey, rootBoot)
			config.Detect = false
			s := authorityOf(t, config)
			c.happens(s)
			s.step(mesh.LinkDown{Session: 1})
			s.joins(2, n1Key, n1Boot+1)
			if s.node.Epoch() != c.epoch {
				t.Errorf("the new boot is admitted in epoch %d, want %d", s.node.Epoch(), c.epoch)
			}
		})
	}
}

// TestALocalCommitIsToldWhereThereIsNoDetector: the authority has to know; with a detector every
// new boot costs an epoch anyway.
func TestALocalCommitIsToldWhereThereIsNoDetector(t *testing.T) {
	for _, detect := range []bool{false, true} {
		s := newMember(t, func(c *mesh.Config) { c.Detect = detect })
		s.replicates(s.homedAt(n1ID, 0), 1, func(q *mesh.Request) { q.Durability = wire.Local })
		if rep, _ := s.answerTo(1); rep.Word != refusal.OK || rep.Durability != wire.Local {
			t.Fatalf("answered with %v, %v", rep.Word, rep.Durability)
		}
		if told := s.count(wire.KindPublished) > 0; told == detect {
			t.Errorf("with a detector: %v; told: %v", detect, told)
		}
	}
}

// TestANewBootOfTheSameEpochGetsItsLeaseFromTheFenceOn: without failure detection a new boot takes
// its predecessor's place under the same epoch; the predecessor may live all the same.
func TestANewBootOfTheSameEpochGetsItsLeaseFromTheFenceOn(t *testing.T) {
	boundary{100 + timing.FenceMS, func(t *testing.T, at when.Instant) bool {
		c := soloConfig(rootKey, rootBoot)
		c.Detect = false
		s := authorityOf(t, c)
		s.step(mesh.LinkDown{Session: 1})
		s.joins(2, n1Key, n1Boot+1)
		if s.node.Epoch() != 2 {
			t.Fatal("the new boot costs an epoch")
		}
		s.until(at - 2000)
		s.asks(2, n1Key, n1Boot+1) // as it has since it joined
		s.until(at)
		s.asks(2, n1Key, n1Boot+1)
		return s.count(wire.KindLeaseAck) > 0
	}, from}.test(t)
}
