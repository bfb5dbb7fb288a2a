package judge

import (
	"fmt"
	"testing"

	"holdfast/rig/journal"
)

// allIn makes records ones of a boot.
func allIn(boot int, records ...journal.Record) []journal.Record {
	for i := range records {
		records[i].Boot = boot
	}
	return records
}

// answeredWith is a read of "o" through a node that was refused with a word.
func answeredWith(at, node int, word string) journal.Record {
	r := act{from: at - 10, to: at, node: node, homeEpoch: 1, version: 1, read: true}.record()
	r.HTTP.Status, r.HTTP.Header, r.HTTP.Body = 503, nil, word+": because\n"
	return r
}

func TestAnAuthorityToWhichNobodyProvesAStateSaysSo(t *testing.T) {
	unproven := says(1000, 0, "mesh-fail: refused reason=unproven at=900")
	view := installed(2000, 2, 5, 1900)
	ok := func(at int) journal.Record {
		return act{from: at - 10, to: at, homeEpoch: 5, version: 1, read: true}.record()
	}
	tell(t, UnknownState("n0", 2), []story{
		{"unknown", allIn(2, unproven, answeredWith(1100, 0, "unknown"), complete(9000)), Held},
		{"unknown, and then served", allIn(2, unproven, answeredWith(1100, 0, "unknown"), view, ok(2100),
			complete(9000)), Held},
		{"served", allIn(2, unproven, answeredWith(1100, 0, "unknown"), ok(1200), view, complete(9000)),
			Violated},
		{"empty", allIn(2, unproven, answeredWith(1100, 0, "unknown"),
			answeredWith(1200, 0, "no-object"), complete(9000)), Violated},
		{"in another boot", allIn(1, unproven, answeredWith(1100, 0, "unknown"), complete(9000)),
			Inconclusive},
		{"in quarantine only", allIn(2, unproven, answeredWith(1100, 0, "not-current"), complete(9000)),
			Inconclusive},
		{"through another node", allIn(2, unproven, answeredWith(1100, 1, "unknown"), complete(9000)),
			Inconclusive},
		{"not said", allIn(2, answeredWith(1100, 0, "unknown"), complete(9000)), Inconclusive},
	})
}

func TestAnAuthorityThatMayStartEmptyHasNothing(t *testing.T) {
	old := inBoot(1, act{from: 100, to: 200, homeEpoch: 2, version: 1, value: "old"}.record())
	started := journal.Record{At: 1000 * ms, Kind: journal.KindBoot, Node: "n0", Boot: 2}
	empty := inBoot(2, answeredWith(1100, 0, "no-object"))
	again := inBoot(2, act{from: 1200, to: 1300, homeEpoch: 5, version: 1}.record())
	ghost := inBoot(2, act{from: 1400, to: 1500, homeEpoch: 5, version: 1, read: true,
		value: "old"}.record())
	tell(t, StartedEmpty("n0", 2), []story{
		{"empty, and serves", told(old, started, empty, again), Held},
		{"the old value", told(old, started, empty, again, ghost), Violated},
		{"not asked", told(old, started, again), Inconclusive},
		{"serves nothing", told(old, started, empty), Inconclusive},
		{"not started", told(old, empty, again), Inconclusive},
	})
}

func TestACopyIsNoOlderThanItSays(t *testing.T) {
	one := named(act{from: 100, to: 200, homeEpoch: 2, version: 1}, "c/1")
	two := named(act{from: 300, to: 400, homeEpoch: 2, version: 2}, "c/2")
	killed := []journal.Record{did(1000, 0, journal.ActionKill), {At: 1010 * ms,
		Kind: journal.KindExit, Node: "n0", Boot: 1, Exit: &journal.Exit{}}}
	view := installed(9000, 2, 5, 8900)
	copied := func(at, age, version int) journal.Record {
		r := act{from: at, to: at + 10, node: 1, homeEpoch: 2, version: version, read: true}.record()
		r.HTTP.Header["class"], r.HTTP.Header["age-ms"] = "stale-ok", fmt.Sprint(age)
		return r
	}
	with := func(more ...journal.Record) []journal.Record {
		return told(append(append([]journal.Record{one, two}, killed...), more...)...)
	}
	tell(t, StaleReads("n1", "n0"), []story{
		{"the newest", with(copied(3000, 2500, 2)), Held},
		{"as old as the grain allows", with(copied(3000, 1940, 2)), Held},
		{"younger than the authority is away", with(copied(3000, 1939, 2)), Violated},
		{"an older version, and so old", with(copied(3000, 2550, 1)), Held},
		{"an older version, and not so old", with(copied(3000, 2549, 1)), Violated},
		{"without an age", with(func() journal.Record {
			r := copied(3000, 2500, 2)
			delete(r.HTTP.Header, "age-ms")
			return r
		}()), Violated},
		{"when the authority is back", with(view, copied(9100, 10, 2)), Inconclusive},
		{"none", with(), Inconclusive},
	})
}
