package judge

import (
	"fmt"
	"testing"
	"time"

	"holdfast/rig/journal"
)

// inBoot makes a record one of another boot.
func inBoot(boot int, r journal.Record) journal.Record {
	r.Boot = boot
	return r
}

func installed(at, boot, epoch, uptime int) journal.Record {
	return inBoot(boot, says(at, 0, fmt.Sprintf("mesh-view: installed epoch=%d members=1 digest=%s "+
		"snapshot=%s at=%d", epoch, ids[0], ids[0], uptime)))
}

func TestARestartedAuthorityWaitsAndSignsNoEpochTwice(t *testing.T) {
	first := installed(100, 1, 2, 100)
	served := act{from: 14_000, to: 14_100, boot: 9, homeEpoch: 3, version: 1}.record()
	begins := journal.Record{At: 2000 * ms, Kind: journal.KindBoot, Node: "n0", Boot: 2}
	member := func(digest string) journal.Record {
		return says(14_000, 1, fmt.Sprintf("mesh-view: installed epoch=3 members=1 digest=%s "+
			"snapshot=%s at=13000", digest, ids[0]))
	}
	tell(t, Quarantine("n0", 12*time.Second, 2), []story{
		{"12 s, and the next epoch", []journal.Record{first, installed(15_000, 2, 3, 12_000)}, Held},
		{"a millisecond early", []journal.Record{first, installed(15_000, 2, 3, 11_999)}, Violated},
		{"the same epoch", []journal.Record{first, installed(15_000, 2, 2, 12_000)}, Violated},
		{"served before", []journal.Record{first, inBoot(2, served), installed(15_000, 2, 3, 12_000)},
			Violated},
		{"a member says it first", []journal.Record{first, begins, member(ids[0]),
			installed(15_000, 2, 3, 12_000)}, Held},
		{"a member has another view of the epoch", []journal.Record{first, begins, member(ids[1]),
			installed(15_000, 2, 3, 12_000)}, Violated},
		{"a member had it before the boot", []journal.Record{first, member(ids[0]), begins,
			installed(15_000, 2, 3, 12_000)}, Violated},
		{"nothing signed", []journal.Record{first}, Inconclusive},
	})
}

func TestAnAuthorityWithoutMarksDoesNothing(t *testing.T) {
	refuses := inBoot(2, says(100, 0, "mesh-fail: refused reason=marks at=50"))
	next := journal.Record{At: 9000 * ms, Kind: journal.KindBoot, Node: "n0", Boot: 3}
	served := act{from: 200, to: 300, boot: 9, homeEpoch: 3, version: 1}.record()
	tell(t, NoMarks("n0", 2), []story{
		{"says so", []journal.Record{refuses, next}, Held},
		{"signs all the same", []journal.Record{refuses, installed(200, 2, 3, 150), next}, Violated},
		{"serves all the same", []journal.Record{refuses, inBoot(2, served), next}, Violated},
		{"says nothing", []journal.Record{next}, Inconclusive},
		{"is still watched", []journal.Record{
			{Kind: journal.KindBoot, Node: "n0", Boot: 2}, refuses}, Inconclusive},
	})
}

func TestAMachineWithTheKeyOfALivingMemberIsKeptOut(t *testing.T) {
	refuses := says(100, 0, "mesh-join: refused node="+ids[1]+" reason=duplicate at=90")
	asked := refused(200, 210, "no-authority")
	committed := act{from: 200, to: 300, node: 1, home: 1, homeEpoch: 3, version: 1}.record()
	joins := says(300, 1, fmt.Sprintf("mesh-view: installed epoch=3 members=1 digest=%s "+
		"snapshot=%s at=250", ids[0], ids[0]))
	end := complete(9000)
	tell(t, Duplicate("n0", "n1"), []story{ // here n1 is the second machine
		{"refused", []journal.Record{refuses, asked, end}, Held},
		{"committed", []journal.Record{refuses, committed, end}, Violated},
		{"joined", []journal.Record{refuses, asked, joins, end}, Violated},
		{"never tried", []journal.Record{asked, end}, Inconclusive},
		{"never asked", []journal.Record{refuses, end}, Inconclusive},
	})
}
