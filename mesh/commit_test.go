package mesh_test

import (
	"crypto/ed25519"
	"fmt"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/record"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

const n2Boot = 0xC2

// trio is an authority whose members n1, on session 1, and n2, on session 2, have installed epoch
// 3.
func trio(t *testing.T) *solo {
	s := authorityWithMember(t)
	s.joins(2, n2Key, n2Boot)
	for session, key := range []ed25519.PrivateKey{1: n1Key, 2: n2Key} {
		if session > 0 {
			s.gets(mesh.Session(session), 3, &wire.ViewAck{Epoch: 3, Digest: s.node.Digest()})
			s.asks(mesh.Session(session), key, map[int]id.Boot{1: n1Boot, 2: n2Boot}[session])
		}
	}
	s.clear()
	return s
}

// homedAt returns the n-th object of the lab that is homed at a node.
func (s *solo) homedAt(node id.Node, n int) string {
	for _, h := range s.node.Homes(s.now) {
		if h.Home != node {
			continue
		}
		if n == 0 {
			return h.Name
		}
		n--
	}
	s.t.Fatalf("no such object at %v", node)
	return ""
}

// replicates has a client commit to an object.
func (s *solo) replicates(object string, seq uint64, change func(*mesh.Request)) {
	epoch := max(1, s.node.Epoch())
	q := mesh.Request{Ticket: mesh.Ticket(seq), Name: object, Op: wire.Commit,
		Class:      wire.Authoritative,
		Durability: wire.Replicated, IfVersion: wire.AnyVersion, Value: []byte{byte(seq)},
		Identity: wire.Request{Client: id.Client{7}, Boot: 1, Seq: seq}}
	q.Capability = request(id.NodeOf(s.config.Key.Public().(ed25519.PublicKey)), object, wire.Commit,
		epoch, seq).Capability
	if change != nil {
		change(&q)
	}
	s.step(q)
}

// answerTo returns the answer to the request with that number.
func (s *solo) answerTo(seq uint64) (wire.RouteRep, bool) {
	for _, a := range s.answers {
		if a.Ticket == mesh.Ticket(seq) {
			return a.Reply, true
		}
	}
	return wire.RouteRep{}, false
}

// ackFor acknowledges a record as a node would.
func ackFor(m *wire.Record, epoch id.Epoch, node id.Node, boot id.Boot) *wire.RecordAck {
	r, err := record.Of(m)
	if err != nil {
		panic(err)
	}
	return &wire.RecordAck{Epoch: epoch, AuthorityBoot: m.AuthorityBoot, Object: m.Object,
		Digest: r.Digest, Node: node, Boot: boot}
}

// madeBy is a record of an object as its home sends it.
func madeBy(object string, home id.Node, boot id.Boot, epoch id.Epoch, version uint64,
	value string) *wire.Record {
	return &wire.Record{Mode: wire.Replicate, Object: id.ObjectOf(object), Home: home, Boot: boot,
		AuthorityBoot: rootBoot, Epoch: epoch, Version: version,
		Request: wire.Request{Client: id.Client{7}, Boot: 1, Seq: version}, Value: []byte(value)}
}

// TestACommitIsAnsweredWhenEveryOtherMemberHoldsIt goes through acknowledgements that are not
// enough, and one by one through everything in which the last one must match.
func TestACommitIsAnsweredWhenEveryOtherMemberHoldsIt(t *testing.T) {
	for name, change := range map[string]func(*wire.RecordAck){
		"another epoch":          func(a *wire.RecordAck) { a.Epoch = 2 },
		"no epoch":               func(a *wire.RecordAck) { a.Epoch = 0 },
		"another authority boot": func(a *wire.RecordAck) { a.AuthorityBoot++ },
		"another record":         func(a *wire.RecordAck) { a.Digest[0]++ },
		"another object":         func(a *wire.RecordAck) { a.Object[0]++ },
		"another boot":           func(a *wire.RecordAck) { a.Boot++ },
		"another node":           func(a *wire.RecordAck) { a.Node = n1ID },
		"the home itself":        func(a *wire.RecordAck) { a.Node, a.Boot = rootID, rootBoot },
	} {
		t.Run(name, func(t *testing.T) {
			s := trio(t)
			s.replicates(s.homedAt(rootID, 0), 1, nil)
			m := latest[*wire.Record](s)
			if s.count(wire.KindRecord) != 2 {
				t.Fatalf("%d records for two others", s.count(wire.KindRecord))
			}
			s.gets(1, 3, ackFor(m, 3, n1ID, n1Boot))
			s.gets(1, 3, ackFor(m, 3, n1ID, n1Boot))
			bad := ackFor(m, 3, n2ID, n2Boot)
			change(bad)
			s.gets(2, 3, bad)
			if _, early := s.answerTo(1); early {
				t.Fatal("answered before everybody holds it")
			}
			s.gets(2, 3, ackFor(m, 3, n2ID, n2Boot))
			rep, ok := s.answerTo(1)
			if !ok || rep.Word != refusal.OK || rep.Copies != 3 || rep.Durability != wire.Replicated ||
				rep.Version != 1 {
				t.Errorf("answered %v: %+v", ok, rep)
			}
		})
	}
}

func TestACommitOfUnknownOutcomeIsAnsweredAtItsDeadlineAndNotDropped(t *testing.T) {
	boundary{3_000, func(t *testing.T, at when.Instant) bool {
		s := trio(t)
		s.now = 100
		o := s.homedAt(rootID, 0)
		s.replicates(o, 1, func(q *mesh.Request) { q.Within = 2_900 })
		m := latest[*wire.Record](s)
		s.gets(1, 3, ackFor(m, 3, n1ID, n1Boot))
		s.tickAt(at)
		rep, answered := s.answerTo(1)
		if answered && rep.Word != refusal.UnknownOutcome {
			t.Errorf("answered with %v", rep.Word)
		}
		// It goes on, and the same request asks for its outcome.
		s.replicates(o, 1, func(q *mesh.Request) { q.Ticket, q.FirstEpoch = 2, 3 })
		s.gets(2, 3, ackFor(m, 3, n2ID, n2Boot))
		if rep, _ := s.answerTo(2); rep.Word != refusal.OK || rep.Version != 1 {
			t.Errorf("asked again: %v, version %d", rep.Word, rep.Version)
		}
		return answered
	}, from}.test(t)
}

func TestCommitsOfOneObjectWaitForEachOtherAndTheQueueIsBounded(t *testing.T) {
	const queue = 16
	s := trio(t)
	s.step(mesh.LinkUp{Session: 3, Key: public(n1Key)}) // requests of a member: operations are few
	s.gets(3, 0, &wire.JoinReq{Boot: n1Boot})
	o := s.homedAt(rootID, 0)
	for seq := range uint64(queue + 2) {
		q := request(n1ID, o, wire.Commit, 3, seq+1)
		q.Durability = wire.Replicated
		s.gets(3, 3, q)
	}
	if rep := latest[*wire.RouteRep](s); rep.Word != refusal.Full || rep.Request.Seq != queue+2 {
		t.Errorf("request %d is answered with %v", rep.Request.Seq, rep.Word)
	}
	if n := s.count(wire.KindRouteRep); n != 1 {
		t.Errorf("%d answers, want one refusal", n)
	}
	for version := uint64(1); version <= queue+1; version++ {
		m := latest[*wire.Record](s)
		if m.Version != version {
			t.Fatalf("version %d is on its way, want %d", m.Version, version)
		}
		s.gets(1, 3, ackFor(m, 3, n1ID, n1Boot))
		s.gets(2, 3, ackFor(m, 3, n2ID, n2Boot))
		if rep := latest[*wire.RouteRep](s); rep.Word != refusal.OK || rep.Request.Seq != version {
			t.Fatalf("request %d is answered with %v", rep.Request.Seq, rep.Word)
		}
	}
}

func TestALinkCarriesEightUnansweredRecords(t *testing.T) {
	s := authorityWithMember(t)
	for seq := range uint64(9) {
		s.replicates(fmt.Sprintf("new-%d", namesHomedAt(s, rootID)[seq]), seq+1, nil)
	}
	if n := s.count(wire.KindRecord); n != 8 {
		t.Fatalf("%d records without an answer", n)
	}
	first := s.sent[0].message.(*wire.Record)
	s.gets(1, 2, ackFor(first, 2, n1ID, n1Boot))
	s.tickAt(1_200) // the ninth is sent again, and now there is room
	if n := s.count(wire.KindRecord); n != 9 {
		t.Errorf("%d records after one answer, want 9", n)
	}
}

// namesHomedAt are numbers of objects new-N that a node is the home of.
func namesHomedAt(s *solo, node id.Node) (all []int) {
	for i := range 64 {
		if mesh.Inspect(s.node).HomesHere(id.ObjectOf(fmt.Sprintf("new-%d", i))) ==
			(node == id.NodeOf(s.config.Key.Public().(ed25519.PublicKey))) {
			all = append(all, i)
		}
	}
	return all
}

func TestOneObjectTooManyIsRefused(t *testing.T) {
	s := newSolo(t, soloConfig(rootKey, rootBoot))
	for i := range uint64(mesh.ObjectsMax - len(labNames) + 1) {
		s.replicates(fmt.Sprintf("new-%d", i), i+1, nil)
		want := refusal.OK
		if i == uint64(mesh.ObjectsMax-len(labNames)) {
			want = refusal.Full
		}
		if rep, ok := s.answerTo(i + 1); !ok || rep.Word != want {
			t.Fatalf("object %d: %v %v", i+len64(labNames)+1, ok, rep.Word)
		}
	}
}

func len64(s []string) uint64 { return uint64(len(s)) }

func TestAskingForMoreCopiesThanThereAreMembersIsRefused(t *testing.T) {
	for copies, want := range map[uint8]refusal.Word{
		0: refusal.OK, 1: refusal.OK, 2: refusal.OK, 3: refusal.NotCurrent, 5: refusal.NotCurrent,
	} {
		s := authorityWithMember(t)
		s.replicates(s.homedAt(rootID, 0), 1, func(q *mesh.Request) { q.Copies = copies })
		if s.count(wire.KindRecord) > 0 {
			s.gets(1, 2, ackFor(latest[*wire.Record](s), 2, n1ID, n1Boot))
		}
		if rep, _ := s.answerTo(1); rep.Word != want {
			t.Errorf("%d copies of two members: %v, want %v", copies, rep.Word, want)
		}
	}
}

// TestWhatTheAuthorityStoresOfAMembersCommit is the table of a backup (protocol.md, "Replicated
// commit", step 3).
func TestWhatTheAuthorityStoresOfAMembersCommit(t *testing.T) {
	s := authorityWithMember(t)
	own, other := s.homedAt(n1ID, 0), s.homedAt(rootID, 0)
	record := func(object string, version uint64, value string,
		change func(*wire.Record)) *wire.Record {
		m := madeBy(object, n1ID, n1Boot, 2, version, value)
		if change != nil {
			change(m)
		}
		return m
	}
	for _, test := range []struct {
		name  string
		m     *wire.Record
		epoch id.Epoch
		want  refusal.Word
	}{
		{"the first", record(own, 3, "a", nil), 2, refusal.OK},
		{"the same again", record(own, 3, "a", nil), 2, refusal.OK},
		{"another of the same version", record(own, 3, "b", nil), 2, refusal.Conflict},
		{"an older one", record(own, 2, "a", nil), 2, refusal.Conflict},
		{"a newer one, with a gap", record(own, 9, "c", nil), 2, refusal.OK},
		{"an object of another home", record(other, 1, "a", nil), 2, refusal.NotHome},
		{"under an old epoch", record(own, 10, "a", nil), 1, refusal.StaleEpoch},
		{"stamped with an old epoch", record(own, 10, "a",
			func(m *wire.Record) { m.Epoch = 1 }), 2, refusal.StaleEpoch},
		{"stamped with one to come", record(own, 10, "a",
			func(m *wire.Record) { m.Epoch = 3 }), 2, refusal.StaleEpoch},
		{"for another boot of the authority", record(own, 10, "a",
			func(m *wire.Record) { m.AuthorityBoot++ }), 2, refusal.StaleEpoch},
		{"in another's name", record(own, 10, "a",
			func(m *wire.Record) { m.Home = n2ID }), 2, refusal.StaleEpoch},
		{"of another boot", record(own, 10, "a",
			func(m *wire.Record) { m.Boot++ }), 2, refusal.StaleEpoch},
		{"handed over though nothing was lost", record(own, 10, "a",
			func(m *wire.Record) { m.Mode = wire.HandOver }), 2, refusal.NotHome},
		{"as proof though nobody asked", record(own, 10, "a",
			func(m *wire.Record) { m.Mode = wire.Proof }), 2, refusal.NotCurrent},
		{"as a row of a table", record(own, 10, "a",
			func(m *wire.Record) { m.Mode = wire.State }), 2, refusal.StaleEpoch},
	} {
		s.clear()
		s.gets(1, test.epoch, test.m)
		got := refusal.OK
		if s.count(wire.KindRecordAck) == 0 {
			got = latest[*wire.RecordRefuse](s).Word
		}
		if got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		if n := s.count(wire.KindRecordAck) + s.count(wire.KindRecordRefuse); n != 1 {
			t.Errorf("%s: answered %d times", test.name, n)
		}
		if test.want == refusal.Conflict {
			if no := latest[*wire.RecordRefuse](s); no.HeldEpoch != 2 || no.HeldVersion != 3 {
				t.Errorf("%s: holds %d of %d", test.name, no.HeldVersion, no.HeldEpoch)
			}
		}
	}
	garbled := record(own, 11, "a", func(m *wire.Record) { m.Window = []byte{9} })
	s.clear()
	if s.gets(1, 2, garbled); !did[mesh.Close](s) {
		t.Error("a window that no node encodes does not end the session")
	}
}

func TestNothingIsStoredForAMemberThatIsConvicted(t *testing.T) {
	c := soloConfig(rootKey, rootBoot)
	c.Marks = &mesh.Marks{NeverRan: true}
	s := newSolo(t, c)
	persisted := func() {
		for range 2 { // signed, activated
			s.step(mesh.Persisted{})
		}
	}
	persisted()
	s.asksToJoin(1, n1Key, n1Boot)
	s.gets(1, 0, &wire.JoinReady{Nonce: latest[*wire.JoinState](s).Nonce})
	s.step(mesh.Persisted{})
	s.gets(1, 2, &wire.ViewAck{Epoch: 2, Digest: s.node.Digest()})
	o := s.homedAt(n1ID, 0)
	s.clear()
	s.gets(1, 2, madeBy(o, n1ID, n1Boot, 2, 1, "a"))
	if w := latest[*wire.RecordRefuse](s).Word; w != refusal.NotCurrent {
		t.Errorf("before its epoch is durable as activated: %v", w)
	}
	s.step(mesh.Persisted{})
	s.clear()
	s.gets(1, 2, madeBy(o, n1ID, n1Boot, 2, 1, "a"))
	latest[*wire.RecordAck](s)
	s.step(mesh.LinkDown{Session: 1})
	s.tickAt(timing.FailMS + 1_000) // convicted: the marks of the next view are being written
	if !s.has("mesh-fail: failed") || s.node.Epoch() != 2 {
		t.Fatal("not between the verdict and the next view")
	}
	s.step(mesh.LinkUp{Session: 2, Key: public(n1Key)})
	s.gets(2, 2, s.leaseReq(n1Key, n1Boot, 5))
	s.clear()
	s.gets(2, 2, madeBy(o, n1ID, n1Boot, 2, 2, "b"))
	w := latest[*wire.RecordRefuse](s).Word
	if w != refusal.NotCurrent || s.node.Version(id.ObjectOf(o)) > 1 {
		t.Errorf("after the verdict: %v", w)
	}
}

func TestAMemberThatLeavesARecordUnansweredGetsNoLeaseFromTheSuspicionTimeOn(t *testing.T) {
	boundary{200 + timing.SuspectMS, func(t *testing.T, at when.Instant) bool {
		s := authorityWithMember(t)
		s.now = 200
		s.replicates(s.homedAt(rootID, 0), 1, nil)
		s.until(at)
		s.clear()
		s.node.SetEchoed(n1ID, s.now)
		s.asks(1, n1Key, n1Boot)
		return s.count(wire.KindLeaseAck) == 0
	}, from}.test(t)
}

// TestARequestKeepsHalfASecondForEachHop: whoever passes a request on leaves less time for it.
func TestARequestKeepsHalfASecondForEachHop(t *testing.T) {
	s := newMember(t, nil)
	o := s.homedAt(rootID, 0)
	s.replicates(o, 1, func(q *mesh.Request) { q.Within = 10_000 })
	if q := latest[*wire.RouteReq](s); q.Within != 9_500 {
		t.Errorf("%d ms are left for the home", q.Within)
	}
	a := trio(t)
	inner := wire.Append(nil, 3, latest[*wire.RouteReq](s))[wire.PrefixSize:]
	a.gets(1, 3, &wire.Forward{From: n1ID, To: n2ID, Frame: inner})
	f := latest[*wire.Forward](a)
	_, m, err := wire.Parse(f.Frame)
	if err != nil || m.(*wire.RouteReq).Within != 9_000 {
		t.Errorf("%v, %+v", err, m)
	}
}

// TestWhatIsForwarded: for members of the view, in the sender's own name, and requests only.
func TestWhatIsForwarded(t *testing.T) {
	inner := wire.Append(nil, 3, request(n1ID, "lab-0", wire.Stat, 3, 1))[wire.PrefixSize:]
	for name, test := range map[string]struct {
		m       wire.Forward
		epoch   id.Epoch
		passed  bool
		refused bool
	}{
		"a request":         {wire.Forward{From: n1ID, To: n2ID, Frame: inner}, 3, true, false},
		"in another's name": {wire.Forward{From: n2ID, To: n1ID, Frame: inner}, 3, false, false},
		"of an old epoch":   {wire.Forward{From: n1ID, To: n2ID, Frame: inner}, 2, false, false},
		"for nobody in the view": {wire.Forward{From: n1ID, To: id.Node{1}, Frame: inner}, 3, false,
			true},
		"for the authority itself": {wire.Forward{From: n1ID, To: rootID, Frame: inner}, 3, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := trio(t)
			s.gets(1, test.epoch, &test.m)
			if passed := s.count(wire.KindForward) == 1; passed != test.passed {
				t.Errorf("passed on: %v", passed)
			}
			refused := false
			for _, f := range s.sent {
				rep, ok := f.message.(*wire.RouteRep)
				refused = refused || ok && rep.Word == refusal.NoRoute
			}
			if refused != test.refused {
				t.Errorf("refused: %v", refused)
			}
		})
	}
}

