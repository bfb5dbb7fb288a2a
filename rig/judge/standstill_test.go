package judge

import (
	"fmt"
	"testing"
	"time"

	"holdfast/mesh/when"
	"holdfast/rig/journal"
)

func TestAStandstillIsWhatTheRigDid(t *testing.T) {
	stop, goOn := did(1000, 1, journal.ActionFreeze), did(4000, 1, journal.ActionThaw)
	for _, c := range []struct {
		records []journal.Record
		time    time.Duration
		want    Status
	}{
		{[]journal.Record{stop, goOn}, 3 * time.Second, Held},
		{[]journal.Record{stop, goOn}, 3*time.Second + time.Millisecond, Inconclusive},
		{[]journal.Record{stop}, time.Second, Inconclusive},
		{nil, time.Second, Inconclusive},
	} {
		if r := StoodStill("n1", c.time).Ask(runOf(t, c.records...)); r.Status != c.want {
			t.Errorf("%v for %v, want %v: %s", r.Status, c.time, c.want, r.Detail)
		}
	}
}

func TestANodeNoticesThatItStoodStill(t *testing.T) {
	stop, goOn := did(1000, 1, journal.ActionFreeze), did(4000, 1, journal.ActionThaw)
	paused := func(at, ms int) journal.Record {
		return says(at, 1, fmt.Sprintf("mesh-fail: paused ms=%d kind=rtc at=%d", ms, at))
	}
	tell(t, Noticed("n1"), []story{
		{"at once", []journal.Record{stop, goOn, paused(4100, 3900), complete(10_000)}, Held},
		{"never", []journal.Record{stop, goOn, complete(10_000)}, Violated},
		{"far too long", []journal.Record{stop, goOn, paused(4100, 5001), complete(10_000)}, Violated},
		{"not yet", []journal.Record{stop, goOn, complete(4100)}, Inconclusive},
		{"by a reset", []journal.Record{did(1000, 1, journal.ActionStall),
			did(9000, 1, journal.ActionResume), qmp(9001, "WATCHDOG"), qmp(9002, "RESET"),
			complete(20_000)}, Held},
	})
}

// qmp is an event of n1's machine.
func qmp(at int, name string) journal.Record {
	return journal.Record{At: journal.Time(at) * ms, Kind: journal.KindEvent, Node: "n1", Boot: 1,
		Event: &journal.Event{Name: name, Data: "{}"}}
}

func TestTheWatchdogBitesWhoWasNotFed(t *testing.T) {
	stall := func(until int, more ...journal.Record) []journal.Record {
		return append([]journal.Record{did(1000, 1, journal.ActionStall),
			did(until, 1, journal.ActionResume)}, more...)
	}
	tell(t, Bitten("n1", 3*time.Second), []story{
		{"long, and reset", stall(9000, qmp(9001, "WATCHDOG"), qmp(9002, "RESET")), Held},
		{"long, and not reset", stall(5001), Violated},
		{"short, and reset", stall(2999, qmp(3000, "WATCHDOG"), qmp(3001, "RESET")), Violated},
		{"short, and not reset", stall(2999), Held},
		{"in between, and reset", stall(4000, qmp(4000, "WATCHDOG"), qmp(4001, "RESET")), Held},
		{"in between, and not reset", stall(4000), Held},
		{"never went on", stall(4000)[:1], Inconclusive},
	})
}

