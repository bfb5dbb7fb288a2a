package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

func verdictOn(t *testing.T, fault string, records []journal.Record) judge.Verdict {
	t.Helper()
	f, ok := Find(fault)
	if !ok {
		t.Fatalf("no fault %s", fault)
	}
	run, err := judge.New(records)
	if err != nil {
		t.Fatal(err)
	}
	return judge.Judge(run, f.AllChecks())
}

func TestAGoodRunOfEveryFaultHolds(t *testing.T) {
	for _, f := range All() {
		t.Run(f.Name, func(t *testing.T) {
			v := verdictOn(t, f.Name, good(f.Name))
			for _, r := range v.Results {
				if r.Status != judge.Held || len(r.Evidence) == 0 {
					t.Errorf("%s is %v: %s (records %v)", r.Name, r.Status, r.Detail, r.Evidence)
				}
			}
			if v.Code != judge.CodeHeld {
				t.Errorf("exit %d, want %d", v.Code, judge.CodeHeld)
			}
		})
	}
}

// damage is one way in which a good journal can be made worse, and what must notice it.
type damage struct {
	name   string
	do     func([]journal.Record) []journal.Record
	check  string // that must notice
	status judge.Status
	code   judge.Code
}

// clone copies records deeply, so that a damage does not reach the next one.
func clone(t *testing.T, records []journal.Record) []journal.Record {
	t.Helper()
	text, err := json.Marshal(records)
	if err != nil {
		t.Fatal(err)
	}
	var copied []journal.Record
	if err := json.Unmarshal(text, &copied); err != nil {
		t.Fatal(err)
	}
	return copied
}

// is says whether a record is a console line of a node that contains a text, or a request to it
// that is exactly the text, such as "GET /mesh".
func is(r journal.Record, node, text string) bool {
	if r.HTTP != nil {
		return r.Node == node && r.HTTP.Method+" "+r.HTTP.Path == text
	}
	return r.Node == node && strings.Contains(r.Line, text)
}

// pick finds the nth such record, from 1. It panics when there is none: then the damage would say
// nothing.
func pick(records []journal.Record, node, text string, nth int) int {
	for i, r := range records {
		if is(r, node, text) {
			if nth--; nth == 0 {
				return i
			}
		}
	}
	panic("no record of " + node + " with " + text)
}

// drop leaves out all such records.
func drop(node, text string) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		pick(records, node, text, 1)
		return renumber(slices.DeleteFunc(records, func(r journal.Record) bool {
			return is(r, node, text)
		}))
	}
}

// dropRow leaves the line that contains a text out of the nth answer to a request.
func dropRow(node, request string, nth int, text string) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		h := records[pick(records, node, request, nth)].HTTP
		lines := slices.Collect(strings.Lines(h.Body))
		i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, text) })
		h.Body = strings.Join(slices.Delete(lines, i, i+1), "")
		return records
	}
}

// replace changes a line, or an answer, of the first record of a node that contains a text.
func replace(node, text, old, new string) func([]journal.Record) []journal.Record {
	return replaceNth(node, text, 1, old, new)
}

func replaceNth(node, text string, nth int, old, new string) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		r := &records[pick(records, node, text, nth)]
		before := *r
		r.Line = strings.Replace(r.Line, old, new, 1)
		if r.HTTP != nil {
			body := strings.Replace(r.HTTP.Body, old, new, 1)
			if body == r.HTTP.Body {
				panic("nothing to replace in " + body)
			}
			r.HTTP.Body = body
		} else if r.Line == before.Line {
			panic("nothing to replace in " + r.Line)
		}
		return records
	}
}

// result changes the result of a lab step, on the console and in the answer.
func result(node string, step int, old, new string) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		records = replace(node, fmt.Sprintf("result step=%d ", step), old, new)(records)
		return replace(node, fmt.Sprintf("POST /mesh/step/%d", step), old, new)(records)
	}
}

// after puts records behind the nth one of a node that contains a text, at its instant.
func after(node, text string, added ...journal.Record) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		i := pick(records, node, text, 1)
		for j := range added {
			added[j].At, added[j].Node, added[j].Boot = records[i].At, node, records[i].Boot
		}
		return renumber(slices.Insert(records, i+1, added...))
	}
}

func line(text string) journal.Record {
	return journal.Record{Kind: journal.KindConsole, Line: text}
}