// TestCommitsThatWaitedAreMadeOneByOne has a local commit and a replicated one wait for a commit:
// while the local one is between its two checks, nothing else of its object begins.
func TestCommitsThatWaitedAreMadeOneByOne(t *testing.T) {
	for name, order := range map[string][]wire.Durability{
		"local first":  {wire.Replicated, wire.Local, wire.Replicated, wire.Local, wire.Local},
		"local behind": {wire.Replicated, wire.Replicated, wire.Local},
	} {
		t.Run(name, func(t *testing.T) {
			s := trio(t)
			o := s.homedAt(rootID, 0)
			for i, d := range order {
				s.replicates(o, uint64(i+1), func(q *mesh.Request) { q.Durability = d })
			}
			for i, d := range order {
				if d == wire.Replicated {
					m := latest[*wire.Record](s)
					if m.Version != uint64(i+1) || m.Value[0] != byte(i+1) {
						t.Fatalf("version %d is on its way with %v", m.Version, m.Value)
					}
					s.gets(1, 3, ackFor(m, 3, n1ID, n1Boot))
					s.gets(2, 3, ackFor(m, 3, n2ID, n2Boot))
				}
				rep, _ := s.answerTo(uint64(i + 1))
				if rep.Word != refusal.OK || rep.Version != uint64(i+1) || rep.Durability != d {
					t.Errorf("commit %d is answered with %v: version %d, %v", i+1, rep.Word, rep.Version,
						rep.Durability)
				}
			}
		})
	}
}