func TestWhatAHaltCausesIsNoHazard(t *testing.T) {
	stall, goOn := did(1000, 1, journal.ActionStall), did(9000, 1, journal.ActionResume)
	freeze, thaw := did(1000, 1, journal.ActionFreeze), did(9000, 1, journal.ActionThaw)
	pause := func(at, node int) journal.Record {
		return says(at, node, "mesh-fail: paused ms=8000 kind=gap at=9000")
	}
	torn := says(9500, 1, "mesh-fail: disabled reason=conholdfast v1")
	for _, c := range []struct {
		name    string
		records []journal.Record
		want    map[hazard]int
	}{
		{"a pause", []journal.Record{freeze, thaw, pause(9100, 1)}, nil},
		{"a pause of the other node", []journal.Record{freeze, thaw, pause(9100, 0)},
			map[hazard]int{paused: 1}},
		{"a pause much later", []journal.Record{freeze, thaw, pause(14_001, 1)},
			map[hazard]int{paused: 1}},
		{"the watchdog", []journal.Record{stall, goOn, qmp(9001, "WATCHDOG"), qmp(9002, "RESET"),
			torn}, nil},
		{"two torn lines", []journal.Record{stall, goOn, qmp(9001, "WATCHDOG"), qmp(9002, "RESET"),
			torn, torn}, map[hazard]int{unparsable: 1}},
		{"a torn line without a reset", []journal.Record{stall, goOn, torn},
			map[hazard]int{unparsable: 1}},
		{"a reset without the watchdog", []journal.Record{stall, goOn, qmp(9002, "RESET")},
			map[hazard]int{restarted: 1}},
		{"a second reset", []journal.Record{stall, goOn, qmp(9001, "WATCHDOG"), qmp(9002, "RESET"),
			qmp(9003, "RESET")}, map[hazard]int{restarted: 1}},
		{"a watchdog whose time stood still, too", []journal.Record{freeze, thaw,
			qmp(9001, "WATCHDOG"), qmp(9002, "RESET")}, map[hazard]int{restarted: 1}},
		{"a watchdog much later", []journal.Record{stall, goOn, qmp(14_001, "WATCHDOG"),
			qmp(14_002, "RESET")}, map[hazard]int{restarted: 1}},
	} {
		got := make(map[hazard]int)
		for _, h := range runOf(t, c.records...).hazards {
			got[h]++
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) && len(got)+len(c.want) > 0 {
			t.Errorf("%s: hazards %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAClockStartsAnewAfterAStandstill(t *testing.T) {
	// The guest's counter is the rig's until it stands still for 8 s, and 8 s behind from then on.
	r := runOf(t, reading(490*ms, 500*ms, 495), reading(900*ms, 910*ms, 905),
		did(1000, 0, journal.ActionFreeze), did(9000, 0, journal.ActionThaw),
		reading(9490*ms, 9500*ms, 1495))
	for n, want := range map[int]time.Duration{2: 0, 6: 8 * time.Second} {
		c, ok := r.clockAt("n0", n)
		if !ok || c.low > want || c.high < want || c.unsharp() > 20*time.Millisecond {
			t.Errorf("at record %d the offset is %v to %v (%t), want %v", n, c.low, c.high, ok, want)
		}
	}
	told := Row{N: 6, Node: "n0", Boot: 1}
	for now, want := range map[int]time.Duration{900: 0, 1490: 8 * time.Second} {
		c, ok := r.clockOf(told, when.Instant(now))
		if !ok || c.low > want || c.high < want {
			t.Errorf("when the counter showed %d the offset is %v to %v, want %v", now, c.low, c.high,
				want)
		}
	}
}

// While a machine is armed its counter stands still, like that of a frozen one: here for 2 s.
func TestArmingAMachineIsAShortStandstill(t *testing.T) {
	arm := did(1000, 0, journal.ActionArm)
	arm.Action.Done = 3000 * ms
	paused := func(at int) journal.Record {
		return says(at, 0, fmt.Sprintf("mesh-fail: paused ms=2000 kind=rtc at=%d", at-2000))
	}
	r := runOf(t, reading(490*ms, 500*ms, 495), arm, reading(3490*ms, 3500*ms, 1495))
	for n, want := range map[int]time.Duration{2: 0, 4: 2 * time.Second} {
		if c, ok := r.clockAt("n0", n); !ok || c.low > want || c.high < want {
			t.Errorf("at record %d the offset is %v to %v (%t), want %v", n, c.low, c.high, ok, want)
		}
	}
	if h := runOf(t, arm, paused(7000)).hazards; len(h) != 0 {
		t.Errorf("a pause that comes of it is a hazard: %v", h)
	}
	if h := runOf(t, arm, paused(9000)).hazards; len(h) != 1 {
		t.Errorf("a pause much later is none: %v", h)
	}
}

func TestWhatABootTellsIsOfItsOwnCounter(t *testing.T) {
	reset := qmp(5000, "RESET")
	reset.Node = "n0"
	r := runOf(t, reading(490*ms, 500*ms, 495), reset, reading(6490*ms, 6500*ms, 495))
	for n, want := range map[int]time.Duration{2: 0, 4: 6 * time.Second} {
		c, ok := r.clockOf(Row{N: n, Node: "n0", Boot: 1}, 495)
		if !ok || c.low > want || c.high < want {
			t.Errorf("record %d tells of an offset of %v to %v (%t), want %v", n, c.low, c.high, ok,
				want)
		}
	}
}

func TestAClockStartsAnewWithAReset(t *testing.T) {
	reset := qmp(5000, "RESET")
	reset.Node = "n0"
	r := runOf(t, reading(490*ms, 500*ms, 495), reset, reading(6490*ms, 6500*ms, 495))
	for n, want := range map[int]time.Duration{2: 0, 4: 6 * time.Second} {
		if c, ok := r.clockAt("n0", n); !ok || c.low > want || c.high < want {
			t.Errorf("at record %d the offset is %v to %v (%t), want %v", n, c.low, c.high, ok, want)
		}
	}
}

func TestAReadingThatAResetInterruptedSaysNothingOfTheNextBoot(t *testing.T) {
	reset := qmp(5000, "RESET")
	reset.Node = "n0"
	// The first was read before the reset and answered after it.
	r := runOf(t, reading(490*ms, 500*ms, 495), reset, reading(4990*ms, 5100*ms, 4995),
		reading(6490*ms, 6500*ms, 495))
	const want = 6 * time.Second
	if c, ok := r.clockAt("n0", 4); !ok || c.low > want || c.high < want {
		t.Errorf("the offset is %v to %v (%t), want %v", c.low, c.high, ok, want)
	}
}