func event(name, data string) journal.Record {
	return journal.Record{Kind: journal.KindEvent, Event: &journal.Event{Name: name, Data: data}}
}

// again prints the line of a record once more behind it.
func again(node, text string) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		return after(node, text, line(records[pick(records, node, text, 1)].Line))(records)
	}
}

func renumber(records []journal.Record) []journal.Record {
	for i := range records {
		records[i].N = i + 1
	}
	return records
}

// until cuts the journal off before a record and ends it there.
func until(node, text string, end journal.End) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		i := pick(records, node, text, 1)
		at := records[i].At
		records = append(records[:i:i],
			journal.Record{Kind: journal.KindAction, Node: node, Boot: 1,
				Action: &journal.Action{Name: journal.ActionQuit, Done: at}},
			journal.Record{Kind: journal.KindExit, Node: node, Boot: 1,
				Exit: &journal.Exit{Text: "exit status 0"}},
			journal.Record{Kind: journal.KindEnd, End: &end})
		for j := i; j < len(records); j++ {
			records[j].At = at
		}
		return renumber(records)
	}
}

// shift moves what happens from a record on by so many milliseconds.
func shift(node, text string, ms int64) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		for i := pick(records, node, text, 1); i < len(records); i++ {
			records[i].At += journal.Time(ms * 1000)
			if h := records[i].HTTP; h != nil {
				h.Sent += journal.Time(ms * 1000)
			}
		}
		return records
	}
}

// both does two damages.
func both(a, b func([]journal.Record) []journal.Record) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record { return b(a(records)) }
}

func other(hex string) string { return strings.Repeat("ab", len(hex)/2) }

func TestDamageIsNoticed(t *testing.T) {
	for fault, damages := range map[string][]damage{
		"none": noneDamages(), "kill-peer": killPeerDamages(), "no-peer": noPeerDamages(),
	} {
		noticed := make(map[string]bool)
		for _, d := range damages {
			t.Run(fault+"/"+d.name, func(t *testing.T) { d.notice(t, fault) })
			noticed[d.check] = noticed[d.check] || d.status != judge.Held
		}
		f, _ := Find(fault)
		for _, c := range f.Checks {
			if !noticed[c.Name] {
				t.Errorf("no damage to a %s run shows that its check %s can fail", fault, c.Name)
			}
		}
	}
}

func noneDamages() []damage {
	s := newStory("none")
	n1 := s.id(member)
	return []damage{
		{"no confirmation", drop(member, "mesh-join: confirmed"), "join",
			judge.Inconclusive, judge.CodeInconclusive},
		{"a home against the scores", dropRow(root, "GET /mesh/homes", 1, "name=lab-0"),
			"homes-by-score", judge.Violated, judge.CodeViolated},
		{"a read at the wrong home", result(member, 1, "home="+s.id(root), "home="+n1), "step-1",
			judge.Violated, judge.CodeViolated},
		{"a commit that timed out once", result(root, 5, "timeouts=0", "timeouts=1"), "step-5",
			judge.Violated, judge.CodeViolated},
		{"a suspicion", after(root, "result step=5",
			line("mesh-fail: suspect node="+n1+" epoch=2 silent_ms=6000 at=7000")),
			"nothing-detected", judge.Violated, judge.CodeViolated},
		{"a fence", after(root, "result step=5", line(fmt.Sprintf(
			"mesh-route: fence object=%s stale_home=%s stale_home_epoch=2 home=%s home_epoch=3 "+
				"reason=left-view at=2000", s.homed(member), n1, s.id(root)))),
			"nothing-detected", judge.Violated, judge.CodeViolated},
		{"a lease that a join took away", after(root, "mesh-join: confirmed", line(fmt.Sprintf(
			"mesh-route: fence object=%s stale_home=%s stale_home_epoch=1 home=%s home_epoch=2 "+
				"reason=lease-left-view at=900", s.homed(member), s.id(root), n1))),
			"nothing-detected", judge.Held, judge.CodeHeld},
	}
}

