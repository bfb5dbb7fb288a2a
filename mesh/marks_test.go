package mesh_test

import (
	"crypto/ed25519"
	"reflect"
	"slices"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// The test is the NVRAM here: it says when marks are durable (rules L7, L8).

// marked is an authority that has been started with these marks.
func marked(t *testing.T, m mesh.Marks) *solo {
	c := soloConfig(rootKey, rootBoot)
	c.Marks = &m
	return newSolo(t, c)
}

// durable tells the authority that its marks are, and returns what it had asked for.
func (s *solo) durable() mesh.Marks {
	s.t.Helper()
	m, ok := s.wanted()
	if !ok {
		s.t.Fatal("no marks are to be saved")
	}
	s.clear()
	s.step(mesh.Persisted{})
	return m
}

// wanted are the marks that are to be saved, if there are any.
func (s *solo) wanted() (mesh.Marks, bool) {
	for _, e := range s.others {
		if p, ok := e.(mesh.Persist); ok {
			return p.Marks, true
		}
	}
	return mesh.Marks{}, false
}

// proves plays a join with a certificate of an epoch, of none for 0, by a node without records.
func (s *solo) proves(session mesh.Session, key ed25519.PrivateKey, epoch id.Epoch) {
	s.provesBy(session, key, trioView(epoch))
}

// trioView is the view of the authority, n1 and n2, whose boots have one number.
func trioView(epoch id.Epoch) view.View {
	return viewOf(epoch, true, map[*ed25519.PrivateKey]id.Boot{&rootKey: rootBoot, &n1Key: n1Boot,
		&n2Key: n1Boot})
}

func (s *solo) provesBy(session mesh.Session, key ed25519.PrivateKey, v view.View) {
	s.step(mesh.LinkUp{Session: session, Key: public(key)})
	s.gets(session, 0, &wire.JoinReq{Boot: n1Boot})
	j := signedJoin(key, n1Boot, latest[*wire.Challenge](s))
	if v.Epoch > 0 {
		j.Certificate = certificate(v, rootKey)
		sign(j, key)
	}
	s.gets(session, 0, j)
	s.gets(session, 0, &wire.JoinReady{Nonce: j.Nonce})
}

func TestARestartedAuthoritySignsFromTheEndOfItsQuarantineOn(t *testing.T) {
	boundary{timing.FailMS, func(t *testing.T, at when.Instant) bool {
		s := marked(t, mesh.Marks{Signed: 2, Activated: 2})
		s.proves(1, n1Key, 2)
		s.tickAt(at)
		return did[mesh.Persist](s)
	}, from}.test(t)
}

// proofs are certificates that two joiners show, and whom the next view has then, nobody for none.
type proofs struct {
	n1, n2  id.Epoch
	members []string
}

// test has two nodes show their certificates to an authority in quarantine and looks at what it
// does afterwards.
func (p proofs) test(t *testing.T, s *solo) {
	signed := max(s.config.Marks.Signed, s.config.Epoch-1)
	s.proves(1, n1Key, p.n1)
	s.proves(2, n2Key, p.n2)
	s.tickAt(timing.FailMS)
	if _, signs := s.wanted(); signs != (p.members != nil) {
		t.Fatalf("signs a view: %v", signs)
	}
	if p.members == nil {
		if !s.has("mesh-fail: refused reason=unproven") {
			t.Error("not said")
		}
		return
	}
	if m := s.durable(); m.Signed != signed+1 || m.Activated != s.config.Marks.Activated {
		t.Errorf("marks %+v", m)
	}
	for _, name := range []string{"n1", "n2"} {
		of := func(m mesh.MemberStatus) bool { return m.ID == id.NodeOf(public(keyOf(name))) }
		in := slices.ContainsFunc(s.node.Status(s.now).Members, of)
		if in != slices.Contains(p.members, name) {
			t.Errorf("%s is in the view: %v", name, in)
		}
	}
}

func TestOnlyTheNewestCertificateProves(t *testing.T) {
	for name, p := range map[string]proofs{
		"the newest of two":            {2, 3, []string{"n2"}},
		"two of the same":              {3, 3, []string{"n1", "n2"}},
		"the newest, and none":         {2, 0, []string{"n1"}},
		"what was activated":           {0, 2, []string{"n2"}},
		"one of before what was":       {1, 0, nil},
		"nobody who proves anything":   {0, 0, nil},
		"two of before what was, both": {1, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p.test(t, marked(t, mesh.Marks{Signed: 3, Activated: 2}))
		})
	}
}

