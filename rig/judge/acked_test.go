package judge

import (
	"fmt"
	"testing"

	"holdfast/rig/journal"
)

func TestACommitOfAMemberIsAcknowledgedWhileItIsAskedFor(t *testing.T) {
	commit := func(from, to int) act {
		return act{from: from, to: to, node: 1, home: 1, homeEpoch: 2, version: 1}
	}
	tell(t, Acknowledged("n1", "n0"), []story{
		{"a round trip between", acts([]act{commit(1000, 1001)}, trip(1000)...), Held},
		{"one that began before", acts([]act{commit(1001, 1100)}, trip(1000)...), Violated},
		{"one that ended after", acts([]act{commit(1000, 1000)}, trip(1000)...), Violated},
		{"the latest one counts", acts([]act{commit(900, 2000)},
			append(trip(500), trip(1000)...)...), Held},
		{"with a frame that nobody answered", acts([]act{commit(1500, 2000)},
			append(trip(1000), passed(1600*ms, 1, 1600))...), Violated},
		{"through the authority", acts([]act{{from: 1001, to: 1100, home: 1, homeEpoch: 2,
			version: 1}}, trip(1000)...), Violated},
		{"of the authority's own", acts([]act{commit(900, 1100),
			{from: 9000, to: 9001, homeEpoch: 2, version: 2}}, trip(1000)...), Held},
		{"none", acts(nil, trip(1000)...), Inconclusive},
	})
}

// asked is a request for what rests on a lease, of a node, with the answer's word.
func asked(node int, object, method, answer string) journal.Record {
	a := act{from: 100, to: 200, node: node, homeEpoch: 2, version: 1, read: method == "GET"}
	r := a.record()
	r.HTTP.Path = ObjectsPath + object
	if method == "PUT" {
		r.HTTP.Durability = "local"
	}
	if answer != "ok" {
		r.HTTP.Status, r.HTTP.Header, r.HTTP.Body = 503, nil, answer+": because\n"
	}
	return r
}

func TestWhatTakesALeaseIsRefused(t *testing.T) {
	all := func(change func(node int, object, method string) string) []journal.Record {
		var records []journal.Record
		for node := range 2 {
			for _, object := range []string{"a", "b"} {
				for _, method := range []string{"PUT", "GET"} {
					if answer := change(node, object, method); answer != "" {
						records = append(records, asked(node, object, method, answer))
					}
				}
			}
		}
		return told(records...)
	}
	only := func(node int, object, method, answer string) []journal.Record {
		return all(func(n int, o, m string) string {
			if n == node && o == object && m == method {
				return answer
			}
			return "disabled"
		})
	}
	stale := asked(0, "c", "GET", "ok")
	stale.HTTP.Header["class"] = "stale-ok"
	tell(t, OnlyAcked("n0", "n1"), []story{
		{"everything", only(9, "", "", ""), Held},
		{"a local commit is made", only(1, "b", "PUT", "ok"), Violated},
		{"an authoritative read is answered", only(0, "a", "GET", "ok"), Violated},
		{"with another word", only(1, "a", "PUT", "not-current"), Inconclusive},
		{"one was not asked", only(0, "b", "GET", ""), Inconclusive},
		{"a copy is read", append([]journal.Record{stale}, only(9, "", "", "")...), Held},
	})
}

// copied is a stale read of a node with an age in milliseconds.
func copied(a act, age int) journal.Record {
	r := named(a, "")
	r.HTTP.Header["class"], r.HTTP.Header["age-ms"] = "stale-ok", fmt.Sprint(age)
	return r
}

func TestACopyOfNoAgeAtTheAuthorityIsTheNewest(t *testing.T) {
	one := act{from: 100, to: 200, homeEpoch: 2, version: 1}
	two := act{from: 300, to: 400, homeEpoch: 2, version: 2}
	read := act{from: 500, to: 600, homeEpoch: 3, version: 2, read: true}
	old := act{from: 500, to: 600, homeEpoch: 3, version: 1, read: true}
	far := old
	far.node = 1
	for _, c := range []Check{DurableByCopies("n0"), LinearizableByCopies("n0")} {
		stories := []story{
			{"the newest", told(named(one, "c/1"), named(two, "c/2"), copied(read, 0)), Held},
			{"an older one", told(named(one, "c/1"), named(two, "c/2"), copied(old, 0)), Violated},
			{"an older one that tells its age",
				told(named(one, "c/1"), named(two, "c/2"), copied(old, 200), copied(read, 0)), Held},
			{"an older one at a member",
				told(named(one, "c/1"), named(two, "c/2"), copied(far, 0), copied(read, 0)), Held},
			{"a run that broke off", []journal.Record{named(one, "c/1"), copied(old, 0)},
				Inconclusive},
		}
		tell(t, c, stories)
	}
}

func TestWhatIsWrongOnAHostThatKeepsNodesFromRunningIsOpen(t *testing.T) {
	commit := act{from: 1001, to: 1100, node: 1, home: 1, homeEpoch: 2, version: 1}
	good := commit
	good.from = 1000
	pause := says(50, 0, "mesh-fail: paused ms=300 kind=gap at=50")
	tell(t, Steady(Acknowledged("n1", "n0"))[0], []story{
		{"wrong", acts([]act{commit}, trip(1000)...), Violated},
		{"wrong, and a pause", acts([]act{commit}, append(trip(1000), pause)...), Inconclusive},
		{"right, and a pause", acts([]act{good}, append(trip(1000), pause)...), Held},
	})
}
