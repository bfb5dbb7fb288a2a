package mesh_test

import (
	"crypto/ed25519"
	"errors"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// What is different where every commit needs the acknowledgements of all, and no lease gives a
// right (docs/decisions/0012-acks-all.md).

// acksAll is the configuration of a node without leases.
func acksAll(key ed25519.PrivateKey, boot id.Boot) mesh.Config {
	c := soloConfig(key, boot)
	c.Timing, c.Lab = timing.OneSecond, false
	return c
}

func TestTheLabAndNoLeasesDoNotGoTogether(t *testing.T) {
	c := acksAll(n1Key, n1Boot)
	if _, err := mesh.New(0, c, new(mesh.Effects)); err != nil {
		t.Error(err)
	}
	c.Lab = true
	if _, err := mesh.New(0, c, new(mesh.Effects)); !errors.Is(err, timing.ErrLab) {
		t.Errorf("with the lab: %v", err)
	}
}

// Asked for at each node, of an object that is homed there.
func TestWhatRestsOnALeaseAloneIsRefusedWithoutLeases(t *testing.T) {
	local := func(q *mesh.Request) { q.Durability = wire.Local }
	read := func(class wire.Class) func(*mesh.Request) {
		return func(q *mesh.Request) {
			q.Op, q.Class, q.Durability, q.Value = wire.Stat, class, wire.None, nil
		}
	}
	for role, make := range map[string]func() (*solo, id.Node){
		"the authority": func() (*solo, id.Node) {
			return authorityOf(t, acksAll(rootKey, rootBoot)), rootID
		},
		"the authority, alone": func() (*solo, id.Node) {
			return newSolo(t, acksAll(rootKey, rootBoot)), rootID
		},
		"a member": func() (*solo, id.Node) {
			return newMember(t, func(c *mesh.Config) { *c = acksAll(n1Key, n1Boot) }), n1ID
		},
	} {
		for what, c := range map[string]struct {
			change func(*mesh.Request)
			want   refusal.Word
		}{
			"a local commit":        {local, refusal.Disabled},
			"an authoritative read": {read(wire.Authoritative), refusal.Disabled},
			"a read under a lease":  {read(wire.Lease), refusal.OK},
		} {
			s, home := make()
			s.replicates(s.homedAt(home, 0), 1, c.change)
			if rep, ok := s.answerTo(1); !ok || rep.Word != c.want {
				t.Errorf("%s, %s: answered %t with %v, want %v", role, what, ok, rep.Word, c.want)
			}
		}
	}
}

// A local commit of an object that does not exist yet is refused as well, although it would be
// carried out as a replicated one: what was asked for was something else.
func TestTheFirstCommitOfAnObjectIsNoExceptionWithoutLeases(t *testing.T) {
	s := authorityOf(t, acksAll(rootKey, rootBoot))
	s.replicates("new", 1, func(q *mesh.Request) { q.Durability = wire.Local })
	if rep, _ := s.answerTo(1); rep.Word != refusal.Disabled && rep.Word != refusal.NotHome {
		t.Errorf("answered with %v", rep.Word)
	}
}

// The answer waits for the authority's acknowledgement however long the member's lease goes on, and
// does not wait for the lease: the acknowledgement is the fence.
func TestACommitIsAnsweredByTheAcknowledgementAlone(t *testing.T) {
	s := newMember(t, func(c *mesh.Config) { *c = acksAll(n1Key, n1Boot) })
	s.replicates(s.homedAt(n1ID, 0), 1, nil)
	m := latest[*wire.Record](s)
	if _, early := s.answerTo(1); early {
		t.Fatal("answered before the authority holds it")
	}
	s.tickAt(when.Instant(2 * timing.OneSecond.WriteLease))
	if s.node.CanCommit(s.now, when.NoSecond) {
		t.Fatal("it still takes commits")
	}
	s.gets(1, 2, ackFor(m, 2, rootID, rootBoot))
	rep, ok := s.answerTo(1)
	if !ok || rep.Word != refusal.OK || rep.Copies != 2 || rep.Durability != wire.Replicated {
		t.Errorf("answered %v: %+v", ok, rep)
	}
}

// A copy of no age at the authority is the newest: it has an age already in the millisecond in
// which a record came that may have been answered for.
func TestACopyOfNoAgeIsWithoutDoubt(t *testing.T) {
	s := authorityOf(t, acksAll(rootKey, rootBoot))
	o := s.homedAt(n1ID, 0)
	if rep := s.readsCopy(o, 1); rep.Word != refusal.OK || rep.AgeMS != 0 {
		t.Errorf("with nothing in doubt: %+v", rep)
	}
	s.gets(1, 2, madeBy(o, n1ID, n1Boot, 2, 1, "a"))
	if rep := s.readsCopy(o, 2); rep.Word != refusal.OK || rep.Version != 0 || rep.AgeMS != 1 {
		t.Errorf("with a record in doubt: %+v", rep)
	}
	s.gets(1, 2, published(o, 1))
	if rep := s.readsCopy(o, 3); rep.Version != 1 || rep.AgeMS != 0 {
		t.Errorf("answered for: %+v", rep)
	}
}

func TestNobodyIsWaitedForWithoutLeases(t *testing.T) {
	s := authorityOf(t, acksAll(rootKey, rootBoot))
	s.step(mesh.LinkDown{Session: 1})
	s.joins(2, n1Key, n1Boot+1)
	s.asks(2, n1Key, n1Boot+1)
	if s.count(wire.KindLeaseAck) != 1 {
		t.Error("the new boot waits for the lease of the one before, which gave no right")
	}
}

func TestAMemberFailsAfterASecond(t *testing.T) {
	boundary{100 + when.Instant(timing.OneSecond.Fail), func(t *testing.T, at when.Instant) bool {
		s := authorityOf(t, acksAll(rootKey, rootBoot))
		s.step(mesh.LinkDown{Session: 1}) // nothing can have arrived
		s.tickAt(at)
		return s.has("mesh-fail: failed")
	}, from}.test(t)
}

// A member whose echoes are too old twice within a second is called out twice.
func TestAMemberIsCalledOutAsOftenAsItIsSuspected(t *testing.T) {
	const first = 700
	c := acksAll(rootKey, rootBoot)
	c.Timing.Heartbeat, c.Timing.Fail = c.Timing.Suspect-1, 2_000 // no other Ping comes between
	boundary{first + when.Instant(c.Timing.Suspect), func(t *testing.T, at when.Instant) bool {
		s := authorityOf(t, c)
		asks := func(at when.Instant, echoed bool) int {
			s.until(at)
			s.node.SetEchoed(n1ID, 0)
			if echoed {
				s.node.SetEchoed(n1ID, at)
			}
			s.clear()
			s.asks(1, n1Key, n1Boot)
			return s.count(wire.KindPing)
		}
		if asks(first, false) != 1 || asks(first+300, true) != 0 {
			t.Fatal("it was not called out when its echoes were too old, and only then")
		}
		return asks(at, false) == 1
	}, from}.test(t)
}