// TestACommitWaitsForOneBetweenItsTwoChecks goes on after the second check, whatever that says, and
// after one that never came.
func TestACommitWaitsForOneBetweenItsTwoChecks(t *testing.T) {
	for name, c := range map[string]struct {
		ends    func(s *solo)
		version uint64 // of the one that waited
	}{
		"published": {func(s *solo) { s.step(mesh.Rechecked{Ticket: 1}) }, 3},
		"refused": {func(s *solo) {
			s.now = s.now.Add(timing.PauseMS + 1) // the node was stopped
			s.step(mesh.Rechecked{Ticket: 1})
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := trio(t)
			o := s.homedAt(rootID, 0)
			s.replicates(o, 1, nil)
			m := latest[*wire.Record](s)
			s.gets(1, 3, ackFor(m, 3, n1ID, n1Boot))
			s.gets(2, 3, ackFor(m, 3, n2ID, n2Boot))
			s.held = true
			s.replicates(o, 2, func(q *mesh.Request) { q.Durability = wire.Local })
			s.clear()
			s.replicates(o, 3, nil)
			if n := s.count(wire.KindRecord); n != 0 {
				t.Fatalf("%d records are on their way beside it", n)
			}
			c.ends(s)
			if m := latest[*wire.Record](s); m.Version != c.version || m.Value[0] != 3 {
				t.Errorf("then version %d is on its way with %v", m.Version, m.Value)
			}
		})
	}
}