func noPeerDamages() []damage {
	s := newStory("no-peer")
	n0, n1 := s.id(root), s.id(member)
	return []damage{
		{"a new epoch", replaceNth(root, "GET /mesh", 2, "epoch=1", "epoch=2"), "first-epoch-kept",
			judge.Violated, judge.CodeViolated},
		{"another digest", replaceNth(root, "GET /mesh", 2, digest(1), digest(2)), "first-epoch-kept",
			judge.Violated, judge.CodeViolated},
		{"a root that calls itself a member", replace(root, "GET /mesh", "role=authority", "role=member"),
			"first-epoch-kept", judge.Violated, judge.CodeViolated},
		{"a run that was too short", func(rs []journal.Record) []journal.Record {
			i := pick(rs, root, "GET /mesh", 2)
			return renumber(slices.Delete(rs, i, i+1))
		}, "first-epoch-kept", judge.Inconclusive, judge.CodeInconclusive},
		{"a confirmation", after(root, "mesh-node: start", line("mesh-join: confirmed node="+n1+
			" epoch=2 members=2 digest="+digest(2)+" snapshot="+n0+" incarnation=2 at=900")),
			"nobody-confirmed", judge.Violated, judge.CodeViolated},
		{"a link", after(root, "mesh-node: start",
			line("mesh-link: up node="+n1+" remote=10.7.0.11:49155 slot=0 at=900")),
			"nobody-confirmed", judge.Violated, judge.CodeViolated},
		{"a removal", after(root, "mesh-node: start", line("mesh-fail: removed node="+n1+
			" epoch=2 members=1 digest="+digest(2)+" snapshot="+n0+" at=900")),
			"nothing-detected", judge.Violated, judge.CodeViolated},
		{"a root that may not commit", replaceNth(root, "GET /mesh", 2, "mutable=1", "mutable=0"),
			"serves-alone", judge.Violated, judge.CodeViolated},
		{"an object elsewhere", replaceNth(root, "GET /mesh/homes", 2, "home="+n0, "home="+n1),
			"serves-alone", judge.Violated, judge.CodeViolated},
		{"a run that did not end", until(root, "GET /mesh/route",
			journal.End{Outcome: journal.Deadline}), "serves-alone",
			judge.Inconclusive, judge.CodeInconclusive},
	}
}

