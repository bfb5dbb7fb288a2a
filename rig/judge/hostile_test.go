package judge

import (
	"fmt"
	"testing"

	"holdfast/rig/journal"
)

// befell is an attack on n0 from one instant to another.
func befell(from, to int, name string, offered uint64) journal.Record {
	return journal.Record{At: journal.Time(from) * ms, Kind: journal.KindAction, Node: "n0", Boot: 1,
		Action: &journal.Action{Name: journal.ActionAttack, Detail: name, Offered: offered,
			Done: journal.Time(to) * ms}}
}

// hungry is an attack on n0, whose machine waited so many milliseconds for the host meanwhile.
func hungry(from, to int, waited int64) journal.Record {
	r := befell(from, to, "trickle", 5)
	r.Action.StarvedMS = waited
	return r
}

// page is a node's answer to a GET, which took ten milliseconds.
func page(at, node int, path, body string) journal.Record {
	return journal.Record{At: journal.Time(at) * ms, Kind: journal.KindHTTP,
		Node: fmt.Sprintf("n%d", node), Boot: 1,
		HTTP: &journal.HTTP{Method: "GET", Path: path, Sent: journal.Time(at-10) * ms, Status: 200,
			Body: body}}
}

func TestTheAttacksHaveToBeMade(t *testing.T) {
	all := func(offered uint64) []journal.Record {
		return []journal.Record{befell(100, 200, "garbage", 5), befell(300, 400, wrongKeys, offered),
			complete(9000)}
	}
	check := Attacked("n0", "garbage", wrongKeys)
	for offered, want := range map[uint64]Status{
		offeredLeast: Held, offeredLeast - 1: Inconclusive, 0: Inconclusive,
	} {
		if r := check.Ask(runOf(t, all(offered)...)); r.Status != want {
			t.Errorf("%d wrong keys: %v, want %v", offered, r.Status, want)
		}
	}
	if r := check.Ask(runOf(t, befell(300, 400, wrongKeys, offeredLeast), complete(9000))); r.Status !=
		Inconclusive {
		t.Errorf("one attack was not made: %v", r.Status)
	}
}

func TestThePairStaysJoined(t *testing.T) {
	mesh := func(at, node int, epoch, state string) journal.Record {
		return page(at, node, "/mesh", fmt.Sprintf("node id=%s role=authority mesh=%s epoch=%s "+
			"digest=%032x mutable=1 now_ms=%d\n", ids[node], state, epoch, 1, at))
	}
	start := func(at int) journal.Record {
		return says(at, 1, fmt.Sprintf("mesh-node: start node=%s role=member boot=%016x epoch=1 "+
			"ip=10.7.0.11 seed=nvram at=1", ids[1], at))
	}
	ticks := func(at, late int) journal.Record {
		return page(at, 1, HealthPath, fmt.Sprintf("bucket id=none most_ms=511 n=%d\n", late))
	}
	with := func(more ...journal.Record) []journal.Record {
		rs := []journal.Record{ticks(100, 3), befell(1000, 2000, "garbage", 5),
			mesh(2100, 0, "2", "joined"), mesh(2200, 1, "2", "joined"), ticks(2300, 3)}
		return append(append(rs, more...), complete(9000))
	}
	suspected := says(1500, 0, fmt.Sprintf(
		"mesh-fail: suspect node=%s epoch=2 silent_ms=6000 at=1500", ids[1]))
	tell(t, StillJoined(2, "n0", "n1"), []story{
		{"joined", with(), Held},
		{"suspected", with(suspected), Violated},
		{"suspected, on a host without time", with(suspected, ticks(2400, 4)), Inconclusive},
		{"suspected, and starved", append([]journal.Record{hungry(900, 1000, 51)}, with(suspected)...),
			Inconclusive},
		{"joined, though starved", append([]journal.Record{hungry(900, 1000, 51)}, with()...), Held},
		{"a view of epoch 3", with(installed(1500, 0, 3, 1400)), Violated},
		{"rebooted", with(start(10), start(1500)), Violated},
		{"joining", with(mesh(2300, 1, "2", "joining")), Violated},
		{"at epoch 4", with(mesh(2300, 1, "4", "joined")), Violated},
		{"one was not asked", []journal.Record{ticks(100, 3), befell(1000, 2000, "garbage", 5),
			mesh(2100, 0, "2", "joined"), mesh(900, 1, "2", "joined"), ticks(2300, 3), complete(9000)},
			Inconclusive},
		{"not to the end", with(suspected)[:6], Inconclusive},
	})
}

