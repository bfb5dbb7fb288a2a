package mesh_test

import (
	"crypto/ed25519"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/record"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// A commit that is answered as replicated is held by every member of the view, and an
// acknowledgement of the authority is what makes it outlast its home (protocol.md, "Replicated
// commit").

// recordOf is the first version of an object as a home sends it.
func recordOf(object string, home id.Node, boot id.Boot, epoch id.Epoch,
	value string) *wire.Record {
	q := request(home, object, wire.Commit, epoch, 1)
	r := record.Record{Epoch: epoch, Version: 1, Request: q.Request, RequestDigest: q.Digest(),
		Value: []byte(value)}
	return r.Message(wire.Record{Mode: wire.Replicate, Object: q.Object, Home: home, Boot: boot,
		AuthorityBoot: rootBoot})
}

// digestOf is what an acknowledgement of a record names.
func digestOf(t *testing.T, m *wire.Record) id.Digest {
	t.Helper()
	r, err := record.Of(m)
	if err != nil {
		t.Fatal(err)
	}
	return r.Digest
}

// stores hands in a record and returns the word that it is answered with.
func (s *solo) stores(epoch id.Epoch, m *wire.Record) refusal.Word {
	s.t.Helper()
	s.clear()
	s.gets(1, epoch, m)
	if s.count(wire.KindRecordAck) > 0 {
		return refusal.OK
	}
	return latest[*wire.RecordRefuse](s).Word
}

func TestTheAuthorityStoresWhatComesFromTheHome(t *testing.T) {
	for name, c := range map[string]struct {
		epoch id.Epoch
		m     *wire.Record
		want  refusal.Word
	}{
		"from the home":           {2, recordOf("lab-0", n1ID, n1Boot, 2, "a"), refusal.OK},
		"of another one's object": {2, recordOf("lab-1", n1ID, n1Boot, 2, "a"), refusal.NotHome},
		"of another boot":         {2, recordOf("lab-0", n1ID, n1Boot+1, 2, "a"), refusal.StaleEpoch},
		"of an earlier epoch":     {2, recordOf("lab-0", n1ID, n1Boot, 1, "a"), refusal.StaleEpoch},
	} {
		t.Run(name, func(t *testing.T) {
			if w := authorityWithMember(t).stores(c.epoch, c.m); w != c.want {
				t.Errorf("answered with %v, want %v", w, c.want)
			}
		})
	}
}

func TestAVersionIsStoredOnce(t *testing.T) {
	s := authorityWithMember(t)
	for i, c := range []struct {
		value string
		want  refusal.Word
	}{{"a", refusal.OK}, {"b", refusal.Conflict}, {"a", refusal.OK}} {
		if w := s.stores(2, recordOf("lab-0", n1ID, n1Boot, 2, c.value)); w != c.want {
			t.Errorf("record %d is answered with %v, want %v", i, w, c.want)
		}
	}
}

// markedPair is an authority with marks and n1, whose view is activated if the test says so.
func markedPair(t *testing.T, activated bool) *solo {
	s := marked(t, mesh.Marks{NeverRan: true})
	s.durable()
	s.durable()
	s.asksToJoin(1, n1Key, n1Boot)
	s.gets(1, 0, &wire.JoinReady{Nonce: latest[*wire.JoinState](s).Nonce})
	s.durable()
	if activated {
		s.durable()
	}
	s.gets(1, 2, &wire.ViewAck{Epoch: 2, Digest: s.node.Digest()})
	return s
}

func TestARecordIsAcknowledgedUnderAnActivatedEpochOnly(t *testing.T) {
	for activated, want := range map[bool]refusal.Word{
		false: refusal.NotCurrent, true: refusal.OK,
	} {
		s := markedPair(t, activated)
		if w := s.stores(2, recordOf("lab-0", n1ID, n1Boot, 2, "a")); w != want {
			t.Errorf("activated %v: answered with %v", activated, w)
		}
	}
}

func TestARecordOfAConvictedMemberIsNotAcknowledged(t *testing.T) {
	s := markedPair(t, true)
	s.tickAt(timing.FailMS)
	s.step(mesh.Drained{Session: 1})
	if !s.has("mesh-fail: failed") || s.node.Epoch() != 2 {
		t.Fatal("the member is not convicted, or removed already")
	}
	if w := s.stores(2, recordOf("lab-0", n1ID, n1Boot, 2, "a")); w != refusal.NotCurrent {
		t.Errorf("answered with %v", w)
	}
}

func replicated(holder id.Node, object string, epoch id.Epoch) *wire.RouteReq {
	q := request(holder, object, wire.Commit, epoch, 1)
	q.Durability = wire.Replicated
	return q
}

func TestAMemberThatLeavesARecordUnansweredGetsNoLease(t *testing.T) {
	boundary{100 + timing.SuspectMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.gets(1, 2, replicated(n1ID, "lab-1", 2))
		latest[*wire.Record](s)
		s.until(at)
		s.node.SetEchoed(n1ID, s.now)
		s.asks(1, n1Key, n1Boot)
		return s.count(wire.KindLeaseAck) > 0
	}, [3]bool{true, false, false}}.test(t)
}

