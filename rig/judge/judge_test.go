package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// ids are those of n0 and n1 in these tests.
var ids = []string{
	id.Node(id.Sum([]byte("n0"))).String(),
	id.Node(id.Sum([]byte("n1"))).String(),
}

// begin is a journal's first record.
func begin() journal.Record {
	return journal.Record{Kind: journal.KindRun, Run: &journal.Run{
		Schema: journal.Schema, Fault: "test",
		Nodes: []journal.Node{
			{Name: "n0", ID: ids[0], Authority: true},
			{Name: "n1", ID: ids[1]},
		},
		Objects: []journal.Object{{Name: "lab-0", ID: id.ObjectOf("lab-0").String()}},
	}}
}

// runOf prepares the journal that has these records behind the first one.
func runOf(t *testing.T, records ...journal.Record) *Run {
	t.Helper()
	records = append([]journal.Record{begin()}, records...)
	for i := range records {
		records[i].N = i + 1
	}
	r, err := New(records)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const ms = journal.Time(1000)

func printed(at journal.Time, line string) journal.Record {
	return journal.Record{At: at, Kind: journal.KindConsole, Node: "n0", Boot: 1, Line: line}
}

// reading is an answer of n0 to GET /mesh.
func reading(sent, answered journal.Time, now int) journal.Record {
	body := fmt.Sprintf("node id=%s role=authority mesh=joined epoch=1 digest=%s mutable=1 "+
		"now_ms=%d\n", ids[0], ids[0], now)
	return journal.Record{At: answered, Kind: journal.KindHTTP, Node: "n0", Boot: 1,
		HTTP: &journal.HTTP{Method: "GET", Path: "/mesh", Sent: sent, Status: 200, Body: body}}
}

func frame(at journal.Time, port uint16, seq uint32, verdict string) journal.Record {
	return journal.Record{At: at, Kind: journal.KindFrame, Node: "n1",
		Frame: &journal.Frame{To: "n0", Verdict: verdict, Port: port, Seq: seq, Payload: 100}}
}

// passed is a frame that the relay let through.
func passed(at journal.Time, port uint16, seq uint32) journal.Record {
	return frame(at, port, seq, "forwarded")
}

func TestARunWithoutItsFirstRecordIsNone(t *testing.T) {
	for name, records := range map[string][]journal.Record{
		"nothing":       nil,
		"another first": {printed(1, "hello")},
		"a node without an id": {{Kind: journal.KindRun, Run: &journal.Run{
			Nodes: []journal.Node{{Name: "n0", ID: "x"}}}}},
		"an object without an id": {{Kind: journal.KindRun, Run: &journal.Run{
			Objects: []journal.Object{{Name: "lab-0", ID: "x"}}}}},
	} {
		if _, err := New(records); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAMarginIsJudgedAtItsBoundaries(t *testing.T) {
	const least, most = 6 * time.Second, 6500 * time.Millisecond
	for _, c := range []struct {
		value, unsharp time.Duration
		want           Status
	}{
		{least - 1, 0, Violated},
		{least, 0, Held},
		{least, 10, Held}, // the event was before the value by at most 10: still not surely early
		{most, 0, Held},
		{most, time.Second, Held},
		{most + 1, 0, Violated},
		{most + 1, 1, Inconclusive},
		{most + 10, 9, Violated},
		{most + 10, 10, Inconclusive},
	} {
		q := &inquiry{run: runOf(t)}
		q.cite(1)
		q.margin("suspect after", c.value, c.unsharp, least, most)
		r := q.result(Check{})
		if r.Status != c.want {
			t.Errorf("%v known to %v is %v, want %v: %s",
				c.value, c.unsharp, r.Status, c.want, r.Detail)
		}
		if r.Margin == nil || r.Margin.Slack != most-c.value {
			t.Errorf("%v has margin %+v", c.value, r.Margin)
		}
	}
}

func TestAConclusionNeedsEvidenceAndViolationsWin(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  func(*inquiry)
		want Status
	}{
		{"nothing", func(*inquiry) {}, Inconclusive},
		{"a fact without evidence", func(q *inquiry) { q.fact("it works") }, Inconclusive},
		{"evidence", func(q *inquiry) { q.cite(1) }, Held},
		{"evidence, but something missing",
			func(q *inquiry) { q.cite(1); q.missing("x") }, Inconclusive},
		{"something missing and something wrong",
			func(q *inquiry) { q.missing("x"); q.violated("y") }, Violated},
	} {
		if got := (Check{ask: c.ask}).Ask(runOf(t)); got.Status != c.want {
			t.Errorf("%s is %v, want %v", c.name, got.Status, c.want)
		}
	}
}

func TestAFieldThatIsNotThereIsWrong(t *testing.T) {
	q := &inquiry{run: runOf(t)}
	q.want("the row", evidence.New("mesh-fail", "disabled").Str("reason", "config"), "epoch=2")
	if r := q.result(Check{}); r.Status != Violated || r.Detail != "the row has no epoch" {
		t.Errorf("%v: %s", r.Status, r.Detail)
	}
}

func TestTheExitCodeOfARun(t *testing.T) {
	answers := map[Status]Check{
		Held:         {ask: func(q *inquiry) { q.cite(1) }},
		Violated:     {ask: func(q *inquiry) { q.violated("x") }},
		Inconclusive: {ask: func(q *inquiry) {}},
	}
	for _, c := range []struct {
		outcome  journal.Outcome
		statuses []Status
		want     Code
	}{
		{journal.Complete, []Status{Held, Held}, CodeHeld},
		{journal.Complete, nil, CodeInconclusive},
		{journal.Complete, []Status{Held, Inconclusive}, CodeInconclusive},
		{journal.Complete, []Status{Inconclusive, Violated}, CodeViolated},
		{journal.Stopped, []Status{Held}, CodeInconclusive},
		{journal.Deadline, []Status{Held}, CodeInconclusive},
		{journal.Refused, []Status{Held}, CodeInconclusive},
		{journal.Trouble, []Status{Held}, CodeTrouble},
		{journal.Trouble, []Status{Inconclusive}, CodeTrouble},
		{journal.Trouble, []Status{Violated}, CodeViolated},
		{journal.Interrupted, []Status{Inconclusive}, CodeTrouble},
		{"", []Status{Held}, CodeInconclusive}, // the rig was killed
	} {
		var checks []Check
		for _, s := range c.statuses {
			checks = append(checks, answers[s])
		}
		var end []journal.Record
		if c.outcome != "" {
			end = append(end, journal.Record{
				Kind: journal.KindEnd, End: &journal.End{Outcome: c.outcome},
			})
		}
		if v := Judge(runOf(t, end...), checks); v.Code != c.want {
			t.Errorf("%q with %v exits %d, want %d", c.outcome, c.statuses, v.Code, c.want)
		}
	}
}

func TestAClockLiesBetweenItsReadings(t *testing.T) {
	// The guest's counter began at 100 ms of the rig's. A reading of 400 between 495 and 505 ms says
	// that the offset is 94 to 105 ms; a line that was stamped 300 and read at 401 that it is at
	// most 101 ms.
	r := runOf(t, printed(401*ms, "mesh-fail: disabled reason=config at=300"),
		reading(495*ms, 505*ms, 400))
	c, ok := r.clockAt("n0", 2)
	if !ok {
		t.Fatal("no clock")
	}
	drift := (505 * time.Millisecond) * driftPPM / 1e6
	if c.low != 94*time.Millisecond-drift || c.high != 101*time.Millisecond+drift {
		t.Errorf("offset %v to %v, want 94 to 101 ms with %v of drift", c.low, c.high, drift)
	}
	from, to := c.at(1000)
	if early, late := 1094*ms-from, to-1102*ms; early < 0 || early > 100 || late < 0 || late > 100 {
		t.Errorf("1000 ms is %v to %v, want 1.094 s to 1.102 s and less than 0.1 ms more", from, to)
	}
}

func TestAClockWithoutAReadingOrWithAJumpIsNone(t *testing.T) {
	for name, r := range map[string]*Run{
		"only lines": runOf(t, printed(401*ms, "mesh-fail: disabled reason=config at=300")),
		"a jump":     runOf(t, reading(495*ms, 505*ms, 400), reading(2495*ms, 2505*ms, 600)),
		"another boot": runOf(t, printed(401*ms, "mesh-fail: disabled reason=config at=300"),
			func() journal.Record {
				r := reading(495*ms, 505*ms, 400)
				r.Boot = 2
				return r
			}()),
		"no answer": runOf(t, journal.Record{At: 5 * ms, Kind: journal.KindHTTP, Node: "n0", Boot: 1,
			HTTP: &journal.HTTP{Method: "GET", Path: "/mesh", Error: "timeout"}}),
	} {
		if c, ok := r.clockAt("n0", 2); ok {
			t.Errorf("%s gives %+v", name, c)
		}
	}
}

func TestTheLastFrameIsTheLastWithNewBytes(t *testing.T) {
	const end = 100 * ms
	for _, c := range []struct {
		name   string
		frames []journal.Record
		want   int // record number, 0 for none
	}{
		{"none", nil, 0},
		{"in order", []journal.Record{passed(1*ms, 1, 0), passed(2*ms, 1, 100)}, 3},
		{"sent again", []journal.Record{passed(1*ms, 1, 0), passed(2*ms, 1, 0)}, 2},
		{"dropped", []journal.Record{passed(1*ms, 1, 0), frame(2*ms, 1, 100, "dropped")}, 2},
		{"another session", []journal.Record{passed(1*ms, 1, 500), passed(2*ms, 2, 100)}, 3},
		{"a sequence number that wraps",
			[]journal.Record{passed(1*ms, 1, 1<<32-100), passed(2*ms, 1, 0)}, 3},
		{"too late", []journal.Record{passed(1*ms, 1, 0), passed(101*ms, 1, 100)}, 2},
	} {
		if last, _ := runOf(t, c.frames...).lastFrame("n1", "n0", end); last.N != c.want {
			t.Errorf("%s: record %d, want %d", c.name, last.N, c.want)
		}
	}
}

func TestTheWatchStopsARunThatIsNotWorthGoingOn(t *testing.T) {
	event := func(name, data string) journal.Record {
		return journal.Record{Kind: journal.KindEvent, Node: "n0", Boot: 1,
			Event: &journal.Event{Name: name, Data: data}}
	}
	action := journal.Record{Kind: journal.KindAction, Node: "n0", Boot: 1,
		Action: &journal.Action{Name: journal.ActionKill}}
	exit := journal.Record{Kind: journal.KindExit, Node: "n0", Boot: 1,
		Exit: &journal.Exit{Text: "exit status 1"}}
	later := exit
	later.Boot = 2
	for _, c := range []struct {
		name    string
		records []journal.Record
		want    Alarm
	}{
		{"boot chatter", []journal.Record{printed(1, "holdfast v1")}, Alarm{}},
		{"evidence", []journal.Record{printed(1, "mesh-fail: disabled reason=config at=3")}, Alarm{}},
		{"a pause", []journal.Record{printed(1, "mesh-fail: paused ms=1 kind=gap at=3")}, Alarm{}},
		{"a panic", []journal.Record{printed(1, "panic: mesh: x")},
			Alarm{Reason: "n0 printed `panic: mesh: x`", Panic: true}},
		{"garbage", []journal.Record{printed(1, "mesh-fail: lost at=3")},
			Alarm{Reason: "n0 printed `mesh-fail: lost at=3`, which is malformed: no such row"}},
		{"a start", []journal.Record{event("RESUME", "{}")}, Alarm{}},
		{"a reset", []journal.Record{event("RESET", "{}")},
			Alarm{Reason: "n0 had an unexpected RESET {}"}},
		{"an end that was asked for", []journal.Record{
			event("SHUTDOWN", `{"guest":false,"reason":"host-qmp-quit"}`)}, Alarm{}},
		{"a power-off", []journal.Record{event("SHUTDOWN", `{"reason":"guest-shutdown"}`)},
			Alarm{Reason: `n0 had an unexpected SHUTDOWN {"reason":"guest-shutdown"}`}},
		{"a death", []journal.Record{exit},
			Alarm{Reason: "n0's QEMU ended: exit status 1", Trouble: true}},
		{"a kill", []journal.Record{action, exit}, Alarm{}},
		{"a death after a kill and another start", []journal.Record{action, exit, later},
			Alarm{Reason: "n0's QEMU ended: exit status 1", Trouble: true}},
	} {
		var w Watch
		var got Alarm
		for _, r := range c.records {
			if alarm, ok := w.See(r); ok {
				got = alarm
			}
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestEveryCheckOfEveryRunHasAnOwnName(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range Health() {
		if seen[c.Name] || c.Name == "" || strings.ContainsAny(c.Name, " \t") || c.Source == "" {
			t.Errorf("check %q of %q", c.Name, c.Source)
		}
		seen[c.Name] = true
	}
}
