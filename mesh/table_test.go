package mesh_test

import (
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/record"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// tableOf sums up the records in frames, which are in the order of their objects.
func tableOf(t *testing.T, ms ...*wire.Record) wire.Table {
	t.Helper()
	var sum record.Sum
	for _, m := range ms {
		r, err := record.Of(m)
		if err != nil {
			t.Fatal(err)
		}
		sum.Add(m.Object, r)
	}
	return sum.Table()
}

// row is a record of an object as the authority sends it out of its table.
func row(object string, epoch id.Epoch, version uint64, value string) *wire.Record {
	m := madeBy(object, rootID, rootBoot, epoch, version, value)
	m.Mode = wire.State
	return m
}

// published is the word that a version of epoch 2 has been acknowledged.
func published(object string, version uint64) *wire.Published {
	return &wire.Published{Rows: []wire.PublishedRow{
		{Object: id.ObjectOf(object), Epoch: 2, Version: version}}}
}

// readsCopy returns what the node answers to a read that any copy may answer.
func (s *solo) readsCopy(object string, seq uint64) wire.RouteRep {
	s.replicates(object, seq, func(q *mesh.Request) {
		q.Op, q.Class, q.Durability, q.Value = wire.Stat, wire.StaleOK, wire.None, nil
	})
	rep, _ := s.answerTo(seq)
	return rep
}

// TestAViewIsInstalledByWhoHoldsItsTable: a member asks for what it lacks, then for everything, and
// acknowledges the view when it holds the table, not before.
func TestAViewIsInstalledByWhoHoldsItsTable(t *testing.T) {
	s := newMember(t, nil)
	o := s.homedAt(rootID, 0)
	mine, theirs := madeBy(o, rootID, rootBoot, 2, 7, "mine"), row(o, 2, 5, "theirs")
	s.gets(1, 2, mine)
	latest[*wire.RecordAck](s)
	offer := viewFrame(pairView(3, true), rootKey)
	offer.Table = tableOf(t, theirs)
	s.clear()
	s.gets(1, 3, offer)
	if q := latest[*wire.ViewReq](s); q.All || s.node.Epoch() != 2 || s.node.Status(s.now).Mutable {
		t.Errorf("all %v, epoch %d, mutable %v", q.All, s.node.Epoch(), s.node.Status(s.now).Mutable)
	}
	// What it had is replaced, although it is newer: the table is what counts.
	s.gets(1, 3, theirs)
	latest[*wire.RecordAck](s)
	if s.count(wire.KindViewAck) != 0 {
		t.Error("acknowledged before it was offered again")
	}
	wrong := *offer
	wrong.Table.Digest[0]++
	s.gets(1, 3, &wrong)
	if q := latest[*wire.ViewReq](s); !q.All || s.node.Version(id.ObjectOf(o)) != 0 {
		t.Errorf("after a whole transfer: all %v, version %d", q.All, s.node.Version(id.ObjectOf(o)))
	}
	s.gets(1, 3, theirs)
	s.gets(1, 3, offer)
	if s.node.Epoch() != 3 || latest[*wire.ViewAck](s).Epoch != 3 ||
		s.node.Version(id.ObjectOf(o)) != 5 {
		t.Errorf("epoch %d, version %d", s.node.Epoch(), s.node.Version(id.ObjectOf(o)))
	}
}

// TestAMemberThatHasMissedAViewKeepsOnlyWhatItIsToldToKeep: the local commit of an object that it
// stays the home of by its own knowledge alone is replaced by the table.
func TestAMemberThatHasMissedAViewKeepsOnlyWhatItIsToldToKeep(t *testing.T) {
	for _, kept := range []bool{true, false} {
		s := newMember(t, nil)
		o := s.homedAt(n1ID, 0)
		s.replicates(o, 1, func(q *mesh.Request) { q.Durability = wire.Local })
		if rep, _ := s.answerTo(1); rep.Word != refusal.OK || rep.Durability != wire.Local {
			t.Fatalf("%+v", rep)
		}
		theirs := row(o, 3, 4, "theirs")
		offer := viewFrame(pairView(4, true), rootKey) // epoch 3 was without n1
		if kept {
			offer.Kept = []id.Object{id.ObjectOf(o)}
		} else {
			offer.Table = tableOf(t, theirs)
		}
		s.gets(1, 4, offer)
		want := uint64(1)
		if !kept {
			want = 4
			// It has a local commit of what it does not keep: that is offered first.
			handed := latest[*wire.Record](s)
			if handed.Mode != wire.HandOver || handed.Version != 1 {
				t.Fatalf("%+v", handed)
			}
			r, _ := record.Of(handed)
			s.gets(1, 4, &wire.RecordRefuse{Ack: wire.RecordAck{Epoch: 4, AuthorityBoot: rootBoot,
				Object: handed.Object, Digest: r.Digest, Node: rootID, Boot: rootBoot},
				Word: refusal.NotHome})
			latest[*wire.ViewReq](s)
			s.gets(1, 4, theirs)
			s.gets(1, 4, offer)
		}
		if s.node.Epoch() != 4 || s.node.Version(id.ObjectOf(o)) != want {
			t.Errorf("kept %v: epoch %d, version %d, want %d", kept, s.node.Epoch(),
				s.node.Version(id.ObjectOf(o)), want)
		}
	}
}

// TestNothingIsPublishedUnderAnEpochThatIsOver: the acknowledgement of a member's commit comes
// after the offer of a newer view.
func TestNothingIsPublishedUnderAnEpochThatIsOver(t *testing.T) {
	s := newMember(t, nil)
	o := s.homedAt(n1ID, 0)
	s.replicates(o, 1, nil)
	m := latest[*wire.Record](s)
	offer := viewFrame(pairView(3, true), rootKey)
	offer.Table = tableOf(t, row(s.homedAt(rootID, 0), 2, 5, "what this member lacks"))
	s.gets(1, 3, offer)
	s.gets(1, 2, ackFor(m, 2, rootID, rootBoot))
	if _, answered := s.answerTo(1); answered {
		t.Error("published")
	}
}

// TestACommitUnderWayIsStampedAnewInTheNextView, where its home is the same: with the same version
// and the new epoch, and an acknowledgement of the old record does not count.
func TestACommitUnderWayIsStampedAnewInTheNextView(t *testing.T) {
	s := newMember(t, nil)
	o := s.homedAt(n1ID, 0)
	s.replicates(o, 1, nil)
	old := latest[*wire.Record](s)
	offer := viewFrame(pairView(3, true), rootKey)
	offer.Kept = []id.Object{id.ObjectOf(o)}
	s.clear()
	s.gets(1, 3, offer)
	m := latest[*wire.Record](s)
	if m.Epoch != 3 || m.Version != old.Version || string(m.Value) != string(old.Value) ||
		m.Request != old.Request {
		t.Fatalf("%+v, was %+v", m, old)
	}
	s.gets(1, 3, ackFor(old, 3, rootID, rootBoot))
	if _, answered := s.answerTo(1); answered {
		t.Fatal("the old record's acknowledgement counts")
	}
	s.gets(1, 3, ackFor(m, 3, rootID, rootBoot))
	if rep, _ := s.answerTo(1); rep.Word != refusal.OK || rep.Version != 1 {
		t.Errorf("%+v", rep)
	}
}

// TestAStaleReadSaysHowOldItIs: from when the last acknowledged LeaseReq was sent, or from when a
// record came that may have been published since.
func TestAStaleReadSaysHowOldItIs(t *testing.T) {
	s := newMember(t, nil)
	o := s.homedAt(rootID, 0)
	s.gets(1, 2, madeBy(o, rootID, rootBoot, 2, 1, "a"))
	s.gets(1, 2, published(o, 1))
	s.now = 500
	if rep := s.readsCopy(o, 1); rep.Version != 1 || string(rep.Value) != "a" || rep.AgeMS != 500 {
		t.Errorf("%+v", rep)
	}
	s.gets(1, 2, madeBy(o, rootID, rootBoot, 2, 2, "b")) // may be published from now on
	s.now = 1_700
	if rep := s.readsCopy(o, 2); rep.Version != 1 || rep.AgeMS != 1_700 {
		t.Errorf("%+v", rep)
	}
	s.tickAt(2_000) // the member asks, and is answered
	s.ack(1, 2)
	s.now = 2_100
	if rep := s.readsCopy(o, 3); rep.Version != 1 || rep.AgeMS != 1_601 { // 1600 and a part
		t.Errorf("with a record in doubt: %+v", rep)
	}
	s.gets(1, 2, published(o, 2))
	if rep := s.readsCopy(o, 4); rep.Version != 2 || rep.AgeMS != 400 { // 1700, when it asked last
		t.Errorf("%+v", rep)
	}
}

// TestAStaleReadKnowsOfAFreezeAlthoughTheSecondClockIsWrong: its counter stood still for 20 s, and
// the second clock has been set back, or did not answer meanwhile.
func TestAStaleReadKnowsOfAFreezeAlthoughTheSecondClockIsWrong(t *testing.T) {
	for _, c := range []struct {
		name         string
		while, after when.Calendar // what the second clock shows then
		word         refusal.Word
		least        uint32 // the age must say so much, in milliseconds
		staged       bool   // a record came before the freeze, and is in doubt
	}{
		{"set back behind the last answer", 1_021, 400, refusal.NotCurrent, 0, false},
		{"set back a little", 1_021, 1_002, refusal.OK, 20_000, false},
		{"silent meanwhile", when.NoSecond, 1_021, refusal.OK, 20_000, false},
		{"silent meanwhile, a record in doubt", when.NoSecond, 1_026, refusal.OK, 26_000, true},
		{"silent now", when.NoSecond, when.NoSecond, refusal.NotCurrent, 0, true},
	} {
		s := newMember(t, func(c *mesh.Config) { c.Both = true })
		o := s.homedAt(rootID, 0)
		s.gets(1, 2, madeBy(o, rootID, rootBoot, 2, 1, "a"))
		s.gets(1, 2, published(o, 1))
		s.second = 1_000
		s.tickAt(2_000) // the member asks, and is answered
		s.ack(1, 2)
		if c.staged {
			s.gets(1, 2, madeBy(o, rootID, rootBoot, 2, 2, "b"))
			for ; s.now < 8_000; s.ack(1, 2) {
				s.second += 2
				s.tickAt(s.now + 2_000)
			}
		}
		s.second = c.while
		s.tickAt(s.now + 100)
		s.second = c.after
		s.tickAt(s.now + 100)
		rep := s.readsCopy(o, 1)
		if rep.Word != c.word || rep.AgeMS < c.least || rep.AgeMS > 2*c.least+1_000 {
			t.Errorf("%s: %+v", c.name, rep)
		}
	}
}

// authorityInDoubt has version 1 of the member's object, and since 0.2 s, when its second clock
// showed 1000, a version 2 of which it does not know whether it was published.
func authorityInDoubt(t *testing.T) (s *solo, object string) {
	c := soloConfig(rootKey, rootBoot)
	c.Both = true
	s = authorityOf(t, c)
	object = s.homedAt(n1ID, 0)
	s.second = 1_000
	s.tickAt(200)
	s.gets(1, 2, madeBy(object, n1ID, n1Boot, 2, 1, "a"))
	s.gets(1, 2, published(object, 1))
	s.gets(1, 2, madeBy(object, n1ID, n1Boot, 2, 2, "b"))
	return s, object
}

// TestAShortFreezeIsInTheAgeOfADoubt: the counter stood still for 1.4 s, which is no pause yet.
func TestAShortFreezeIsInTheAgeOfADoubt(t *testing.T) {
	s, o := authorityInDoubt(t)
	s.second = 1_001
	s.tickAt(300)
	if rep := s.readsCopy(o, 1); rep.Word != refusal.OK || rep.AgeMS < 1_500 || s.has("paused") {
		t.Errorf("%+v", rep)
	}
}

// TestAnAuthorityDoesNotTellTheAgeOfADoubtWithoutItsSecondClock: it may have been frozen since the
// record came.
func TestAnAuthorityDoesNotTellTheAgeOfADoubtWithoutItsSecondClock(t *testing.T) {
	for second, word := range map[when.Calendar]refusal.Word{
		1_000: refusal.OK, when.NoSecond: refusal.NotCurrent} {
		s, o := authorityInDoubt(t)
		s.second = second
		s.tickAt(300)
		if rep := s.readsCopy(o, 1); rep.Word != word {
			t.Errorf("the second clock shows %d: %+v", second, rep)
		}
	}
}

// TestARestartedAuthorityWaitsForAProverThatIsStillSending, for a while: what it would start
// without may have been acknowledged.
func TestARestartedAuthorityWaitsForAProverThatIsStillSending(t *testing.T) {
	boundary{timing.FailMS + 6_000, func(t *testing.T, at when.Instant) bool {
		s := marked(t, mesh.Marks{Signed: 2, Activated: 2})
		s.proves(1, n2Key, 2)
		s.step(mesh.LinkUp{Session: 2, Key: public(n1Key)})
		s.gets(2, 0, &wire.JoinReq{Boot: n1Boot})
		j := signedJoin(n1Key, n1Boot, latest[*wire.Challenge](s))
		j.Certificate = certificate(trioView(2), rootKey)
		sign(j, n1Key)
		s.gets(2, 0, j)
		m := madeBy("lab-0", n1ID, n1Boot, 2, 3, "proof")
		m.Mode = wire.Proof
		s.gets(2, 0, m)
		latest[*wire.RecordAck](s)
		s.gets(2, 0, &wire.JoinReady{Nonce: j.Nonce, Table: wire.Table{Records: 2}}) // one is missing
		s.tickAt(at)
		_, signs := s.wanted()
		return signs
	}, from}.test(t)
}

// TestALocalCommitAtTheAuthorityWaitsUntilEveryMemberHasInstalledTheView: else the table that a
// member is asked to hold could run away from it.
func TestALocalCommitAtTheAuthorityWaitsUntilEveryMemberHasInstalledTheView(t *testing.T) {
	for _, installed := range []bool{false, true} {
		s := authorityWithMember(t)
		s.joins(2, n2Key, n2Boot)
		s.gets(1, 3, &wire.ViewAck{Epoch: 3, Digest: s.node.Digest()})
		if installed {
			s.gets(2, 3, &wire.ViewAck{Epoch: 3, Digest: s.node.Digest()})
		}
		s.replicates(s.homedAt(rootID, 0), 1, func(q *mesh.Request) { q.Durability = wire.Local })
		if rep, answered := s.answerTo(1); answered != installed || rep.Word != refusal.OK {
			t.Errorf("everybody has installed the view: %v; answered: %v, %v", installed, answered,
				rep.Word)
		}
	}
}

// TestAHandOverIsTakenUntilTheFence: from then on the new home may have served.
func TestAHandOverIsTakenUntilTheFence(t *testing.T) {
	boundary{100 + timing.FenceMS, func(t *testing.T, at when.Instant) bool {
		c := soloConfig(rootKey, rootBoot)
		c.LabObject = []string{"lab-3"} // the root's with three nodes too
		s := authorityOf(t, c)
		s.step(mesh.LabStep{Ticket: 1, Number: 2})
		m := latest[*wire.Move](s)
		s.gets(1, 2, &wire.MoveAck{Object: m.Object, MoveEpoch: m.MoveEpoch})
		s.asks(1, n1Key, n1Boot) // it is n1's from here on
		s.joins(2, n2Key, n2Boot)
		s.until(at)
		s.clear()
		local := madeBy("lab-3", n1ID, n1Boot, 2, 1, "a local commit")
		if m.Object != local.Object {
			t.Fatal("another object was moved")
		}
		local.Mode = wire.HandOver
		s.gets(1, 2, local)
		return s.count(wire.KindRecordRefuse) == 1
	}, from}.test(t)
}
