package mesh_test

import (
	"fmt"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// unmade is the name of an object that n1 homes beside the authority and that nobody has made.
func unmade(t *testing.T, s *solo) string {
	t.Helper()
	for i := range 100 {
		if name := fmt.Sprintf("unmade-%d", i); s.node.Holds(id.ObjectOf(name)) {
			return name
		}
	}
	t.Fatal("n1 homes nothing")
	return ""
}

// reads is the authority's request to read an object.
func reads(name string, class wire.Class) *wire.RouteReq {
	q := request(rootID, name, wire.Stat, 2, 1)
	q.Class = class
	return q
}

// That there is no such object is what a home alone can say, and only as long as it is the home:
// another one may have made the object since.
func TestNothingIsReadUnderTheLeaseThatAValueTakes(t *testing.T) {
	boundary{timing.WriteLeaseMS, func(t *testing.T, at when.Instant) bool {
		s := newMember(t, nil)
		name, known := unmade(t, s), len(s.node.Homes(s.now))
		s.until(at)
		s.gets(1, 2, reads(name, wire.Authoritative))
		w := latest[*wire.RouteRep](s).Word
		if w != refusal.NoObject && w != refusal.NotCurrent {
			t.Errorf("refused with %v", w)
		}
		if len(s.node.Homes(s.now)) != known {
			t.Error("the question has made the object")
		}
		return w == refusal.NoObject
	}, until}.test(t)
}

func TestNothingIsReadInTwoChecks(t *testing.T) {
	boundary{timing.WriteLeaseMS, func(t *testing.T, at when.Instant) bool {
		s := newMember(t, nil)
		name := unmade(t, s)
		s.held = true
		s.until(timing.WriteLeaseMS - 500)
		s.gets(1, 2, reads(name, wire.Authoritative))
		if s.count(wire.KindRouteRep) != 0 {
			t.Fatal("answered before the clock was read again")
		}
		s.now = at
		s.step(mesh.Rechecked{Ticket: 1})
		return latest[*wire.RouteRep](s).Word == refusal.NoObject
	}, until}.test(t)
}
