package mesh_test

import (
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
)

// A commit may have been carried out by whoever got it first, although another boot, which got it
// again when the session had ended, refuses it.
func TestARefusalSaysNothingOfTheSameCommitOnASessionThatEnded(t *testing.T) {
	lose := func(s *solo) {
		s.step(mesh.LinkDown{Session: 1})
		s.step(mesh.LinkUp{Session: 3, Key: public(n1Key)})
		s.asks(3, n1Key, n1Boot)
	}
	moved := func(s *solo) {
		s.gets(1, 3, &wire.RouteRep{Request: latest[*wire.RouteReq](s).Request, Word: refusal.Moved,
			Home: n1ID, HomeEpoch: 3, Class: wire.Authoritative})
	}
	for name, c := range map[string]struct {
		before []func(*solo)
		sends  int
		reply  refusal.Word
		want   refusal.Word
	}{
		"sent once":               {nil, 1, refusal.StaleEpoch, refusal.StaleEpoch},
		"sent again, refused":     {[]func(*solo){lose}, 2, refusal.StaleEpoch, refusal.UnknownOutcome},
		"sent again, not current": {[]func(*solo){lose}, 2, refusal.NotCurrent, refusal.UnknownOutcome},
		"sent again, done":        {[]func(*solo){lose}, 2, refusal.OK, refusal.OK},
		"moved":                   {[]func(*solo){moved}, 2, refusal.NotCurrent, refusal.NotCurrent},
		"moved, and sent again": {[]func(*solo){moved, lose}, 3, refusal.NotCurrent,
			refusal.UnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			s := trio(t)
			s.replicates(s.homedAt(n1ID, 0), 1, nil)
			session := mesh.Session(1)
			for _, do := range c.before {
				do(s)
			}
			for i := len(s.sent) - 1; i >= 0; i-- {
				if s.sent[i].message.Kind() == wire.KindRouteReq {
					session = s.sent[i].session
					break
				}
			}
			if n := s.count(wire.KindRouteReq); n != c.sends {
				t.Fatalf("the commit was sent %d times, want %d", n, c.sends)
			}
			s.gets(session, 3, &wire.RouteRep{Request: latest[*wire.RouteReq](s).Request, Word: c.reply,
				Home: n1ID, HomeEpoch: 3, Class: wire.Authoritative, Version: 1,
				Durability: wire.Replicated, Copies: 3})
			if len(s.answers) != 1 || s.answers[0].Reply.Word != c.want {
				t.Errorf("answered %+v, want %v", s.answers, c.want)
			}
		})
	}
}
