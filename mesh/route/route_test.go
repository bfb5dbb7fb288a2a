package route_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/mesh/record"
	"holdfast/mesh/route"
	"holdfast/mesh/view"
)

var names = []string{"lab-0", "lab-1", "lab-2", "lab-3", "lab-4", "lab-5", "lab-6", "lab-7"}

func nodeOf(name string) view.Member {
	seed := sha256.Sum256([]byte(name))
	key := ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey)
	m := view.Member{ID: id.NodeOf(key), Incarnation: 1, Boot: 1}
	copy(m.Key[:], key)
	return m
}

func viewOf(epoch id.Epoch, names ...string) *view.View {
	v := &view.View{Epoch: epoch}
	for _, name := range names {
		v.Members = v.With(nodeOf(name))
	}
	return v
}

var root, n1 = nodeOf("root").ID, nodeOf("n1").ID

func TestATableHasNoHomesBeforeTheFirstView(t *testing.T) {
	for _, o := range route.New(names).All() {
		if !o.Home.IsZero() || !o.Route.IsZero() || o.Lease != route.NoLease {
			t.Errorf("%s has a home", o.Name)
		}
	}
}

func TestFindKnowsTheObjectsByTheirID(t *testing.T) {
	tab := route.New(names)
	for i, name := range names {
		if tab.Find(id.ObjectOf(name)) != &tab.All()[i] {
			t.Errorf("%s is not found", name)
		}
	}
	if tab.Find(id.Object{}) != nil {
		t.Error("an object that does not exist is found")
	}
}

// TestARemovalFencesEachRouteToWhoLeft is ADR-0008 section 3 as a survivor sees it: one fence for
// every cached route whose home has left, none for the others, and every home recomputed.
func TestARemovalFencesEachRouteToWhoLeft(t *testing.T) {
	tab := route.New(names)
	tab.Install(viewOf(2, "root", "n1"), root)
	before := slices.Clone(tab.All())
	fences := tab.Install(viewOf(3, "root"), root)
	var want []route.Fence
	for _, o := range before {
		if o.Home == n1 {
			want = append(want, route.Fence{Object: o.ID, StaleHome: n1, StaleHomeEpoch: 2,
				Home: root, HomeEpoch: 3})
		}
	}
	if len(want) == 0 || len(want) == len(names) {
		t.Fatal("the objects are not spread over both nodes")
	}
	if !slices.Equal(fences, want) {
		t.Errorf("fences %v, want %v", fences, want)
	}
	for i, o := range tab.All() {
		fenced := id.Epoch(0)
		if before[i].Home == n1 {
			fenced = 3
		}
		if o.Home != root || o.Route != root || o.HomeEpoch != 3 || o.Lease != route.Active ||
			o.LeaseEpoch != 3 || o.Fenced != fenced {
			t.Errorf("%+v", o)
		}
		if since := o.Since; before[i].Home == n1 && since != 3 || before[i].Home == root && since != 2 {
			t.Errorf("%s is homed here since %d", o.Name, since)
		}
	}
	if again := tab.Install(viewOf(3, "root"), root); again != nil {
		t.Errorf("the same view fences again: %v", again)
	}
	for _, epoch := range []id.Epoch{1, 2, 3} {
		if old := tab.Install(viewOf(epoch, "root", "n1"), root); old != nil || anyAt(tab, n1) {
			t.Errorf("a view of epoch %d is installed after one of epoch 3", epoch)
		}
	}
}

func anyAt(tab *route.Table, n id.Node) bool {
	return slices.ContainsFunc(tab.All(), func(o route.Object) bool { return o.Home == n })
}

// TestAJoinFencesEachLeaseThatIsLost is the other half: what a live node loses to a newcomer.
func TestAJoinFencesEachLeaseThatIsLost(t *testing.T) {
	tab := route.New(names)
	tab.Install(viewOf(1, "root"), root)
	for i := range tab.All() {
		tab.All()[i].Record = record.Record{Epoch: 1, Version: 4, Value: []byte("v")}
	}
	fences := tab.Install(viewOf(2, "root", "n1"), root)
	lost := 0
	for _, o := range tab.All() {
		if o.Home == root {
			if o.Lease != route.Active || o.Record.Version != 4 || o.Since != 1 || o.LeaseEpoch != 2 {
				t.Errorf("what stays has changed: %+v", o)
			}
			continue
		}
		lost++
		want := route.Fence{Object: o.ID, StaleHome: root, StaleHomeEpoch: 1, Home: n1, HomeEpoch: 2,
			Lease: true}
		if !slices.Contains(fences, want) {
			t.Errorf("no fence for the lease of %s", o.Name)
		}
		if o.Lease != route.NoLease || o.Record.Version != 4 || o.Since != 0 || o.Fenced != 0 {
			t.Errorf("the lease is still here, or the copy is not: %+v", o)
		}
	}
	if len(fences) != lost || lost == 0 {
		t.Errorf("%d fences for %d leases", len(fences), lost)
	}
}

func TestAViewEndsADrainingLease(t *testing.T) {
	tab := route.New(names)
	tab.Install(viewOf(1, "root"), root)
	o := &tab.All()[0]
	o.Lease, o.Route, o.RouteEpoch = route.Draining, n1, 9
	fences := tab.Install(viewOf(2, "root"), root)
	if o.Lease != route.Active || o.LeaseEpoch != 2 || o.Route != root {
		t.Errorf("%+v", o)
	}
	if len(fences) != 1 || fences[0].StaleHome != n1 || fences[0].Lease {
		t.Errorf("a cached route to a node that is in no view: %v", fences)
	}
}

func TestTheReasonSaysWhatHasEnded(t *testing.T) {
	for lease, want := range map[bool]string{false: "left-view", true: "lease-left-view"} {
		if f := (route.Fence{Lease: lease}); f.Reason() != want {
			t.Errorf("%s, want %s", f.Reason(), want)
		}
	}
}

// TestAnyHistoryOfViewsLeavesTheTableOfTheLast compares a table that has seen some views with what
// the last of them says, from every node's side.
func TestAnyHistoryOfViewsLeavesTheTableOfTheLast(t *testing.T) {
	all := []string{"root", "n1", "n2", "n3"}
	rapid.Check(t, func(t *rapid.T) {
		self := nodeOf(rapid.SampledFrom(all).Draw(t, "self")).ID
		tab := route.New(names)
		for epoch := id.Epoch(1); epoch < 6; epoch++ {
			in := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, 4, rapid.ID).Draw(t, "members")
			v := viewOf(epoch, in...)
			routes := map[id.Object]id.Node{}
			leases := map[id.Object]bool{}
			for _, o := range tab.All() {
				routes[o.ID], leases[o.ID] = o.Route, o.Lease != route.NoLease
			}
			fences := tab.Install(v, self)
			for _, o := range tab.All() {
				want := home.Of(o.ID, v.IDs())
				if o.Home != want || o.Route != want || (o.Lease == route.Active) != (want == self) {
					t.Fatalf("%+v, want home %v", o, want)
				}
				left := !routes[o.ID].IsZero() && !v.Has(routes[o.ID])
				lost := leases[o.ID] && want != self
				if n := fencesOf(fences, o.ID); n != count(left)+count(lost) {
					t.Fatalf("%d fences for %s: route left %v, lease lost %v", n, o.Name, left, lost)
				}
			}
		}
	})
}

func fencesOf(fences []route.Fence, o id.Object) int {
	n := 0
	for _, f := range fences {
		n += count(f.Object == o)
	}
	return n
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
