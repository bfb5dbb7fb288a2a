package judge

import (
	"fmt"
	"testing"

	"holdfast/rig/journal"
)

// named is an act under a client's own name, answered as replicated.
func named(a act, name string) journal.Record {
	r := a.record()
	r.HTTP.Request, r.HTTP.Durability = name, "replicated"
	r.HTTP.Header["durability"] = "replicated"
	r.HTTP.Header["epoch"] = fmt.Sprint(a.homeEpoch)
	r.HTTP.Header["request"] = fmt.Sprintf("%032x/%016x/1", 1, 1)
	return r
}

// failed is the same commit with another end: refused or of unknown outcome, with a word, or
// without an answer.
func failed(a act, name, word string) journal.Record {
	r := named(a, name)
	r.HTTP.Status, r.HTTP.Header, r.HTTP.Body = 503, nil, word+": because\n"
	if word == "" {
		r.HTTP.Status, r.HTTP.Body, r.HTTP.Error = 0, "", "no answer"
	}
	return r
}

// nothing is a read of that class that finds no object.
func nothing(a act, class string) journal.Record {
	r := failed(a, "", "no-object")
	r.HTTP.Class = class
	return r
}

func told(records ...journal.Record) []journal.Record { return append(records, complete(100_000)) }

func TestWhatWasAcknowledgedIsFound(t *testing.T) {
	one := act{from: 100, to: 200, homeEpoch: 2, version: 1}
	two := act{from: 300, to: 400, homeEpoch: 2, version: 2}
	read := act{from: 500, to: 600, homeEpoch: 3, version: 2, read: true}
	with := func(a act, change func(*act)) act {
		change(&a)
		return a
	}
	later := with(two, func(a *act) { a.from, a.to, a.homeEpoch = 450, 480, 3 })
	found := named(read, "")
	tell(t, Durable(), []story{
		{"commits and a read", told(named(one, "c/1"), named(two, "c/2"), found), Held},
		{"an older version", told(named(one, "c/1"), named(two, "c/2"),
			named(with(read, func(a *act) { a.version = 1 }), "")), Violated},
		{"an older version while the commit was under way", told(named(one, "c/1"), named(two, "c/2"),
			named(with(read, func(a *act) { a.from, a.version = 399, 1 }), ""), found), Held},
		{"nothing at all", told(named(one, "c/1"), nothing(read, "authoritative")), Violated},
		{"nothing at all before it was committed", told(nothing(with(read, func(a *act) { a.from = 0 }),
			"authoritative"), named(one, "c/1"), found), Held},
		{"no copy of it", told(named(one, "c/1"), nothing(read, "stale-ok"), found), Held},
		{"another value of the version", told(named(one, "c/1"), named(two, "c/2"),
			named(with(read, func(a *act) { a.value = "x" }), "")), Violated},
		{"a later version on top", told(named(one, "c/1"), failed(two, "c/2", ""), found), Held},
		{"a local one is lost", told(named(one, "c/1"), func() journal.Record {
			r := named(two, "c/2")
			r.HTTP.Header["durability"] = "local"
			return r
		}(), named(with(read, func(a *act) { a.version = 1 }), "")), Held},
		{"refused, and found", told(named(one, "c/1"), failed(two, "c/2", "not-current"), found),
			Violated},
		{"refused the second time only, and found", told(named(one, "c/1"), failed(two, "c/2", ""),
			failed(later, "c/2", "not-current"), found), Held},
		{"unknown, and found", told(named(one, "c/1"), failed(two, "c/2", "unknown-outcome"), found),
			Held},
		{"unknown, and not found", told(named(one, "c/1"), failed(two, "c/2", "unknown-outcome"),
			named(with(read, func(a *act) { a.version = 1 }), "")), Held},
		{"sent again, and remembered", told(named(one, "c/1"), failed(two, "c/2", ""),
			named(later, "c/2"), found), Held},
		{"sent again, and done twice", told(named(one, "c/1"), named(two, "c/2"),
			named(with(later, func(a *act) { a.version, a.value = 3, "v2" }), "c/2"),
			named(with(read, func(a *act) { a.version, a.value = 3, "v2" }), "")), Violated},
		{"found as two versions", told(named(one, "c/1"), failed(two, "c/2", ""), found,
			named(with(read, func(a *act) { a.from, a.to, a.version, a.value = 700, 800, 3, "v2" }), "")),
			Violated},
		{"one version for two", told(named(one, "c/1"), named(two, "c/2"),
			named(with(two, func(a *act) { a.value = "x" }), "c/3"), found), Violated},
		{"nobody reads", told(named(one, "c/1")), Inconclusive},
		{"nobody reads after the last one", told(named(one, "c/1"), found,
			named(with(two, func(a *act) { a.from, a.to, a.version = 700, 800, 3 }), "c/2")), Inconclusive},
		{"nothing was acknowledged", told(failed(one, "c/1", ""), found), Inconclusive},
		{"a run that broke off", []journal.Record{named(one, "c/1"), named(two, "c/2"), found},
			Inconclusive},
	})
}

