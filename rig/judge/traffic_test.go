package judge

import (
	"fmt"
	"testing"

	"holdfast/rig/journal"
)

// The stories of these tests have n0 as the authority, n1 as the member, and times in milliseconds.

// act is a request for the object "o" that was answered with ok.
type act struct {
	from, to  int
	node      int // that was asked
	home      int
	boot      int // of the node that was asked
	homeEpoch int
	version   int
	read      bool
	value     string
}

func (a act) record() journal.Record {
	value := a.value
	if value == "" {
		value = fmt.Sprintf("v%d", a.version)
	}
	h := &journal.HTTP{Path: ObjectsPath + "o", Sent: journal.Time(a.from) * ms, Status: 200,
		Header: map[string]string{
			"home": ids[a.home], "home-epoch": fmt.Sprint(a.homeEpoch),
			"version": fmt.Sprint(a.version), "request": fmt.Sprintf("%s/%016x/1", ids[a.node], a.boot),
		}}
	if a.read {
		h.Method, h.Body = "GET", value
		h.Header["class"] = "authoritative"
	} else {
		h.Method, h.Value, h.Body = "PUT", value, "ok\n"
	}
	return journal.Record{At: journal.Time(a.to) * ms, Kind: journal.KindHTTP,
		Node: fmt.Sprintf("n%d", a.node), Boot: 1, HTTP: h}
}

// refused is a request of n1 for "o" that was answered with a word; an empty one is silence.
func refused(from, to int, word string) journal.Record {
	r := act{from: from, to: to, node: 1}.record()
	r.HTTP.Status, r.HTTP.Header, r.HTTP.Body = 503, nil, word+": because\n"
	if word == "" {
		r.HTTP.Status, r.HTTP.Body, r.HTTP.Error = 0, "", "context deadline exceeded"
	}
	return r
}

// says is a console line of a node.
func says(at, node int, line string) journal.Record {
	r := printed(journal.Time(at)*ms, line)
	r.Node = fmt.Sprintf("n%d", node)
	return r
}

// did is an action of the rig's on a node, in no time.
func did(at, node int, action string) journal.Record {
	return journal.Record{At: journal.Time(at) * ms, Kind: journal.KindAction,
		Node: fmt.Sprintf("n%d", node), Boot: 1,
		Action: &journal.Action{Name: action, Done: journal.Time(at) * ms}}
}

// trip is a frame of n1's to n0 and, a millisecond later, one back.
func trip(at int) []journal.Record {
	there := passed(journal.Time(at)*ms, 1, uint32(at))
	back := passed(journal.Time(at+1)*ms, 1, uint32(at))
	back.Node, back.Frame.To = "n0", "n1"
	there.Frame.Payload, back.Frame.Payload = 1, 1
	return []journal.Record{there, back}
}

// complete ends a run that was watched to its end.
func complete(at int) journal.Record {
	return journal.Record{At: journal.Time(at) * ms, Kind: journal.KindEnd,
		End: &journal.End{Outcome: journal.Complete}}
}

// story is a table's journal and what a check says of it.
type story struct {
	name    string
	records []journal.Record
	want    Status
}

func tell(t *testing.T, check Check, stories []story) {
	t.Helper()
	seen := make(map[Status]bool)
	for _, s := range stories {
		r := check.Ask(runOf(t, s.records...))
		if r.Status != s.want {
			t.Errorf("%s: %s is %v, want %v: %s", s.name, check.Name, r.Status, s.want, r.Detail)
		}
		if r.Status != Inconclusive && len(r.Evidence) == 0 {
			t.Errorf("%s: %s cites nothing", s.name, check.Name)
		}
		seen[s.want] = true
	}
	if len(seen) != len(statusNames) {
		t.Errorf("the stories of %s show only %v", check.Name, seen)
	}
}

// acts makes records of acts and ends the run, in which everything else comes first.
func acts(list []act, others ...journal.Record) []journal.Record {
	records := others
	for _, a := range list {
		records = append(records, a.record())
	}
	return append(records, complete(100_000))
}

