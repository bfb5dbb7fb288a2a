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

// A peer has proved a key and nothing else. What it says is refused with a word, or left alone: it
// never stops the node, and never gets what is not its own.

func TestAJoinIsRefusedWithTheWordThatFits(t *testing.T) {
	stranger := keyOf("stranger")
	foreign := viewOf(1, true, map[*ed25519.PrivateKey]id.Boot{&rootKey: rootBoot})
	for _, c := range []struct {
		name   string
		key    ed25519.PrivateKey
		change func(*wire.Join)
		resign bool
		want   refusal.Word
	}{
		{"a node that is not allowed", stranger, func(*wire.Join) {}, true, refusal.NotAllowed},
		{"the authority's own key", rootKey, func(*wire.Join) {}, true, refusal.NotAllowed},
		{"an answer to another challenge", n1Key, func(j *wire.Join) { j.Challenge++ }, true,
			refusal.NotAllowed},
		{"for another boot of the authority", n1Key, func(j *wire.Join) { j.AuthorityBoot++ }, true,
			refusal.NotAllowed},
		{"another boot than was named", n1Key, func(j *wire.Join) { j.Boot++ }, true,
			refusal.NotAllowed},
		{"another timing", n1Key, func(j *wire.Join) { j.Timing.Fail++ }, true, refusal.Timing},
		{"without leases", n1Key, func(j *wire.Join) { j.Timing.AcksAll = true }, true,
			refusal.Timing},
		{"a signature over something else", n1Key, func(j *wire.Join) { j.Nonce++ }, false,
			refusal.BadSignature},
		{"a certificate of another authority", n1Key, func(j *wire.Join) {
			j.Certificate = certificate(foreign, stranger)
		}, true, refusal.WrongAuthority},
		{"a certificate that is none", n1Key, func(j *wire.Join) { j.Certificate = []byte("x") }, true,
			refusal.Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSolo(t, soloConfig(rootKey, rootBoot))
			s.step(mesh.LinkUp{Session: 1, Key: public(c.key)})
			s.gets(1, 0, &wire.JoinReq{Boot: 9})
			j := signedJoin(c.key, 9, latest[*wire.Challenge](s))
			c.change(j)
			if c.resign {
				sign(j, c.key)
			}
			s.gets(1, 0, j)
			r := latest[*wire.Refuse](s)
			if r.Word != c.want || r.Nonce != j.Nonce {
				t.Errorf("refused with %v for nonce %v, want %v", r.Word, r.Nonce, c.want)
			}
			if !s.has("mesh-join: refused") || s.node.Epoch() != 1 {
				t.Error("not said, or not refused")
			}
		})
	}
}

func TestAChallengeIsGoodForOneAdmission(t *testing.T) {
	s := newSolo(t, soloConfig(rootKey, rootBoot))
	s.step(mesh.LinkUp{Session: 1, Key: public(n1Key)})
	s.gets(1, 0, &wire.JoinReq{Boot: 9})
	j := signedJoin(n1Key, 9, latest[*wire.Challenge](s))
	j.Timing.Fail++
	sign(j, n1Key)
	s.gets(1, 0, j) // refused, and the challenge is used up
	j.Timing.Fail--
	sign(j, n1Key)
	s.clear()
	s.gets(1, 0, j)
	if w := latest[*wire.Refuse](s).Word; w != refusal.NotAllowed {
		t.Errorf("refused with %v", w)
	}
}

func TestARepeatedStepOfAJoinGetsTheSameAnswer(t *testing.T) {
	s := newSolo(t, soloConfig(rootKey, rootBoot))
	s.step(mesh.LinkUp{Session: 1, Key: public(n1Key)})
	s.gets(1, 0, &wire.JoinReq{Boot: 9})
	c := latest[*wire.Challenge](s)
	s.gets(1, 0, &wire.JoinReq{Boot: 9})
	if again := latest[*wire.Challenge](s); again.Nonce != c.Nonce {
		t.Fatal("the second JoinReq gets another challenge, and the Join on its way is wasted")
	}
	j := signedJoin(n1Key, 9, c)
	for range 3 {
		s.gets(1, 0, j)
		s.gets(1, 0, &wire.JoinReq{Boot: 9})
	}
	if s.count(wire.KindRefuse) != 0 {
		t.Fatal("a repeated Join is refused")
	}
	ready := &wire.JoinReady{Nonce: latest[*wire.JoinState](s).Nonce}
	for range 3 {
		s.gets(1, 0, ready)
		s.gets(1, 0, j)
	}
	if s.node.Epoch() != 2 {
		t.Errorf("epoch %d after one join, want 2", s.node.Epoch())
	}
}

