package mesh_test

import (
	"crypto/ed25519"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
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
	s.step(mesh.LinkUp{Session: session, Key: public(key)})
	s.gets(session, 0, &wire.JoinReq{Boot: n1Boot})
	j := signedJoin(key, n1Boot, latest[*wire.Challenge](s))
	if epoch > 0 {
		j.Certificate = certificate(pairView(epoch, true), rootKey)
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

func TestOnlyTheNewestCertificateProves(t *testing.T) {
	for name, c := range map[string]struct {
		n1, n2  id.Epoch // certificates
		members []string // of the next view, nil for none
	}{
		"the newest of two":            {2, 3, []string{"n2"}},
		"two of the same":              {3, 3, []string{"n1", "n2"}},
		"the newest, and none":         {2, 0, []string{"n1"}},
		"what was activated":           {0, 2, []string{"n2"}},
		"one of before what was":       {1, 0, nil},
		"nobody who proves anything":   {0, 0, nil},
		"two of before what was, both": {1, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := marked(t, mesh.Marks{Signed: 3, Activated: 2})
			s.proves(1, n1Key, c.n1)
			s.proves(2, n2Key, c.n2)
			s.tickAt(timing.FailMS)
			if _, signs := s.wanted(); signs != (c.members != nil) {
				t.Fatalf("signs a view: %v", signs)
			}
			if c.members == nil {
				if !s.has("mesh-fail: refused reason=unproven") {
					t.Error("not said")
				}
				return
			}
			if m := s.durable(); m.Signed != 4 || m.Activated != 2 {
				t.Errorf("marks %+v", m)
			}
			st := s.node.Status(s.now)
			for _, name := range []string{"n1", "n2"} {
				in := false
				for _, m := range st.Members {
					in = in || m.ID == id.NodeOf(public(keyOf(name)))
				}
				want := false
				for _, m := range c.members {
					want = want || m == name
				}
				if in != want {
					t.Errorf("%s is in the view: %v", name, in)
				}
			}
		})
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
