package judge

import (
	"testing"

	"holdfast/rig/journal"
)

func TestACommitWhoseHomeWasKilledIsSettledOneWay(t *testing.T) {
	value := UnderWay + "n0"
	before := named(act{from: 10, to: 20, homeEpoch: 2, version: 1}, "c/1")
	under := func(from, to int, word string) journal.Record {
		return failed(act{from: from, to: to, homeEpoch: 2, version: 2, value: value}, "c/2", word)
	}
	again := named(act{from: 700, to: 800, homeEpoch: 3, version: 2, value: value}, "c/2")
	next := named(act{from: 900, to: 950, homeEpoch: 3, version: 3}, "c/3")
	killed, gone := did(200, 0, journal.ActionKill), journal.Record{At: 210 * ms, Boot: 1,
		Kind: journal.KindExit, Node: "n0", Exit: new(journal.Exit)}
	read := func(from, node, version int, value string) journal.Record {
		return named(act{from: from, to: from + 10, node: node, homeEpoch: 3, version: version,
			read: true, value: value}, "")
	}
	run := func(records ...journal.Record) []journal.Record {
		return append([]journal.Record{before, under(100, 220, ""), killed, gone},
			append(records, complete(100_000))...)
	}
	there := []journal.Record{read(500, 0, 2, value), read(600, 1, 2, value)}
	unmade := []journal.Record{read(500, 0, 1, "v1"), read(600, 1, 1, "v1")}
	tell(t, Settled("n0", true, "n0", "n1"), []story{
		{"found by both", run(there[0], there[1], again, next), Held},
		{"gone with the next commit", run(there[0], there[1], again, next, read(960, 0, 3, "v3")), Held},
		{"found by nobody", run(unmade[0], unmade[1], again), Violated},
		{"found by one", run(there[0], unmade[1], again), Violated},
		{"for one there is no object", run(there[0], nothing(act{from: 600, to: 610, node: 1,
			homeEpoch: 3, read: true}, "authoritative"), again), Violated},
		{"found, and later no more", run(there[0], there[1], again, read(850, 1, 1, "v1")), Violated},
		{"asked again, it is not known", run(there[0], there[1], under(700, 800, "unknown-outcome")),
			Violated},
		{"asked again, nobody answers", run(there[0], there[1], under(700, 800, "")), Inconclusive},
		{"not asked again", run(there[0], there[1]), Inconclusive},
		{"read by one", run(there[0], again), Inconclusive},
		{"read by one in time", run(there[0], again, next, read(960, 1, 3, "v3")), Inconclusive},
		{"answered before", told(before, named(act{from: 100, to: 150, homeEpoch: 2, version: 2,
			value: value}, "c/2"), killed, gone, there[0], there[1], again), Inconclusive},
		{"begun afterwards", told(before, killed, gone, under(300, 400, ""), there[0], there[1], again),
			Inconclusive},
		{"nobody killed", told(before, under(100, 220, ""), there[0], there[1], again), Inconclusive},
	})
	tell(t, Settled("n0", false, "n0", "n1"), []story{
		{"found by nobody", run(unmade[0], unmade[1], under(700, 800, "unknown-outcome")), Held},
		{"found by one", run(unmade[0], there[1], under(700, 800, "unknown-outcome")), Violated},
		{"asked again, it is done", run(unmade[0], unmade[1], again), Violated},
		{"read before the kill was over", run(read(205, 0, 1, "v1"), unmade[1],
			under(700, 800, "unknown-outcome")), Inconclusive},
	})
}