func TestOneHomeIsWhatAnswersCanShow(t *testing.T) {
	old := act{from: 100, to: 200, node: 1, home: 1, boot: 7, homeEpoch: 2, version: 3}
	next := act{from: 300, to: 400, homeEpoch: 3, version: 4}
	with := func(a act, change func(*act)) act {
		change(&a)
		return a
	}
	tell(t, OneHome(), []story{
		{"a change of the home", acts([]act{old, next}), Held},
		{"a change during a request", acts([]act{next,
			with(old, func(a *act) { a.from, a.to = 399, 500 })}), Held},
		{"asked for at the instant of the next one's answer", acts([]act{next,
			with(old, func(a *act) { a.from, a.to = 400, 500 })}), Held},
		{"the old home after the next one", acts([]act{next,
			with(old, func(a *act) { a.from, a.to = 401, 500 })}), Violated},
		{"the old home's read after the next one", acts([]act{next,
			with(old, func(a *act) { a.from, a.to, a.read = 401, 500, true })}), Violated},
		{"the old home through the next one", acts([]act{next,
			with(old, func(a *act) { a.node, a.from, a.to = 0, 401, 500 })}), Violated},
		{"two homes under one home epoch", acts([]act{old,
			with(next, func(a *act) { a.homeEpoch = 2 })}), Violated},
		{"two homes under one home epoch, each through the other", acts([]act{
			with(old, func(a *act) { a.node = 0 }),
			with(next, func(a *act) { a.node, a.homeEpoch = 1, 2 })}), Violated},
		{"the old home once before and once after", acts([]act{old, next,
			with(old, func(a *act) { a.from, a.to, a.version = 401, 500, 4 }),
			with(next, func(a *act) { a.from, a.to, a.version = 900, 950, 5 })}), Violated},
		{"a read under a read lease after the next one", append([]journal.Record{next.record()},
			func() journal.Record {
				r := with(old, func(a *act) { a.from, a.to, a.read = 401, 500, true }).record()
				r.HTTP.Header["class"] = "lease"
				return r
			}(), complete(900)), Held},
		{"two boots under one home epoch", acts([]act{old,
			with(old, func(a *act) { a.boot, a.version = 8, 4 })}), Violated},
		{"one home through two nodes", acts([]act{old,
			with(old, func(a *act) { a.node, a.boot, a.version = 0, 1, 4 })}), Held},
		{"an answer without a home epoch", func() []journal.Record {
			r := old.record()
			delete(r.HTTP.Header, "home-epoch")
			return []journal.Record{r, complete(900)}
		}(), Violated},
		{"no answers", acts(nil), Inconclusive},
		{"a run that broke off", []journal.Record{old.record(), next.record()}, Inconclusive},
	})
}

func TestWithinATermCommitsAreOrderedAndReadsSeeThem(t *testing.T) {
	one := act{from: 100, to: 200, homeEpoch: 2, version: 1}
	two := act{from: 300, to: 400, homeEpoch: 2, version: 2}
	read := act{from: 500, to: 600, homeEpoch: 2, version: 2, read: true}
	with := func(a act, change func(*act)) act {
		change(&a)
		return a
	}
	tell(t, Ordered(), []story{
		{"commits and a read", acts([]act{one, two, read}), Held},
		{"a stale read", acts([]act{one, two, with(read, func(a *act) { a.version = 1 })}), Violated},
		{"a stale read while the commit was under way", acts([]act{one, two,
			with(read, func(a *act) { a.from, a.version = 400, 1 })}), Held},
		{"a read of something else", acts([]act{one, two,
			with(read, func(a *act) { a.value = "x" })}), Violated},
		{"a version that falls", acts([]act{with(one, func(a *act) { a.version = 3 }), two,
			with(read, func(a *act) { a.version = 3 })}), Violated},
		{"versions out of order under way at once", acts([]act{
			with(one, func(a *act) { a.to, a.version = 350, 3 }), two,
			with(read, func(a *act) { a.version = 3 })}), Held},
		{"one version twice", acts([]act{one,
			with(two, func(a *act) { a.from, a.version, a.value = 150, 1, "x" }),
			with(read, func(a *act) { a.version, a.value = 1, "x" })}), Violated},
		{"only commits", acts([]act{one, two}), Inconclusive},
		{"a lower version in another term", acts([]act{with(two, func(a *act) { a.homeEpoch = 1 }),
			with(one, func(a *act) { a.from, a.to = 450, 460 }),
			with(read, func(a *act) { a.version = 1 })}), Held},
	})
}