func TestAnotherBootOnTheSessionEndsTheAdmission(t *testing.T) {
	s := newSolo(t, soloConfig(rootKey, rootBoot))
	s.asksToJoin(1, n1Key, 9)
	s.gets(1, 5, &wire.LeaseReq{Node: n1ID, Incarnation: 1, Boot: 10, AuthorityBoot: rootBoot})
	s.gets(1, 0, &wire.JoinReady{Nonce: latest[*wire.JoinState](s).Nonce})
	if s.node.Epoch() != 1 {
		t.Error("a boot was admitted for which nobody signed a Join")
	}
}

func TestTwoSessionsOfOneBootMakeOneAdmission(t *testing.T) {
	s := newSolo(t, soloConfig(rootKey, rootBoot))
	s.asksToJoin(1, n1Key, n1Boot)
	s.asksToJoin(2, n1Key, n1Boot)
	s.gets(2, 0, &wire.JoinReady{Nonce: latest[*wire.JoinState](s).Nonce})
	s.tickAt(timing.FailMS / 2)
	if s.node.Epoch() != 2 || s.has("mesh-join: refused") {
		t.Error("the other session's admission is refused, or makes another epoch")
	}
	if s.count(wire.KindConfirm) != 2 {
		t.Error("the other session gets no answer")
	}
}

func TestOnlyTheAnswerToItsProbeSavesAnOldBoot(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*solo, id.Nonce)
		saves  bool
	}{
		"the answer":                  {pong(1, 0), true},
		"an answer to something else": {pong(1, 1), false},
		"the newcomer's own answer":   {pong(2, 0), false},
		"another node's answer":       {pong(3, 0), false},
		"a frame from before its end": {
			func(s *solo, _ id.Nonce) { s.asks(1, n1Key, n1Boot) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := authorityWithMember(t)
			s.step(mesh.LinkUp{Session: 3, Key: public(n2Key)})
			s.now = 200
			s.asksToJoin(2, n1Key, n1Boot+1)
			c.answer(s, latest[*wire.Ping](s).Nonce)
			s.tickAt(200 + 1000)
			refused := s.count(wire.KindRefuse) == 1
			if refused != c.saves || s.count(wire.KindJoinState) == 1 == c.saves {
				t.Fatalf("the newcomer is refused: %v, want %v", refused, c.saves)
			}
			if c.saves && latest[*wire.Refuse](s).Word != refusal.Duplicate {
				t.Errorf("refused with %v", latest[*wire.Refuse](s).Word)
			}
		})
	}
}

// pong answers on a session, with a nonce that is off by some.
func pong(session mesh.Session, off id.Nonce) func(*solo, id.Nonce) {
	return func(s *solo, n id.Nonce) { s.gets(session, 2, &wire.Pong{Nonce: n + off}) }
}

func TestTheEpochOfTheSenderIsLookedAtFirst(t *testing.T) {
	unknown, forged := request(n1ID, "lab-1", wire.Stat, 2, 1), request(n1ID, "lab-1", wire.Stat, 2, 2)
	unknown.Object = id.Object{1}
	forged.Capability[100]++
	again := request(n1ID, "lab-1", wire.Stat, 2, 3)
	for epoch, want := range map[id.Epoch]refusal.Word{
		1: refusal.StaleEpoch, 3: refusal.UnknownEpoch,
	} {
		for name, q := range map[string]*wire.RouteReq{
			"a good request": request(n1ID, "lab-1", wire.Stat, 2, 4), "a repeated one": again,
			"an unknown object": unknown, "a forged capability": forged,
		} {
			s := authorityWithMember(t)
			s.gets(1, 2, again)
			s.gets(1, epoch, q)
			if w := latest[*wire.RouteRep](s).Word; w != want {
				t.Errorf("%s of epoch %d is refused with %v, want %v", name, epoch, w, want)
			}
		}
	}
}

func TestALeaseReqIsAcknowledgedOnlyWhenEverythingMatches(t *testing.T) {
	for name, change := range map[string]func(*wire.LeaseReq){
		"everything matches":    nil,
		"another node":          func(m *wire.LeaseReq) { m.Node = rootID },
		"another incarnation":   func(m *wire.LeaseReq) { m.Incarnation++ },
		"another boot":          func(m *wire.LeaseReq) { m.Boot++ },
		"another digest":        func(m *wire.LeaseReq) { m.Digest[0]++ },
		"another authority":     func(m *wire.LeaseReq) { m.AuthorityBoot++ },
		"an epoch too low":      func(*wire.LeaseReq) {},
		"an epoch not yet made": func(*wire.LeaseReq) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := authorityWithMember(t)
			s.joins(2, n2Key, 1)
			m := s.leaseReq(n1Key, n1Boot, 4)
			epoch := s.node.Epoch()
			if change != nil {
				change(m)
			}
			switch name {
			case "an epoch too low":
				epoch--
			case "an epoch not yet made":
				epoch++
			}
			s.clear()
			s.gets(1, epoch, m)
			if got, want := s.count(wire.KindLeaseAck) == 1, change == nil; got != want {
				t.Errorf("acknowledged: %v, want %v", got, want)
			}
		})
	}
}