// lostMarks is an authority whose marks were lost, and whose operator has set an epoch.
func lostMarks(t *testing.T, epoch id.Epoch) *solo {
	c := soloConfig(rootKey, rootBoot)
	c.Marks, c.Epoch = &mesh.Marks{Lost: true}, epoch
	return newSolo(t, c)
}

// What was activated last is lost with the marks. A member that was removed long ago must not pass
// for the newest, so everybody has to be there.
func TestWithoutMarksTheNewestProvesWhenEverybodyShowsOne(t *testing.T) {
	for name, p := range map[string]proofs{
		"the newest of two":    {2, 3, []string{"n2"}},
		"two of the same":      {3, 3, []string{"n1", "n2"}},
		"the newest, and none": {0, 3, nil},
		"the first, and none":  {1, 0, nil},
		"nobody who has one":   {0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p.test(t, lostMarks(t, 100))
			cut := marked(t, mesh.Marks{Signed: 99}) // it lost its power before that was activated
			p.test(t, cut)
		})
	}
}

// What was activated last, the authority alone had, and has lost with its memory. By the operator's
// word it takes what is left rather than nothing, if nobody can have more.
func TestByTheOperatorsWordTheNewestOfEverybodyProves(t *testing.T) {
	for name, p := range map[string]proofs{
		"the newest of two":    {1, 2, []string{"n2"}},
		"two of the same":      {2, 2, []string{"n1", "n2"}},
		"one, and none":        {0, 2, []string{}},
		"one that proves":      {0, 3, []string{"n2"}},
		"nobody shows any":     {0, 0, []string{}},
		"an old one, and none": {1, 0, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			p.test(t, marked(t, mesh.Marks{Signed: 3, Activated: 3, MayEmpty: true}))
		})
	}
}

func TestWithoutMarksTheWaitEndsWhenTheLastOneIsThere(t *testing.T) {
	s := lostMarks(t, 100)
	s.proves(1, n1Key, 3)
	s.tickAt(timing.FailMS)
	s.step(mesh.LinkDown{Session: 1})
	s.proves(2, n2Key, 2)
	if _, signs := s.wanted(); signs {
		t.Fatal("signs, and who showed the newest has gone")
	}
	s.proves(3, n1Key, 3)
	if m := s.durable(); m.Signed != 100 || m.Activated != 0 {
		t.Errorf("marks %+v", m)
	}
	s.durable()
	if m, _ := s.wanted(); s.node.Epoch() != 100 || m != (mesh.Marks{}) {
		t.Errorf("epoch %d, wants %+v", s.node.Epoch(), m)
	}
}

func TestACertificateProvesNothingOfWhoIsNotInIt(t *testing.T) {
	s := marked(t, mesh.Marks{Signed: 3, Activated: 2})
	s.provesBy(1, n2Key, pairView(3, true))
	s.tickAt(timing.FailMS)
	if _, signs := s.wanted(); signs {
		t.Error("another's certificate proves")
	}
}

func TestTwoViewsUnderOneNumberProveAFork(t *testing.T) {
	for _, s := range []*solo{lostMarks(t, 100), marked(t, mesh.Marks{Signed: 3, Activated: 2})} {
		s.proves(1, n1Key, 3)
		s.provesBy(2, n2Key, viewOf(3, true, map[*ed25519.PrivateKey]id.Boot{&rootKey: rootBoot,
			&n2Key: n1Boot}))
		s.tickAt(timing.FailMS)
		if _, signs := s.wanted(); signs || !s.has("mesh-fail: fork epoch=3") {
			t.Errorf("signs %v, and says\n%v", signs, s.lines)
		}
	}
}

func TestTheOperatorsWordStartsAnAuthorityThatWaits(t *testing.T) {
	for name, c := range map[string]struct {
		s      *solo
		starts bool
	}{
		"nobody proves anything":         {marked(t, mesh.Marks{Signed: 3, Activated: 2}), true},
		"marks were lost, epoch is set":  {lostMarks(t, 100), true},
		"marks were lost, and no epoch":  {lostMarks(t, 1), false},
		"it is in its quarantine, early": {marked(t, mesh.Marks{Signed: 99, Activated: 2}), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.s
			if name != "it is in its quarantine, early" {
				s.tickAt(timing.FailMS + 20_000)
			}
			s.step(mesh.StartEmpty{Ticket: 7})
			want := mesh.Answer{Ticket: 7, Status: mesh.WrongOrder}
			if c.starts {
				want.Status = mesh.Done
			}
			if !reflect.DeepEqual(s.answers, []mesh.Answer{want}) {
				t.Errorf("answers %+v", s.answers)
			}
			if _, signs := s.wanted(); signs != (c.starts && s.now > 0) {
				t.Fatalf("signs at %d: %v", s.now, signs)
			}
			s.tickAt(max(s.now+1, timing.FailMS))
			if _, signs := s.wanted(); signs != c.starts {
				t.Fatalf("signs: %v", signs)
			}
			if c.starts {
				if m := s.durable(); m.MayEmpty {
					t.Error("the word is good twice")
				}
			}
		})
	}
}