func TestACommitOfAMemberNeedsARoundTripWithinTheLease(t *testing.T) {
	commit := func(from, to int) act {
		return act{from: from, to: to, node: 1, home: 1, homeEpoch: 2, version: 1}
	}
	tell(t, RoundTrip("n1", "n0"), []story{
		{"at the end of the lease", acts([]act{commit(7050, 7060)}, trip(1000)...), Held},
		{"asked for after it", acts([]act{commit(7051, 7060)}, trip(1000)...), Violated},
		{"asked for before it, answered after it", acts([]act{commit(7000, 9000)}, trip(1000)...),
			Held},
		{"through the authority", acts([]act{{from: 7051, to: 7060, home: 1, homeEpoch: 2,
			version: 1}}, trip(1000)...), Violated},
		{"of the authority's own", acts([]act{commit(1100, 1200),
			{from: 9000, to: 9001, homeEpoch: 2, version: 2}}, trip(1000)...), Held},
		{"of the authority's through the member", acts([]act{commit(1100, 1200),
			{from: 9000, to: 9001, node: 1, homeEpoch: 2, version: 2}}, trip(1000)...), Held},
		{"with a frame that nobody answered", acts([]act{commit(7051, 7060)},
			append(trip(1000), passed(6000*ms, 1, 6000))...), Violated},
		{"with nothing before", acts([]act{commit(100, 200)}, trip(1000)...), Violated},
		{"after a standstill, by the second clock", acts([]act{commit(8050, 8060)},
			append(trip(1000), did(2000, 1, journal.ActionFreeze), did(7900, 1, journal.ActionThaw))...),
			Held},
		{"too long after a standstill", acts([]act{commit(8051, 8060)},
			append(trip(1000), did(2000, 1, journal.ActionFreeze), did(7900, 1, journal.ActionThaw))...),
			Violated},
		{"a stall gives no more time", acts([]act{commit(7051, 7060)},
			append(trip(1000), did(2000, 1, journal.ActionStall), did(6000, 1, journal.ActionResume))...),
			Violated},
		{"none", acts(nil, trip(1000)...), Inconclusive},
	})
}

// removal is the row of the removal of n1 at an epoch, and before it the readings that give both
// clocks: a guest's milliseconds are the rig's here.
func removal(at int) []journal.Record {
	view := fmt.Sprintf("members=1 digest=%s snapshot=%s", ids[0], ids[0])
	r0 := reading(journal.Time(at-2)*ms, journal.Time(at-1)*ms, at-2)
	r1 := reading(journal.Time(at-2)*ms, journal.Time(at-1)*ms, at-2)
	r1.Node = "n1"
	return []journal.Record{r0, r1, says(at, 0, fmt.Sprintf(
		"mesh-fail: removed node=%s epoch=3 %s at=%d", ids[1], view, at-1))}
}

func lost(at, sent int) journal.Record {
	return says(at, 1, fmt.Sprintf("mesh-fail: authority state=lost epoch=2 root=%s mutable=0 "+
		"reads=lease lease_sent_ms=%d at=%d", ids[0], sent, at))
}

func TestALeaseIsOverBeforeTheRemoval(t *testing.T) {
	chain := func(parts ...[]journal.Record) (all []journal.Record) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return append(all, complete(60_000))
	}
	one := func(r journal.Record) []journal.Record { return []journal.Record{r} }
	restored := says(9000, 1, fmt.Sprintf("mesh-fail: authority state=restored epoch=2 root=%s "+
		"mutable=1 at=9000", ids[0]))
	tell(t, LeaseOver("n1", "n0"), []story{
		{"nothing passed for long", chain(trip(1000), removal(13_000)), Held},
		{"something passed, and nobody says what", chain(trip(1000), trip(9000), removal(13_000)),
			Inconclusive},
		{"something passed, and the lease was older", chain(trip(1000), one(lost(7001, 1000)),
			trip(9000), removal(13_000)), Held},
		{"the lease was not over", chain(trip(1000), one(lost(12_990, 7100)), removal(13_000)),
			Violated},
		{"the lease of before it was restored", chain(trip(1000), one(lost(7001, 1000)), trip(9000),
			one(restored), removal(13_000)), Inconclusive},
		{"frozen, and a second short", chain(trip(6500), one(did(6600, 1, journal.ActionFreeze)),
			removal(13_000)), Inconclusive},
		{"no removal", chain(trip(1000)), Held},
	})
}

func TestRemovalsAreCounted(t *testing.T) {
	once := append(removal(13_000), complete(60_000))
	check := func(least, most int) Check {
		return Removals("n1", "n0", Times{least, most}, "so often")
	}
	for _, c := range []struct {
		check   Check
		records []journal.Record
		want    Status
	}{
		{check(1, 1), once, Held},
		{check(0, 0), once, Violated},
		{check(2, 2), once, Violated},
		{check(1, 1), once[:3], Inconclusive},
		{check(0, 0), []journal.Record{complete(1)}, Held},
		{check(0, 9), []journal.Record{says(1, 1, once[2].Line), complete(2)}, Violated},
	} {
		if r := c.check.Ask(runOf(t, c.records...)); r.Status != c.want {
			t.Errorf("%v, want %v: %s", r.Status, c.want, r.Detail)
		}
	}
}