func TestTicksComeInTime(t *testing.T) {
	health := func(at, node, most, n int) journal.Record {
		return page(at, node, HealthPath, fmt.Sprintf("tick n=9 p50_ms=0 p99_ms=1 worst_ms=%d\n"+
			"bucket id=none most_ms=%d n=%d\nbucket id=%s most_ms=9999 n=7\n", most, most, n, ids[1]))
	}
	with := func(late0, late1 int) []journal.Record {
		return []journal.Record{health(100, 0, 511, 3), health(110, 1, 511, 3),
			befell(1000, 2000, "garbage", 5),
			health(2100, 0, 511, late0), health(2110, 1, 511, late1), complete(9000)}
	}
	tell(t, Punctual("n0", "n1"), []story{
		{"in time, but for the boot", with(3, 3), Held},
		{"one late", with(4, 3), Violated},
		{"one late here and there", with(4, 4), Inconclusive},
		{"late where nobody attacked", with(3, 4), Held},
		{"one late, and starved", append(with(4, 3)[:5], hungry(2200, 2300, 51), complete(9000)),
			Inconclusive},
		{"one late, and hardly starved", append(with(4, 3)[:5], hungry(2200, 2300, 50),
			complete(9000)), Violated},
		{"late within the bound", []journal.Record{health(100, 0, tickBucket, 3),
			health(110, 1, 9, 3), health(2100, 0, tickBucket, 5), health(2110, 1, 9, 3),
			complete(9000)}, Held},
		{"not asked", []journal.Record{health(100, 0, 9, 1), complete(9000)}, Inconclusive},
	})
}

// counted is a node's figures.
func counted(at int, memory, heap, handshakes int) journal.Record {
	return page(at, 0, MetricsPath, fmt.Sprintf("# HELP x y\n%s %d\n%s %d\n%s %d\n",
		memoryFigure, memory, heapFigure, heap, handshakeFigure, handshakes))
}

func TestMemoryIsFlat(t *testing.T) {
	with := func(during, after, heap int) []journal.Record {
		return []journal.Record{counted(100, 5<<20, 1<<20, 0), befell(1000, 2000, "garbage", 5),
			counted(1500, during, 1<<20, 0), counted(2100, after, heap, 0), complete(9000)}
	}
	tell(t, MemoryFlat("n0"), []story{
		{"flat", with(5<<20, 5<<20, 1<<20), Held},
		{"at the bounds", with(5<<20+memoryMost, 5<<20+memoryMost, 1<<20+heapMost), Held},
		{"too much for a while", with(5<<20+memoryMost+1, 5<<20, 1<<20), Violated},
		{"too much at the end", with(5<<20, 5<<20+memoryMost+1, 1<<20), Violated},
		{"a heap that stays", with(5<<20, 5<<20, 1<<20+heapMost+1), Violated},
		{"not asked afterwards", with(5<<20, 5<<20, 1<<20)[:3], Inconclusive},
	})
}

func TestFewConnectionsGetToCryptography(t *testing.T) {
	with := func(n ...int) []journal.Record {
		rs := []journal.Record{counted(1000, 1, 1, 3), befell(1001, 4000, wrongKeys, 30_000)}
		for i, n := range n {
			rs = append(rs, counted(2000+1000*i, 1, 1, n))
		}
		return append(rs, counted(6000, 1, 1, n[len(n)-1]), complete(9000))
	}
	tell(t, Admitted("n0"), []story{
		{"none", with(3, 3, 3), Held},
		{"five a second", with(8, 13, 18), Held},
		{"ten where the seconds may be two", with(13, 13, 13), Held},
		{"eleven there", with(14, 14, 14), Violated},
		{"ten a second for long", with(13, 23, 33), Violated},
		{"ten a second at the end", with(3, 3, 14), Violated},
		{"not asked before", with(8, 13, 18)[1:], Inconclusive},
	})
}

func TestTheHonestAreServed(t *testing.T) {
	every := func(step, to int) (list []act) {
		for at := 1000; at <= to; at += step {
			list = append(list, act{from: at - 50, to: at, version: at})
		}
		return list
	}
	attack := befell(2000, 20_000, "garbage", 5)
	with := func(list []act, others ...journal.Record) []journal.Record {
		ticks := "tick n=9 p50_ms=0 p99_ms=1 worst_ms=3\n"
		return acts(list, append(others, page(100, 1, HealthPath, ticks),
			page(30_000, 1, HealthPath, ticks))...)
	}
	starved := page(30_001, 1, HealthPath, "bucket id=none most_ms=999 n=1\n")
	refusal := act{from: 3000, to: 3010, version: 2}.record()
	refusal.HTTP.Status, refusal.HTTP.Body = 503, "full: no\n"
	tell(t, HonestServed([]string{"n0"}, "n1"), []story{
		{"served", with(every(500, 30_000), attack), Held},
		{"as rarely as may be", with(every(4000, 30_000), attack), Held},
		{"too rarely", with(every(4001, 30_000), attack), Violated},
		{"too rarely, on a host without time", with(every(4001, 30_000), attack, starved),
			Inconclusive},
		{"too rarely, and starved", with(every(4001, 30_000), attack, hungry(2000, 20_000, 9001)),
			Inconclusive},
		{"too rarely, and hardly starved", with(every(4001, 30_000), attack,
			hungry(2000, 20_000, 9000)), Violated},
		{"too rarely, and starved before", with(every(4001, 30_000), attack, hungry(2000, 4000, 2000)),
			Violated},
		{"served, though starved", with(every(500, 30_000), attack, hungry(2000, 4000, 1001)), Held},
		{"not any more", with(every(500, 15_999), attack), Violated},
		{"refused", with([]act{{from: 900, to: 950, version: 1}}, attack, refusal), Violated},
		{"not asked", with(nil, attack), Inconclusive},
		{"no attack", with(every(500, 30_000)), Inconclusive},
		{"not to the end", with(every(4001, 30_000), attack)[:9], Inconclusive},
	})
}