func TestTheOperatorsWordMeansNothingToOneThatRuns(t *testing.T) {
	s := marked(t, mesh.Marks{NeverRan: true})
	s.durable()
	s.durable()
	s.step(mesh.StartEmpty{})
	if len(s.answers) != 1 || s.answers[0].Status != mesh.WrongOrder {
		t.Errorf("answers %+v", s.answers)
	}
	s.now += timing.PauseMS + 1
	s.step(mesh.Tick{})
	if m, ok := s.wanted(); !ok || m.MayEmpty {
		t.Errorf("it remembers: %v, %+v", ok, m)
	}
}

func TestNothingIsServedBeforeItsEpochIsDurableAsActivated(t *testing.T) {
	s := marked(t, mesh.Marks{NeverRan: true})
	s.durable()
	s.durable()
	s.asksToJoin(1, n1Key, n1Boot)
	s.gets(1, 0, &wire.JoinReady{Nonce: latest[*wire.JoinState](s).Nonce})
	if m := s.durable(); m.Signed != 2 || m.Activated != 1 {
		t.Fatalf("before the signature: %+v", m)
	}
	latest[*wire.Confirm](s)
	for _, activated := range []bool{false, true} {
		if activated {
			if m := s.durable(); m.Signed != 2 || m.Activated != 2 {
				t.Fatalf("before the first acknowledgement: %+v", m)
			}
		}
		s.gets(1, 2, &wire.ViewAck{Epoch: 2, Digest: s.node.Digest()})
		s.asks(1, n1Key, n1Boot)
		if got := s.count(wire.KindLeaseAck) > 0; got != activated {
			t.Errorf("activated %v: a lease is given: %v", activated, got)
		}
		s.gets(1, 2, request(n1ID, "lab-1", wire.Commit, 2, 1))
		if w := latest[*wire.RouteRep](s).Word; (w == refusal.OK) != activated {
			t.Errorf("activated %v: a commit is answered with %v", activated, w)
		}
	}
}

func TestTheMarksAreLookedAtAgainAfterAPause(t *testing.T) {
	for _, c := range []struct {
		err  mesh.PersistError
		goes bool
	}{{mesh.PersistOK, true}, {mesh.PersistFailed, true}, {mesh.PersistHigher, false}} {
		s := marked(t, mesh.Marks{NeverRan: true})
		s.durable()
		s.durable()
		s.now += timing.PauseMS + 1
		s.step(mesh.Tick{})
		m, ok := s.wanted()
		if !ok || m.Signed != 1 || m.Activated != 1 {
			t.Fatalf("looks: %v, at %+v", ok, m)
		}
		s.step(mesh.Persisted{Err: c.err})
		if got := s.node.CanCommit(s.now, when.NoSecond); got != c.goes {
			t.Errorf("after result %d it goes on: %v", c.err, got)
		}
	}
}

// Between a verdict and the view that carries it out lies the time that the marks take. A lease
// that was given in it would outlast the view.
func TestAConvictedMemberGetsNoLeaseWhileTheMarksAreWritten(t *testing.T) {
	s := marked(t, mesh.Marks{NeverRan: true})
	s.durable()
	s.durable()
	s.asksToJoin(1, n1Key, n1Boot)
	s.gets(1, 0, &wire.JoinReady{Nonce: latest[*wire.JoinState](s).Nonce})
	s.durable()
	s.durable()
	s.gets(1, 2, &wire.ViewAck{Epoch: 2, Digest: s.node.Digest()})
	s.asks(1, n1Key, n1Boot)
	latest[*wire.LeaseAck](s)
	s.clear()
	s.tickAt(timing.FailMS)
	s.step(mesh.Drained{Session: 1})
	if _, writes := s.wanted(); !writes || !s.has("mesh-fail: failed") || s.node.Epoch() != 2 {
		t.Fatal("the member is not convicted, or removed already")
	}
	s.node.SetEchoed(n1ID, s.now)
	s.asks(1, n1Key, n1Boot)
	if s.count(wire.KindLeaseAck) > 0 {
		t.Error("a convicted member gets a lease")
	}
}