func TestTheTrafficGetsThroughAroundTheFault(t *testing.T) {
	before := act{from: 100, to: 200, homeEpoch: 2, version: 1}.record()
	after := act{from: 5000, to: 5001, homeEpoch: 2, version: 2}.record()
	fault := []journal.Record{did(1000, 1, journal.ActionFreeze), did(4000, 1, journal.ActionThaw)}
	for _, c := range []struct {
		name    string
		records []journal.Record
		want    Status
	}{
		{"before and after", []journal.Record{before, fault[0], fault[1], after}, Held},
		{"not after", []journal.Record{before, fault[0], fault[1]}, Inconclusive},
		{"not before", []journal.Record{after, fault[0], fault[1], after}, Inconclusive},
		{"only during it", []journal.Record{before, fault[0],
			act{from: 2000, to: 2001, homeEpoch: 2, version: 2}.record(), fault[1]}, Inconclusive},
		{"no fault", []journal.Record{before, after}, Inconclusive},
	} {
		if r := Served("n0").Ask(runOf(t, c.records...)); r.Status != c.want {
			t.Errorf("%s: %v, want %v: %s", c.name, r.Status, c.want, r.Detail)
		}
	}
}

func TestAMemberThatIsCutOffRefusesWithWords(t *testing.T) {
	chain := func(parts ...[]journal.Record) (all []journal.Record) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return append(all, removal(13_000)...)
	}
	accepted := act{from: 7100, to: 7110, node: 1, home: 1, homeEpoch: 2, version: 1}.record()
	tell(t, StoppedServing("n1", "n0"), []story{
		{"a word", chain(trip(1000), []journal.Record{refused(7100, 7110, "no-authority")}), Held},
		{"silence", chain(trip(1000), []journal.Record{refused(7100, 8600, "")}), Inconclusive},
		{"a commit", chain(trip(1000), []journal.Record{accepted}), Violated},
		{"nothing asked", chain(trip(1000)), Inconclusive},
		{"no removal", chain(trip(1000))[:2], Inconclusive},
	})
}

// status is an answer of a node to GET /mesh.
func status(at, node int, fields string) journal.Record {
	return journal.Record{At: journal.Time(at) * ms, Kind: journal.KindHTTP,
		Node: fmt.Sprintf("n%d", node), Boot: 1, HTTP: &journal.HTTP{Method: "GET", Path: "/mesh",
			Sent: journal.Time(at) * ms, Status: 200, Body: fmt.Sprintf(
				"node id=%s role=member %s now_ms=%d\n", ids[node], fields, at)}}
}

func TestAllEndInOneView(t *testing.T) {
	well := "mesh=joined epoch=4 digest=" + ids[0] + " mutable=1"
	other := "mesh=joined epoch=3 digest=" + ids[1] + " mutable=1"
	immutable := "mesh=joined epoch=4 digest=" + ids[0] + " mutable=0"
	end := complete(9000)
	tell(t, Agreed("n0", "n1"), []story{
		{"in one", []journal.Record{status(1, 0, well), status(2, 1, well), end}, Held},
		{"in two", []journal.Record{status(1, 0, well), status(2, 1, other), end}, Violated},
		{"in two before", []journal.Record{status(1, 1, other), status(2, 0, well), status(3, 1, well),
			end}, Held},
		{"one immutable", []journal.Record{status(1, 0, well), status(2, 1, immutable), end}, Violated},
		{"one silent", []journal.Record{status(1, 0, well), end}, Inconclusive},
		{"before the end", []journal.Record{status(1, 0, well), status(2, 1, well)}, Inconclusive},
	})
}

func TestTwoMachinesWithOneKeyAreTwoHomes(t *testing.T) {
	one := act{from: 100, to: 200, node: 1, home: 1, boot: 7, homeEpoch: 2, version: 1}.record()
	other := act{from: 300, to: 400, node: 1, home: 1, boot: 7, homeEpoch: 2, version: 2}.record()
	twin := begin()
	twin.Run.Nodes = append(twin.Run.Nodes, journal.Node{Name: "n2", ID: ids[1]})
	other.Node = "n2"
	records := []journal.Record{twin, one, other, complete(900)}
	for i := range records {
		records[i].N = i + 1
	}
	r, err := New(records)
	if err != nil {
		t.Fatal(err)
	}
	if got := OneHome().Ask(r); got.Status != Violated {
		t.Errorf("%v, want it violated: %s", got.Status, got.Detail)
	}
}
