package mesh_test

import (
	"crypto/ed25519"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/replay"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

func TestAMemberThatLeavesAMoveUnansweredGetsNoLease(t *testing.T) {
	boundary{100 + timing.SuspectMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.step(mesh.LabStep{Ticket: 1, Number: 2})
		latest[*wire.Move](s)
		s.until(at)
		s.node.SetEchoed(n1ID, s.now)
		s.asks(1, n1Key, n1Boot)
		return s.count(wire.KindLeaseAck) > 0
	}, [3]bool{true, false, false}}.test(t)
}

func TestAMoveIsOverWhenEveryMemberKnows(t *testing.T) {
	s := authorityWithMember(t)
	s.joins(2, n2Key, n1Boot)
	keys := map[mesh.Session]ed25519.PrivateKey{1: n1Key, 2: n2Key}
	for session := range keys {
		s.gets(session, 3, &wire.ViewAck{Epoch: 3, Digest: s.node.Digest()})
	}
	s.step(mesh.LabStep{Ticket: 1, Number: 2})
	m := latest[*wire.Move](s)
	to, other := mesh.Session(1), mesh.Session(2)
	if m.To != n1ID {
		to, other = 2, 1
	}
	for _, everybody := range []bool{false, true} {
		session := to
		if everybody {
			session = other
		}
		s.gets(session, 3, &wire.MoveAck{Object: m.Object, MoveEpoch: m.MoveEpoch})
		s.clear()
		s.asks(to, keys[to], n1Boot)
		if moved := latest[*wire.LeaseAck](s).Moved; (moved == m.MoveEpoch) != everybody {
			t.Errorf("everybody knows: %v, the LeaseAck names the move %d", everybody, moved)
		}
	}
}

var n2ID = id.NodeOf(public(n2Key))

// aMove is of an object of the authority's to n1, in epoch 2.
func aMove(change func(*wire.Move), key ed25519.PrivateKey) *wire.Move {
	m := &wire.Move{Object: id.ObjectOf("lab-1"), From: rootID, To: n1ID, Epoch: 2, MoveEpoch: 3,
		Since: 1, RecordEpoch: 1, Version: 5, Value: []byte("v")}
	if change != nil {
		change(m)
	}
	copy(m.Signature[:], ed25519.Sign(key, wire.SignedMove(m)))
	return m
}

func TestAMoveIsTakenOnlyAsTheAuthorityMadeIt(t *testing.T) {
	for name, c := range map[string]struct {
		epoch id.Epoch
		move  *wire.Move
		taken bool
	}{
		"as it is":            {2, aMove(nil, rootKey), true},
		"of an earlier epoch": {1, aMove(func(m *wire.Move) { m.Epoch = 1 }, rootKey), false},
		"of an epoch to come": {4, aMove(func(m *wire.Move) { m.Epoch, m.MoveEpoch = 4, 5 }, rootKey),
			false},
		"from another node":       {2, aMove(func(m *wire.Move) { m.From = n2ID }, rootKey), false},
		"signed by somebody else": {2, aMove(nil, keyOf("stranger")), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMember(t, nil)
			s.gets(1, c.epoch, c.move)
			if got := s.count(wire.KindMoveAck) > 0; got != c.taken {
				t.Errorf("taken: %v", got)
			}
		})
	}
}

// TestAMovedObjectIsServedFromTheWordOfALeaseAckOn says also that what was executed at the former
// home is not executed again at the new one.
func TestAMovedObjectIsServedFromTheWordOfALeaseAckOn(t *testing.T) {
	var w replay.Window
	done := request(rootID, "lab-1", wire.Commit, 2, 9)
	w.Remember(done, replay.Reply{Version: 5, Durability: wire.Local, Copies: 1})
	s := newMember(t, nil)
	s.gets(1, 2, aMove(func(m *wire.Move) { m.Window = w.Append(nil) }, rootKey))
	s.gets(1, 2, done)
	if w := latest[*wire.RouteRep](s).Word; w != refusal.NotHome {
		t.Errorf("before everybody knows it answers %v", w)
	}
	q := latest[*wire.LeaseReq](s)
	s.gets(1, 2, &wire.LeaseAck{Incarnation: q.Incarnation, Digest: q.Digest,
		AuthorityBoot: q.AuthorityBoot, Nonce: q.Nonce, Moved: 3})
	if !latest[*wire.MoveAck](s).Active {
		t.Fatal("it does not say that it is the home")
	}
	s.gets(1, 2, done)
	if r := latest[*wire.RouteRep](s); r.Word != refusal.OK || r.Version != 5 {
		t.Errorf("a request of before the move is answered with %v, version %d", r.Word, r.Version)
	}
	s.gets(1, 2, request(rootID, "lab-1", wire.Commit, 2, 10))
	if r := latest[*wire.RouteRep](s); r.Word != refusal.OK || r.Version != 6 {
		t.Errorf("a new request is answered with %v, version %d", r.Word, r.Version)
	}
}