func TestALeaseAckCountsOnlyWhenEverythingMatches(t *testing.T) {
	for name, change := range map[string]func(m *wire.LeaseAck, epoch *id.Epoch){
		"everything matches":  nil,
		"another nonce":       func(m *wire.LeaseAck, _ *id.Epoch) { m.Nonce++ },
		"no nonce":            func(m *wire.LeaseAck, _ *id.Epoch) { m.Nonce = 0 },
		"another incarnation": func(m *wire.LeaseAck, _ *id.Epoch) { m.Incarnation++ },
		"another digest":      func(m *wire.LeaseAck, _ *id.Epoch) { m.Digest[0]++ },
		"another authority":   func(m *wire.LeaseAck, _ *id.Epoch) { m.AuthorityBoot++ },
		"a later epoch":       func(_ *wire.LeaseAck, e *id.Epoch) { *e++ },
		"an earlier epoch":    func(_ *wire.LeaseAck, e *id.Epoch) { *e-- },
	} {
		t.Run(name, func(t *testing.T) {
			s := newMember(t, nil)
			s.tickAt(2000)
			q := latest[*wire.LeaseReq](s)
			m := &wire.LeaseAck{Incarnation: q.Incarnation, Digest: q.Digest,
				AuthorityBoot: q.AuthorityBoot, Nonce: q.Nonce}
			epoch := id.Epoch(2)
			if change != nil {
				change(m, &epoch)
			}
			s.gets(1, epoch, m)
			s.until(timing.WriteLeaseMS + 1) // the first lease, asked for at zero, is over
			if got, want := s.node.CanCommit(s.now, when.NoSecond), change == nil; got != want {
				t.Errorf("prolonged: %v, want %v", got, want)
			}
		})
	}
}

func TestAnAnswerCountsOnce(t *testing.T) {
	s := newMember(t, nil)
	s.tickAt(2000)
	forgotten := latest[*wire.LeaseReq](s)
	s.ackOf(forgotten, 1, 2)
	s.step(mesh.Tick{})
	s.now = 2000 + timing.PauseMS + 1 // a pause: the lease is gone
	s.step(mesh.Tick{})
	s.ackOf(forgotten, 1, 2)
	if s.node.CanCommit(s.now, when.NoSecond) {
		t.Error("an answer to a forgotten request gives a lease")
	}
}

func TestOnlyTheBootInTheViewIsHeard(t *testing.T) {
	for name, c := range map[string]struct {
		say  func(*solo)
		want bool
	}{
		"its own session":               {func(s *solo) { s.gets(1, 2, &wire.Ping{}) }, true},
		"a session that names no boot":  {func(s *solo) { s.gets(2, 2, &wire.Ping{}) }, false},
		"a session of another boot":     {func(s *solo) { s.gets(3, 2, &wire.Ping{}) }, false},
		"a malformed frame":             {func(s *solo) { s.step(mesh.Frame{Session: 1}) }, false},
		"a session that is not there":   {func(s *solo) { s.gets(9, 2, &wire.Ping{}) }, false},
		"another node":                  {func(s *solo) { s.gets(4, 2, &wire.Ping{}) }, false},
		"a new session of its boot":     {func(s *solo) { s.asks(2, n1Key, n1Boot) }, true},
		"a request of an old epoch":     {func(s *solo) { s.gets(1, 1, &wire.ViewReq{}) }, true},
		"a request of an epoch to come": {func(s *solo) { s.gets(1, 9, &wire.ViewReq{}) }, true},
		"a join of its boot, once again": {
			func(s *solo) { s.gets(2, 0, &wire.JoinReq{Boot: n1Boot}) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := authorityWithMember(t)
			s.step(mesh.LinkUp{Session: 2, Key: public(n1Key)})
			s.step(mesh.LinkUp{Session: 3, Key: public(n1Key)})
			s.gets(3, 0, &wire.JoinReq{Boot: n1Boot + 1})
			s.step(mesh.LinkUp{Session: 4, Key: public(n2Key)})
			s.tickAt(100 + timing.SuspectMS)
			s.node.SetEchoed(n1ID, s.now)
			s.clear()
			c.say(s)
			if s.has("mesh-fail: recovered") != c.want {
				t.Errorf("heard: %v, want %v", !c.want, c.want)
			}
		})
	}
}

