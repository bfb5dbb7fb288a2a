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

// TestNoFrameStopsANode hands every kind of message, each valid in itself, to nodes in every state,
// from every epoch. A node that panics fails the test.
func TestNoFrameStopsANode(t *testing.T) {
	messages := []wire.Message{
		&wire.Ping{}, &wire.Pong{}, &wire.ViewReq{}, &wire.JoinReq{Boot: 1}, &wire.JoinReady{},
		&wire.LeaseReq{Node: n1ID, Incarnation: 1, Boot: 1, AuthorityBoot: 1},
		&wire.LeaseAck{Incarnation: 1, AuthorityBoot: 1},
		&wire.Challenge{Nonce: 1, AuthorityBoot: 1},
		&wire.Join{AuthorityBoot: 1, Boot: 1, Timing: timing.Default},
		&wire.JoinState{}, &wire.Confirm{Certificate: certificate(pairView(9, true), rootKey)},
		&wire.Refuse{Word: refusal.Fork, RetryMS: 1<<32 - 1},
		viewFrame(pairView(9, true), rootKey),
		&wire.View{Certificate: []byte{1}}, &wire.ViewAck{Epoch: 1},
		&wire.StaleEpoch{Current: 1, AuthorityBoot: 1, Node: n1ID, Boot: n1Boot},
		request(rootID, "lab-0", wire.Commit, 1, 1), request(rootID, "unknown", wire.Stat, 1, 1),
		&wire.RouteReq{Request: wire.Request{Seq: 1}, FirstEpoch: 1 << 63, Op: wire.Stat,
			Class: wire.StaleOK, IfVersion: wire.AnyVersion, Within: 1},
		&wire.RouteRep{Request: wire.Request{Client: id.Client(n1ID), Boot: n1Boot, Seq: 1},
			Word: refusal.Moved, Home: n1ID, Class: wire.Lease},
	}
	for name, make := range map[string]func() *solo{
		"an authority alone":      func() *solo { return newSolo(t, soloConfig(rootKey, rootBoot)) },
		"an authority in a view":  func() *solo { return authorityWithMember(t) },
		"a member without a view": func() *solo { return newSolo(t, soloConfig(n1Key, n1Boot)) },
		"a member in a view":      func() *solo { return newMember(t, nil) },
		"a member without routing": func() *solo {
			return newMember(t, func(c *mesh.Config) { c.Route = false })
		},
		"a halted authority": func() *solo {
			s := authorityWithMember(t)
			s.gets(1, 2, viewFrame(pairView(9, true), rootKey))
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i, m := range messages {
				for _, epoch := range []id.Epoch{1, 2, 3, 1<<64 - 1} {
					s := make()
					s.step(mesh.LinkUp{Session: 3, Key: public(n1Key)})
					for _, session := range []mesh.Session{1, 3} {
						s.gets(session, epoch, m)
						s.now += when.Instant(i + 1)
						s.step(mesh.Tick{})
					}
				}
			}
		})
	}
}

func TestAPeerCannotFillTheConsole(t *testing.T) {
	s := authorityWithMember(t)
	s.step(mesh.LinkUp{Session: 2, Key: public(n2Key)})
	for range 100 { // a bad Join, a claim of an epoch to come, a boot that is in no view
		s.gets(2, 0, &wire.JoinReq{Boot: 1})
		j := signedJoin(n2Key, 1, latest[*wire.Challenge](s))
		j.Challenge++
		s.gets(2, 0, j)
		s.gets(1, 9, &wire.ViewReq{})
		s.gets(1, 9, s.leaseReq(n1Key, n1Boot, 1))
		s.gets(2, 2, s.leaseReq(n2Key, 1, 1))
	}
	if len(s.lines) != 2 || s.count(wire.KindStaleEpoch) != 1 {
		t.Errorf("%d rows and %d StaleEpochs in one millisecond", len(s.lines),
			s.count(wire.KindStaleEpoch))
	}
}

func TestTooManySessionsAreClosedAndNothingElse(t *testing.T) {
	s := newSolo(t, soloConfig(rootKey, rootBoot))
	for i := range mesh.Session(40) {
		s.step(mesh.LinkUp{Session: i + 1, Key: public(n1Key)})
	}
	if !did[mesh.Close](s) {
		t.Error("40 sessions are too many")
	}
}

func TestTooManyStepsAreRefusedAndTheOthersEnd(t *testing.T) {
	s := authorityWithMember(t)
	s.gets(1, 2, request(n1ID, "lab-1", wire.Stat, 2, 1)) // kept for step 7
	for i := range mesh.Ticket(40) {
		number := 5
		if i >= 20 {
			number = 7
		}
		s.step(mesh.LabStep{Ticket: i + 1, Number: number, Capability: capabilityOf(s, "lab-0")})
	}
	s.tickAt(100 + 5000)
	if len(s.answers) != 40 {
		t.Errorf("%d of 40 steps are answered", len(s.answers))
	}
}

func TestAClientsRequestIsRefusedBeforeItCouldBeAnIllFormedFrame(t *testing.T) {
	fits := mesh.Request{Ticket: 1, Name: "lab-0", Op: wire.Commit, Class: wire.Lease,
		Durability: wire.Local, IfVersion: wire.AnyVersion, Value: make([]byte, wire.ValueMax)}
	for name, c := range map[string]struct {
		change func(*mesh.Request)
		want   refusal.Word
	}{
		"it fits": {func(*mesh.Request) {}, refusal.BadCapability},
		"a value that is too long": {func(r *mesh.Request) { r.Value = append(r.Value, 0) },
			refusal.TooLarge},
		"no operation":  {func(r *mesh.Request) { r.Op = 0 }, refusal.Malformed},
		"no class":      {func(r *mesh.Request) { r.Class = 0 }, refusal.Malformed},
		"no durability": {func(r *mesh.Request) { r.Durability = 0 }, refusal.Malformed},
		"a read with all of a commit's fields": {func(r *mesh.Request) { r.Op = wire.Stat },
			refusal.BadCapability},
	} {
		t.Run(name, func(t *testing.T) {
			for object := range 2 { // homed here, and at the peer
				s := authorityWithMember(t)
				r := fits
				r.Name = labNames[object]
				c.change(&r)
				s.step(r)
				if s.count(wire.KindRouteReq) > 0 { // n1 would refuse it
					rep := &wire.RouteRep{Request: latest[*wire.RouteReq](s).Request,
						Word: refusal.BadCapability, Class: wire.Lease}
					s.gets(1, 2, rep)
				}
				if len(s.answers) != 1 || s.answers[0].Reply.Word != c.want {
					t.Errorf("%s: %+v, want %v", r.Name, s.answers, c.want)
				}
			}
		})
	}
}

func TestAClientOfANodeWithoutAViewIsToldSo(t *testing.T) {
	s := newSolo(t, soloConfig(n1Key, n1Boot))
	s.step(mesh.Request{Ticket: 1, Name: "lab-0", Op: wire.Stat, Class: wire.Lease})
	if len(s.answers) != 1 || s.answers[0].Reply.Word != refusal.NoAuthority {
		t.Errorf("%+v", s.answers)
	}
}