func killPeerDamages() []damage {
	const (
		held, wrong, open         = judge.CodeHeld, judge.CodeViolated, judge.CodeInconclusive
		violated, inconclusive    = judge.Violated, judge.Inconclusive
		confirmed, failed, fence  = "mesh-join: confirmed", "mesh-fail: failed", "mesh-route: fence"
		suspect, removed, counter = "mesh-fail: suspect", "mesh-fail: removed", "GET /mesh/route"
	)
	s := newStory("kill-peer")
	n0, n1 := s.id(root), s.id(member)
	dead := journal.End{Outcome: journal.Deadline, Reason: "too slow"}
	return []damage{
		// Health.
		{"a panic", after(root, suspect, line("panic: mesh: two homes")), "no-panic", violated, wrong},
		{"a panic of the runtime", after(member, "mesh-node", line("panic: runtime error: index out of range")),
			"no-panic", violated, wrong},
		{"a malformed line", after(root, suspect, line("mesh-fail: suspect node=zz at=1")),
			"evidence-parses", violated, wrong},
		{"a line without at=", after(root, suspect, line("mesh-fail: disabled reason=config")),
			"evidence-parses", violated, wrong},
		{"a reset", after(root, suspect, event("RESET", `{"guest":true,"reason":"guest-reset"}`)),
			"no-reset", inconclusive, open},
		{"a power-off", after(root, suspect, event("SHUTDOWN", `{"guest":true,"reason":"guest-shutdown"}`)),
			"no-reset", inconclusive, open},
		{"a QEMU that ends by itself", after(root, suspect,
			journal.Record{Kind: journal.KindExit, Exit: &journal.Exit{Text: "ended by killed"}}),
			"no-reset", inconclusive, open},
		{"a pause", after(member, confirmed, line("mesh-fail: paused ms=1400 kind=gap at=900")),
			"no-pause", inconclusive, open},
		{"lost console bytes", after(root, suspect, line("[console: 12 bytes lost, receiver too slow]")),
			"console-complete", inconclusive, open},
		{"trouble with the rig", after(root, suspect,
			journal.Record{Kind: journal.KindTrouble, Trouble: "3 frames are missing from the capture"}),
			"rig-well", inconclusive, open},
		{"a clock that stood still", shift(root, failed, 2000), "clocks-even", inconclusive, open},
		{"two digests of an epoch", replace(member, "mesh-view: installed", digest(2), digest(9)),
			"one-view-an-epoch", violated, wrong},
		{"a fork", after(root, suspect, line("mesh-fail: fork epoch=2 have="+digest(1)+" got="+digest(2)+" at=9")),
			"one-view-an-epoch", violated, wrong},

		// Join and steps 1 and 5.
		{"a confirmation of another digest", replace(member, confirmed, digest(2), digest(9)),
			"join", violated, wrong},
		{"a confirmation at another incarnation", replace(root, confirmed, "incarnation=2", "incarnation=1"),
			"join", violated, wrong},
		{"a confirmation of another node", replace(root, confirmed, "node="+n1, "node="+other(n1)),
			"join", violated, wrong},
		{"no confirmation at the member", drop(member, confirmed), "join", inconclusive, open},
		{"two confirmations", again(root, confirmed), "join", violated, wrong},
		{"a refused join", after(root, confirmed,
			line("mesh-join: refused node="+n1+" reason=duplicate at=800")), "join", violated, wrong},
		{"a member that lists one member", dropRow(member, "GET /mesh", 1, "member id="+n0), "join", violated, wrong},
		{"a home against the scores", replace(member, "GET /mesh/homes", "home="+n1, "home="+n0),
			"homes-by-score", violated, wrong},
		{"a step in two attempts", result(member, 1, "attempts=1", "attempts=2"), "step-1", violated, wrong},
		{"a step that was not asked for", both(drop(root, "POST /mesh/step/5"), drop(root, "result step=5")),
			"step-5", inconclusive, open},
		{"a step that the console does not show", drop(root, "result step=5"), "step-5", inconclusive, open},
		{"a refused commit", result(root, 5, "status=ok", "status=not-current"), "step-5", violated, wrong},

		// Detection.
		{"suspicion 1 ms early", replace(root, suspect, "silent_ms=6000", "silent_ms=5999"),
			"suspect-own-clock", violated, wrong},
		{"suspicion at the last allowed moment",
			replace(root, suspect, "silent_ms=6000", "silent_ms=6500"), "suspect-own-clock", judge.Held, held},
		{"suspicion 1 ms late", replace(root, suspect, "silent_ms=6000", "silent_ms=6501"),
			"suspect-own-clock", violated, wrong},
		{"failure 1 ms early", replace(root, failed, "silent_ms=12001", "silent_ms=11999"),
			"failed-own-clock", violated, wrong},
		{"failure 1 ms late", replace(root, failed, "silent_ms=12001", "silent_ms=12501"),
			"failed-own-clock", violated, wrong},
		{"another node's suspicion", replace(root, suspect, "node="+n1, "node="+n0),
			"suspect-own-clock", violated, wrong},
		{"a second suspicion", again(root, suspect), "suspect-own-clock", violated, wrong},
		{"a frame that passed later than the root says", moveFrame(20), "failed-rig-clock", violated, wrong},
		{"a frame that passed much earlier than the root says", moveFrame(-700),
			"failed-rig-clock", violated, wrong},
		{"no frames", func(rs []journal.Record) []journal.Record {
			return renumber(slices.DeleteFunc(rs, func(r journal.Record) bool { return r.Frame != nil }))
		}, "suspect-rig-clock", inconclusive, open},
		{"no suspicion although it was overdue", drop(root, suspect), "suspect-own-clock", violated, wrong},
		{"a run that ends before the suspicion", until(root, suspect, dead),
			"suspect-own-clock", inconclusive, open},
		{"a run that ends before the failure", until(root, failed, dead),
			"failed-own-clock", inconclusive, open},
		{"a run that the user ended", until(root, failed, journal.End{Outcome: journal.Interrupted}),
			"failed-own-clock", inconclusive, judge.CodeTrouble},

		// Removal and fences.
		{"a removal at epoch 4", replace(root, removed, "epoch=3", "epoch=4"), "removed", inconclusive, wrong},
		{"a removal by the member", after(member, confirmed, line("mesh-fail: removed node="+n0+
			" epoch=3 members=1 digest="+digest(3)+" snapshot="+n1+" at=900")), "removed", violated, wrong},
		{"two removals", again(root, removed), "removed", violated, wrong},
		{"a removal that leaves two members", replace(root, removed, "members=1", "members=2"),
			"removed", violated, wrong},
		{"a home row of the old epoch", replaceNth(root, "GET /mesh/homes", 4, "home_epoch=3", "home_epoch=2"),
			"homes-recomputed", violated, wrong},
		{"a home row that is missing", dropRow(root, "GET /mesh/homes", 4, "name=lab-3"),
			"homes-recomputed", violated, wrong},
		{"a home row of the dead member", replaceNth(root, "GET /mesh/homes", 4, "home="+n0, "home="+n1),
			"homes-recomputed", violated, wrong},
		{"a fence that is missing", func(rs []journal.Record) []journal.Record {
			i := pick(rs, root, fence, 1)
			return renumber(slices.Delete(rs, i, i+1))
		}, "fences", violated, wrong},
		{"no fence at all", drop(root, fence), "fences", violated, wrong},
		{"a repeated fence", again(root, fence), "fences", violated, wrong},
		{"a fence of an object that was at the root", after(root, fence, line(fmt.Sprintf(
			"mesh-route: fence object=%s stale_home=%s stale_home_epoch=2 home=%s home_epoch=3 "+
				"reason=left-view at=20000", s.homed(root), n1, n0))), "fences", violated, wrong},
		{"a fence that names the root as stale", replace(root, fence, "stale_home="+n1, "stale_home="+n0),
			"fences", violated, wrong},
		{"a fence of the old epoch", replace(root, fence, "home_epoch=3 reason", "home_epoch=2 reason"),
			"fences", violated, wrong},

		// Steps 6 to 8.
		{"a send in step 6", result(root, 6, "sends=0", "sends=1"), "step-6", violated, wrong},
		{"a send that only the counters show", replaceNth(root, counter, 5, "sends=1", "sends=2"),
			"step-6", violated, wrong},
		{"a step 6 of an object without a fence",
			result(root, 6, "object="+s.homed(member).String(), "object="+s.homed(root).String()),
			"step-6", violated, wrong},
		{"an old frame that is served", result(root, 7, "status=stale-epoch", "status=ok"),
			"step-7", violated, wrong},
		{"an old frame refused as a replay", result(root, 7, "status=stale-epoch", "status=replay"),
			"step-7", violated, wrong},
		{"a counter that does not say stale-epoch",
			replaceNth(root, counter, 6, "last_replay=stale-epoch", "last_replay=replay"),
			"step-7", violated, wrong},
		{"a commit by an old frame", replaceNth(root, counter, 6, "commits=0", "commits=1"),
			"step-7", violated, wrong},
		{"a commit at the old epoch", result(root, 8, "epoch=3 home_epoch", "epoch=2 home_epoch"),
			"step-8", violated, wrong},
		{"a commit to another object", result(root, 8, "object="+s.homed(member).String(),
			"object="+s.homed(root).String()), "step-8", violated, wrong},

		// Rejoin and step 10.
		{"a rejoin with another digest at the root", both(
			replaceNth(root, confirmed, 2, digest(4), digest(9)),
			replaceNth(root, "GET /mesh", 8, digest(4), digest(9))), "rejoin", violated, wrong},
		{"a return in the same boot", func(rs []journal.Record) []journal.Record {
			first := rs[pick(rs, member, "mesh-node: start", 1)].Line
			rs[pick(rs, member, "mesh-node: start", 2)].Line = first
			return rs
		}, "new-boot", violated, wrong},
		{"a commit at the root that belongs to the member", result(root, 10, "home="+n1, "home="+n0),
			"step-10", violated, wrong},
		{"no end", func(rs []journal.Record) []journal.Record { return rs[:len(rs)-1] },
			"step-10", judge.Held, open},
	}
}

// moveFrame moves the instant at which the member's last frame passed the relay.
func moveFrame(ms int64) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		for i, r := range records {
			if r.Frame != nil && r.Node == member {
				records[i].At += journal.Time(ms * 1000)
			}
		}
		return records
	}
}

func (d damage) notice(t *testing.T, fault string) {
	v := verdictOn(t, fault, d.do(clone(t, good(fault))))
	i := slices.IndexFunc(v.Results, func(r judge.Result) bool { return r.Name == d.check })
	if i < 0 {
		t.Fatalf("%s has no check %s", fault, d.check)
	}
	if r := v.Results[i]; r.Status != d.status {
		t.Errorf("%s is %v, want %v: %s", r.Name, r.Status, d.status, r.Detail)
	}
	if v.Code != d.code {
		t.Errorf("exit %d, want %d", v.Code, d.code)
		for _, r := range v.Results {
			if r.Status != judge.Held {
				t.Logf("%s is %v: %s", r.Name, r.Status, r.Detail)
			}
		}
	}
}
