package mesh_test

import (
	"fmt"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

func TestACapabilityIsGoodForWhatItSaysAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*capability.Capability)
		by     string
		want   refusal.Word
	}{
		"as it should be":  {nil, "root", refusal.OK},
		"by somebody else": {nil, "stranger", refusal.BadCapability},
		"another object": {func(c *capability.Capability) { c.Object[0]++ }, "root",
			refusal.BadCapability},
		"another holder": {func(c *capability.Capability) { c.Holder = rootID }, "root",
			refusal.BadCapability},
		"only to read": {func(c *capability.Capability) { c.Rights = capability.RightStat }, "root",
			refusal.BadCapability},
		"an epoch of old": {func(c *capability.Capability) { c.Epoch = 1 }, "root",
			refusal.StaleEpoch},
		"an epoch to come": {func(c *capability.Capability) { c.Epoch = 3 }, "root",
			refusal.UnknownEpoch},
	} {
		t.Run(name, func(t *testing.T) {
			s := authorityWithMember(t)
			q := request(n1ID, "lab-1", wire.Commit, 2, 1)
			says := capability.Capability{Object: q.Object, Holder: n1ID, Epoch: 2,
				Rights: capability.RightStat | capability.RightCommit, Serial: 1}
			if c.change != nil {
				c.change(&says)
			}
			q.Capability = capability.Mint(says, keyOf(c.by))
			s.gets(1, 2, q)
			if w := latest[*wire.RouteRep](s).Word; w != c.want {
				t.Errorf("answered with %v, want %v", w, c.want)
			}
			if v := s.node.Version(q.Object); (v == 1) != (c.want == refusal.OK) {
				t.Errorf("version %d", v)
			}
		})
	}
}

// A signature that the adapter has verified is not verified again; any other one is, once.
func TestWhoseSignatureIsVerified(t *testing.T) {
	s := newSolo(t, soloConfig(rootKey, 1))
	forged := capability.Mint(capability.Capability{Object: id.ObjectOf("lab-0"), Holder: s.self(),
		Epoch: 1, Rights: capability.RightStat, Serial: 1}, keyOf("stranger"))
	q := mesh.Request{Ticket: 1, Name: "lab-0", Op: wire.Stat, Class: wire.Lease,
		IfVersion: wire.AnyVersion, Capability: forged}
	for _, c := range []struct {
		name     string
		verified bool
		want     refusal.Word
	}{
		{"by nobody", false, refusal.BadCapability},
		{"by the adapter", true, refusal.OK},
		{"by the adapter, before", false, refusal.OK},
	} {
		q.Verified = c.verified
		s.clear()
		s.step(q)
		if len(s.answers) != 1 || s.answers[0].Reply.Word != c.want {
			t.Errorf("verified %s: %+v, want %v", c.name, s.answers, c.want)
		}
	}
}

// Whether a request would leave is what decides who verifies its capability: only what another node
// judges at once may.
func TestWhichRequestsLeaveAtOnce(t *testing.T) {
	s := authorityWithMember(t)
	leaves := func(node id.Node) bool {
		return s.node.Leaves(s.now, id.ObjectOf(s.homedAt(node, 0)))
	}
	if !leaves(n1ID) || leaves(s.self()) {
		t.Error("not what is homed at the member leaves, and nothing else")
	}
	s.step(mesh.LinkDown{Session: 1})
	if leaves(n1ID) {
		t.Error("without a session")
	}
	if newSolo(t, soloConfig(rootKey, 1)).node.Leaves(0, id.ObjectOf("lab-0")) {
		t.Error("alone")
	}
}

// Only a home knows where its object went: another node's belief may be old, and two of them may
// send a request round in a circle (ADR-0008 section 3).
func TestANodeThatIsNoHomeDoesNotRedirect(t *testing.T) {
	s := authorityWithMember(t)
	unknown := ""
	for i := 0; unknown == ""; i++ {
		if name := fmt.Sprint("new-", i); !s.node.Holds(id.ObjectOf(name)) {
			unknown = name
		}
	}
	for _, object := range []string{"lab-0", unknown} { // both are homed at the member
		for _, op := range []wire.Op{wire.Stat, wire.Commit} {
			s.gets(1, 2, request(n1ID, object, op, 2, 1))
			if w := latest[*wire.RouteRep](s).Word; w != refusal.NotHome {
				t.Errorf("%v of %s is answered with %v", op, object, w)
			}
		}
	}
}

func TestAnAuthoritativeReadIsCheckedTwice(t *testing.T) {
	boundary{timing.WriteLeaseMS, func(t *testing.T, at when.Instant) bool {
		s := newMember(t, nil)
		s.held = true
		s.until(timing.WriteLeaseMS - 500)
		q := request(rootID, "lab-0", wire.Stat, 2, 1)
		q.Class = wire.Authoritative
		s.gets(1, 2, q)
		if s.count(wire.KindRouteRep) != 0 {
			t.Fatal("answered before the clock was read again")
		}
		s.now = at
		s.step(mesh.Rechecked{Ticket: 1})
		return latest[*wire.RouteRep](s).Word == refusal.OK
	}, until}.test(t)
}

// That an object does not exist is the answer of a home that holds the lease for it: one that was
// left behind does not know what was stored since, and one that joins again has given its records
// away.
func TestNoObjectIsSaidUnderALease(t *testing.T) {
	read := func(class wire.Class, at when.Instant) refusal.Word {
		s := newMember(t, nil)
		name := unmade(t, s)
		s.until(at)
		q := request(rootID, name, wire.Stat, 2, 1)
		q.Class = class
		s.gets(1, 2, q)
		return latest[*wire.RouteRep](s).Word
	}
	boundary{timing.WriteLeaseMS, func(t *testing.T, at when.Instant) bool {
		return read(wire.Authoritative, at) == refusal.NoObject
	}, until}.test(t)
	if w := read(wire.Lease, timing.WriteLeaseMS+1); w != refusal.NoObject {
		t.Errorf("under the read lease: %v", w)
	}
	boundary{timing.ReadLeaseMS, func(t *testing.T, at when.Instant) bool {
		s := newMember(t, nil)
		name := unmade(t, s)
		s.until(at)
		s.replicates(name, 1, func(q *mesh.Request) {
			q.Op, q.Class, q.Durability, q.Value = wire.Stat, wire.Lease, wire.None, nil
			q.Capability = request(n1ID, name, wire.Stat, 2, 1).Capability
		})
		rep, _ := s.answerTo(1)
		return rep.Word == refusal.NoObject
	}, until}.test(t)
}