func TestAHomeCountsTheAcknowledgementOfItsRecordOnly(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*wire.RecordAck)
		offer  bool // the next view is offered first
		want   bool
	}{
		"as it should be":  {func(*wire.RecordAck) {}, false, true},
		"another record":   {func(m *wire.RecordAck) { m.Digest[0]++ }, false, false},
		"another boot":     {func(m *wire.RecordAck) { m.Boot++ }, false, false},
		"another epoch":    {func(m *wire.RecordAck) { m.Epoch++ }, false, false},
		"another history":  {func(m *wire.RecordAck) { m.AuthorityBoot++ }, false, false},
		"behind an offer":  {func(*wire.RecordAck) {}, true, false},
		"its own":          {func(m *wire.RecordAck) { m.Node, m.Boot = n1ID, n1Boot }, false, false},
		"of a third party": {func(m *wire.RecordAck) { m.Node = n2ID }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMember(t, nil)
			s.gets(1, 2, replicated(rootID, "lab-0", 2))
			m := latest[*wire.Record](s)
			if c.offer { // of a table that this node does not hold
				s.gets(1, 3, &wire.View{Certificate: certificate(pairView(3, true), rootKey),
					Table: wire.Table{Records: 1}})
			}
			s.clear()
			ack := &wire.RecordAck{Epoch: 2, AuthorityBoot: rootBoot, Object: m.Object,
				Digest: digestOf(t, m), Node: rootID, Boot: rootBoot}
			c.change(ack)
			s.gets(1, ack.Epoch, ack)
			if got := s.node.Version(m.Object) > 0; got != c.want {
				t.Errorf("published: %v, want %v", got, c.want)
			}
			if got := s.count(wire.KindRouteRep) > 0; got != c.want {
				t.Errorf("answered: %v, want %v", got, c.want)
			}
		})
	}
}

// TestABootThatTheViewDoesNotKnowCountsWhereBootsAreNoPartOfIt: a node that has booted again in an
// epoch without a detector is another boot than the others' certificates say, and their commits
// would wait for it for ever.
func TestABootThatTheViewDoesNotKnowCountsWhereBootsAreNoPartOfIt(t *testing.T) {
	for _, detect := range []bool{false, true} {
		v := viewOf(2, detect, map[*ed25519.PrivateKey]id.Boot{&rootKey: rootBoot, &n1Key: n1Boot,
			&n2Key: n2Boot})
		c := soloConfig(n1Key, n1Boot)
		c.Detect = detect
		s := newSolo(t, c)
		s.step(mesh.LinkUp{Session: 1, Key: public(rootKey)})
		s.confirm(1, v)
		s.ack(1, 2)
		s.replicates(s.homedAt(n1ID, 0), 1, nil)
		m := latest[*wire.Record](s)
		s.gets(1, 2, ackFor(m, 2, rootID, rootBoot))
		s.gets(1, 2, ackFor(m, 2, n2ID, n2Boot+1))
		if _, answered := s.answerTo(1); answered == detect {
			t.Errorf("boots count: %v; answered: %v", detect, answered)
		}
		s.clear()
		s.gets(1, 2, madeBy(s.homedAt(n2ID, 0), n2ID, n2Boot+1, 2, 1, "x"))
		if stored := s.count(wire.KindRecordAck) > 0; stored == detect {
			t.Errorf("boots count: %v; stored: %v", detect, stored)
		}
	}
}

// TestWhatWasAcknowledgedIsNotOwedAgain: a question for all records is late, on a session that the
// member has left, and what is sent there is never acknowledged.
func TestWhatWasAcknowledgedIsNotOwedAgain(t *testing.T) {
	s := authorityWithMember(t)
	s.replicates(s.homedAt(rootID, 0), 1, nil)
	m := latest[*wire.Record](s)
	s.gets(1, 2, ackFor(m, 2, n1ID, n1Boot))
	s.gets(1, 2, &wire.ViewReq{All: true})
	if s.count(wire.KindRecord) != 2 {
		t.Fatal("the record is not sent again")
	}
	for range 4 {
		s.until(s.now.Add(2_000))
		s.clear()
		s.node.SetEchoed(n1ID, s.now)
		s.asks(1, n1Key, n1Boot)
		if s.count(wire.KindLeaseAck) != 1 {
			t.Errorf("at %d ms the member gets no lease", s.now)
		}
	}
}
