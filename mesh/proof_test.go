package mesh_test

import (
	"crypto/ed25519"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/wire"
)

// What a member holds of the authority's table, for one that loses its memory.

// TestAMemberThatIsSentAnotherTableGoesOnProvingItsOwn: records of the view that it holds have been
// dropped for others, when the authority boots again and asks for them. Its certificate says that
// it has them all.
func TestAMemberThatIsSentAnotherTableGoesOnProvingItsOwn(t *testing.T) {
	for name, drops := range map[string]func(s *solo, theirs *wire.Record){
		"a learner": func(s *solo, theirs *wire.Record) {
			stale := &wire.StaleEpoch{Current: 3, AuthorityBoot: rootBoot, Node: n1ID, Boot: n1Boot}
			copy(stale.Signature[:], ed25519.Sign(rootKey, wire.SignedStale(stale)))
			s.gets(1, 3, stale)
			s.gets(1, 3, &wire.Challenge{Nonce: 6, AuthorityBoot: rootBoot})
			s.gets(1, 3, &wire.JoinState{Nonce: latest[*wire.Join](s).Nonce,
				Table: tableOf(t, theirs)})
		},
		"one that is offered a view": func(s *solo, theirs *wire.Record) {
			offer := viewFrame(pairView(3, true), rootKey)
			offer.Table = tableOf(t, theirs)
			s.gets(1, 3, offer)
			s.gets(1, 3, offer)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMember(t, nil)
			o := s.homedAt(rootID, 0)
			mine := madeBy(o, rootID, rootBoot, 2, 7, "mine")
			s.gets(1, 2, mine)
			drops(s, row(s.homedAt(rootID, 1), 2, 5, "theirs"))
			if v := s.node.Version(id.ObjectOf(o)); v != 0 {
				t.Fatalf("version %d is still there", v)
			}
			s.gets(1, 3, row(s.homedAt(rootID, 1), 2, 5, "theirs")) // and nothing more
			s.step(mesh.LinkDown{Session: 1})
			s.step(mesh.LinkUp{Session: 2, Key: public(rootKey)})
			s.gets(2, 0, &wire.Challenge{Nonce: 7, AuthorityBoot: rootBoot + 1})
			want := &wire.JoinState{Nonce: latest[*wire.Join](s).Nonce, Want: true}
			s.clear()
			s.gets(2, 0, want)
			if n := s.count(wire.KindRecord); n != 1 {
				t.Fatalf("%d records as proof, want one", n)
			}
			m := latest[*wire.Record](s)
			if m.Mode != wire.Proof || m.Object != mine.Object || m.Version != 7 {
				t.Errorf("proves version %d of %v in mode %v", m.Version, m.Object, m.Mode)
			}
			s.gets(2, 0, ackFor(m, 0, rootID, rootBoot+1))
			if r := latest[*wire.JoinReady](s); r.Table != tableOf(t, mine) {
				t.Errorf("says that this was all of %d records", r.Table.Records)
			}
		})
	}
}