func TestWhatWasAcknowledgedIsLookedForAtEachEpoch(t *testing.T) {
	one := act{from: 100, to: 200, homeEpoch: 2, version: 1}
	alone := act{from: 300, to: 400, homeEpoch: 3, version: 2}
	read := act{from: 500, to: 600, homeEpoch: 3, version: 2, read: true}
	last := act{from: 700, to: 800, homeEpoch: 4, version: 2, read: true}
	solo := named(alone, "c/2")
	solo.HTTP.Header["durability"] = "local"
	older := func(a act) journal.Record {
		a.version = 1
		return named(a, "")
	}
	tell(t, Durable(3, 4), []story{
		{"at both", told(named(one, "c/1"), solo, named(read, ""), named(last, "")), Held},
		{"at one", told(named(one, "c/1"), solo, named(last, "")), Inconclusive},
		{"nothing before", told(solo, named(read, ""), named(last, "")), Inconclusive},
		{"what was written alone is gone", told(named(one, "c/1"), solo, named(read, ""), older(last)),
			Violated},
		{"what was to be local is gone", told(named(one, "c/1"), func() journal.Record {
			r := named(alone, "c/2")
			r.HTTP.Durability, r.HTTP.Header["durability"] = "local", "local"
			return r
		}(), older(read), older(last)), Held},
	})
}

func TestLinearizableLeavesOutTheLab(t *testing.T) {
	one := act{from: 100, to: 200, homeEpoch: 2, version: 1}
	stale := act{from: 500, to: 600, homeEpoch: 2, version: 0, read: true, value: "nothing"}
	lab := func(r journal.Record) journal.Record {
		r.HTTP.Path = ObjectsPath + "lab-0"
		return r
	}
	tell(t, Linearizable(), []story{
		{"a register", told(named(one, "c/1"),
			named(act{from: 300, to: 400, homeEpoch: 2, version: 1, read: true}, "")), Held},
		{"a stale read", told(named(one, "c/1"), named(stale, "")), Violated},
		{"what may be a stale read, by a rig that was killed", []journal.Record{named(one, "c/1"),
			named(stale, "")}, Inconclusive},
		{"a stale read of the lab's", told(named(one, "c/1"), lab(named(one, "c/1")),
			lab(named(stale, ""))), Held},
		{"nothing", told(), Inconclusive},
	})
}

// A client's own name says nothing of the boot that answered: what the console said last does.
func TestTwoBootsInOneTermAreSeenUnderNamesOfClients(t *testing.T) {
	starts := func(at, boot int) journal.Record {
		return says(at, 1, fmt.Sprintf("mesh-node: start node=%s role=member boot=%016x epoch=1 "+
			"ip=10.7.0.11 seed=nvram at=1", ids[1], boot))
	}
	one := act{from: 100, to: 200, node: 1, home: 1, homeEpoch: 2, version: 1}
	two := act{from: 300, to: 400, node: 1, home: 1, homeEpoch: 2, version: 2}
	tell(t, OneHome(), []story{
		{"one boot", told(starts(50, 7), named(one, "1/1/1"), named(two, "1/1/2")), Held},
		{"two boots", told(starts(50, 7), named(one, "1/1/1"), starts(250, 8), named(two, "1/1/2")),
			Violated},
		{"the second boot repeats what was done", told(starts(50, 7), named(one, "1/1/1"),
			starts(250, 8), named(act{from: 300, to: 400, node: 1, home: 1, homeEpoch: 2, version: 1},
				"1/1/1")), Held},
		{"nothing", told(starts(50, 7)), Inconclusive},
	})
}

func TestCommitsGoOnAtAnEpoch(t *testing.T) {
	own := act{from: 100, to: 200, homeEpoch: 2, version: 1}
	other := act{from: 300, to: 400, node: 1, homeEpoch: 2, version: 2}
	tell(t, GoesOn(2, "n0", "n1"), []story{
		{"through both", told(named(own, "c/1"), named(other, "c/2")), Held},
		{"through one", told(named(own, "c/1"), failed(other, "c/2", "no-route")), Inconclusive},
		{"at another epoch", told(named(own, "c/1"), func() journal.Record {
			r := named(other, "c/2")
			r.HTTP.Header["epoch"] = "3"
			return r
		}()), Inconclusive},
		{"through one, and the other refuses for too long", told(named(own, "c/1"),
			at(failed(other, "c/2", "draining"), 2), at(failed(act{from: 15_301, to: 15_400, node: 1,
				homeEpoch: 2}, "c/3", "draining"), 2)), Violated},
		{"through one, and the other refuses for a time", told(named(own, "c/1"),
			at(failed(other, "c/2", "draining"), 2), at(failed(act{from: 15_300, to: 15_400, node: 1,
				homeEpoch: 2}, "c/3", "draining"), 2)), Inconclusive},
		{"through nobody", told(), Inconclusive},
	})
}

// at gives a refusal the epoch of the node that was asked.
func at(r journal.Record, epoch int) journal.Record {
	r.HTTP.Header = map[string]string{"epoch": fmt.Sprint(epoch)}
	return r
}