func TestAMemberBelievesOnlyTheAuthoritysKey(t *testing.T) {
	stranger := keyOf("stranger")
	forged := &wire.StaleEpoch{Current: 7, AuthorityBoot: rootBoot, Node: n1ID, Boot: n1Boot}
	copy(forged.Signature[:], ed25519.Sign(stranger, wire.SignedStale(forged)))
	other := &wire.StaleEpoch{Current: 7, AuthorityBoot: rootBoot, Node: n1ID, Boot: n1Boot + 1}
	copy(other.Signature[:], ed25519.Sign(rootKey, wire.SignedStale(other)))
	low := &wire.StaleEpoch{Current: 1, AuthorityBoot: rootBoot, Node: n1ID, Boot: n1Boot}
	copy(low.Signature[:], ed25519.Sign(rootKey, wire.SignedStale(low)))
	for name, m := range map[string]wire.Message{
		"a StaleEpoch of another key":  forged,
		"a StaleEpoch to another boot": other,
		"a StaleEpoch of an old epoch": low,
		"a View of another key":        viewFrame(pairView(9, true), stranger),
		"a View of an old epoch":       viewFrame(pairView(1, true), rootKey),
		"a Confirm that answers nobody": &wire.Confirm{
			Certificate: certificate(pairView(9, true), rootKey)},
		"a View without this boot": viewFrame(viewOf(9, true,
			map[*ed25519.PrivateKey]id.Boot{&rootKey: rootBoot, &n1Key: 1}), rootKey),
		"a Refuse":          &wire.Refuse{Word: refusal.NotAllowed},
		"another Challenge": &wire.Challenge{Nonce: 6, AuthorityBoot: rootBoot},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMember(t, nil)
			s.gets(1, 9, m)
			if s.node.Epoch() != 2 || !s.node.Joined() || !s.node.CanCommit(s.now, when.NoSecond) {
				t.Error("the member has changed its mind")
			}
		})
	}
}

func TestTwoViewsOfOneEpochHaltAMember(t *testing.T) {
	s := newMember(t, nil)
	v := viewOf(2, true, map[*ed25519.PrivateKey]id.Boot{
		&rootKey: rootBoot, &n1Key: n1Boot, &n2Key: 1})
	s.gets(1, 2, viewFrame(v, rootKey))
	if !s.has("mesh-fail: fork epoch=2") || s.node.CanRead(s.now) ||
		s.node.CanCommit(s.now, when.NoSecond) {
		t.Error("a member serves on under a fork")
	}
	s.gets(1, 2, request(rootID, "lab-0", wire.Commit, 2, 1))
	if w := latest[*wire.RouteRep](s).Word; w != refusal.Fork {
		t.Errorf("refused with %v", w)
	}
}

func TestACertificateOfItsOwnKeyHaltsAnAuthority(t *testing.T) {
	boots := map[*ed25519.PrivateKey]id.Boot{&rootKey: rootBoot, &n1Key: n1Boot}
	for name, c := range map[string]struct {
		epoch id.Epoch
		want  bool
	}{
		"an earlier epoch": {1, false}, "the same epoch": {2, true}, "a later epoch": {3, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := authorityWithMember(t)
			m := viewFrame(viewOf(c.epoch, true, boots), rootKey)
			s.gets(1, 2, m)
			if halted := !s.node.CanCommit(s.now, when.NoSecond); halted != c.want {
				t.Fatalf("halted: %v, want %v", halted, c.want)
			}
			s.clear()
			s.asks(1, n1Key, n1Boot)
			s.joinReqIsAnswered(c.want)
			s.tickAt(100 + timing.FailMS + timing.HandlerMS)
			if acks := s.count(wire.KindLeaseAck); acks > 0 == c.want {
				t.Errorf("%d leases are acknowledged", acks)
			}
			if c.want && s.node.Epoch() != 2 {
				t.Error("it has signed once more")
			}
		})
	}
}

// joinReqIsAnswered checks that a joiner never waits in silence.
func (s *solo) joinReqIsAnswered(refused bool) {
	s.step(mesh.LinkUp{Session: 5, Key: public(n2Key)})
	s.gets(5, 0, &wire.JoinReq{Boot: 1})
	if got := s.count(wire.KindRefuse) == 1; got != refused {
		s.t.Errorf("a joiner is refused: %v, want %v", got, refused)
	}
}
