package progress

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"holdfast/mesh/timing"
	"holdfast/rig/journal"
	"holdfast/rig/scenario"
)

// shown are the lines that are on a terminal: what was written after the last that was cleared.
func shown(s *screen) []string {
	text := s.String()
	return strings.Split(text[strings.LastIndex(text, clearLine)+len(clearLine):], "\n")
}

// story feeds a reporter with the records of a stored run up to the first one that matches.
func story(t *testing.T, r *Reporter, fault string, until func(journal.Record) bool) {
	t.Helper()
	records, err := scenario.StoredRun(fault)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range records {
		r.See(record)
		if until(record) {
			return
		}
	}
	t.Fatal("no such record")
}

func prints(node, text string) func(journal.Record) bool {
	return func(r journal.Record) bool {
		return r.Node == node && strings.Contains(r.Line, text)
	}
}

func TestATerminalShowsEveryNodeAndTheFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(screen)
		r := New(out, "kill-peer", 100)
		story(t, r, "kill-peer", prints("n0", "mesh-fail: suspect"))
		through := r.Wait("`mesh-fail: failed` at n0", 16*time.Second)
		pass(350 * time.Millisecond)
		lines := shown(out)
		through(nil)
		want := []string{
			"kill-peer: waiting for `mesh-fail: failed` at n0: 0.3 of 16 s",
			"  ## n1: killed, for 0.3 s",
			"  n0  joined   epoch 2   mutable   lease ",
			"  n1  off      epoch -   -         lease -",
		}
		if len(lines) != len(want) {
			t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), strings.Join(lines, "\n"))
		}
		for i := range want {
			if !strings.HasPrefix(lines[i], want[i]) {
				t.Errorf("line %d is %q, want %q", i, lines[i], want[i])
			}
			if n := utf8.RuneCountInString(lines[i]); n > 99 {
				t.Errorf("line %d has %d columns of 100", i, n)
			}
		}
		if !strings.Contains(lines[2], "mesh-fail: suspect node=n1 epoch=2") {
			t.Errorf("n0's newest line is missing, with names for ids: %q", lines[2])
		}
		if end := strings.Repeat(clearLine+lineUp, 3) + clearLine; !strings.HasSuffix(out.String(), end) {
			t.Error("the lines stay when the wait is over")
		}
	})
}

func TestWhatANodeIsDoing(t *testing.T) {
	for _, c := range []struct {
		fault, node string
		until       func(journal.Record) bool
		state       string
	}{
		{"kill-peer", "n1", func(r journal.Record) bool { return r.Kind == journal.KindRun }, "off"},
		{"kill-peer", "n1", func(r journal.Record) bool {
			return r.Kind == journal.KindBoot && r.Node == "n1"
		}, "starts"},
		{"kill-peer", "n1", prints("n1", "mesh-node: start"), "joining"},
		{"kill-peer", "n0", prints("n0", "mesh-view: installed"), "alone"},
		{"kill-peer", "n1", prints("n1", "mesh-join: confirmed"), "joined"},
		{"kill-peer", "n0", prints("n0", "mesh-fail: removed"), "alone"},
		{"partition", "n1", prints("n1", "state=lost"), "isolated"},
		{"partition", "n1", prints("n1", "state=restored"), "joined"},
	} {
		r := New(new(screen), c.fault, 100)
		story(t, r, c.fault, c.until)
		if got := r.board.node(c.node).state; got != c.state {
			t.Errorf("%s of %s is %q, want %q", c.node, c.fault, got, c.state)
		}
	}
}

func TestAFaultLastsUntilItIsUndone(t *testing.T) {
	act := func(name, node, peer string) journal.Record {
		return journal.Record{Kind: journal.KindAction, Node: node, Boot: 1,
			Action: &journal.Action{Name: name, Peer: peer, Detail: "lose what goes"}}
	}
	var b board
	b.see(journal.Record{Kind: journal.KindRun, Run: &journal.Run{
		Nodes: []journal.Node{{Name: "n0"}, {Name: "n1"}}}}, time.Time{})
	for _, c := range []struct {
		record journal.Record
		bands  int
		state  string // of n1
	}{
		{act(journal.ActionImpair, "n0", "n1"), 1, "off"},
		{act(journal.ActionImpair, "n1", "n0"), 2, "off"},
		{act(journal.ActionImpair, "n1", "n0"), 2, "off"},
		{act(journal.ActionHeal, "n0", "n1"), 0, "off"},
		{act(journal.ActionFreeze, "n1", ""), 1, "frozen"},
		{act(journal.ActionThaw, "n1", ""), 0, "off"},
		{act(journal.ActionStall, "n1", ""), 1, "stalled"},
		{act(journal.ActionResume, "n1", ""), 0, "off"},
		{act(journal.ActionKill, "n1", ""), 1, "off"},
		{journal.Record{Kind: journal.KindBoot, Node: "n1", Boot: 2}, 0, "starts"},
	} {
		b.see(c.record, time.Time{})
		if len(b.bands) != c.bands || b.node("n1").state != c.state {
			t.Errorf("after %+v: %d bands, n1 is %s; want %d, %s", c.record, len(b.bands),
				b.node("n1").state, c.bands, c.state)
		}
	}
}

func TestALeaseRunsOut(t *testing.T) {
	var b board
	now := time.Unix(100, 0)
	b.see(journal.Record{Kind: journal.KindRun, Run: &journal.Run{
		Nodes: []journal.Node{{Name: "n1"}}}}, now)
	b.see(journal.Record{Kind: journal.KindHTTP, Node: "n1", Boot: 1, HTTP: &journal.HTTP{Status: 200,
		Path: "/mesh/route", Body: "mesh-route: authority state=current epoch=2 mutable=1 " +
			"write_lease_ms=5800 lease_sent_ms=8000 at=9000\n"}}, now)
	for after, want := range map[time.Duration]string{
		0: "mutable   lease 5.8+ s", 5 * time.Second: "lease 0.8+ s", 6 * time.Second: "lease -",
	} {
		if line := b.lines(now.Add(after))[0]; !strings.Contains(line, want) {
			t.Errorf("after %v: %q, want %q", after, line, want)
		}
	}
}

func TestWhatANodePrintsCannotDriveTheTerminal(t *testing.T) {
	if got := short("a\x1b[2Jb\tc\u009b", 5); got != "a?[2J" {
		t.Errorf("got %q", got)
	}
	if got := short("ab", 0); got != "" {
		t.Errorf("got %q", got)
	}
}

// stuck is a terminal that takes nothing until it is let.
type stuck struct{ let chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	<-s.let
	return len(p), nil
}

func TestATerminalThatTakesNothingDoesNotHoldUpTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terminal := stuck{make(chan struct{})}
		r := New(terminal, "none", 80)
		go r.Say("something")
		synctest.Wait() // it is stuck now
		r.See(journal.Record{Kind: journal.KindRun, Run: new(journal.Run)})
		close(terminal.let)
	})
}

// TestTheFramesSayHowLongALeaseCanLast has a member ask and be answered, and asks nobody.
func TestTheFramesSayHowLongALeaseCanLast(t *testing.T) {
	var b board
	at := func(seconds float64) time.Time {
		return time.Unix(100, 0).Add(time.Duration(seconds * float64(time.Second)))
	}
	frame := func(seconds float64, from, to, verdict string) {
		b.see(journal.Record{Kind: journal.KindFrame, Node: from,
			Frame: &journal.Frame{To: to, Verdict: verdict}}, at(seconds))
	}
	lease := func(seconds float64, want string) {
		t.Helper()
		if line := b.lines(at(seconds))[1]; !strings.Contains(line, "lease "+want) {
			t.Errorf("at %v s: %q, want lease %s", seconds, line, want)
		}
	}
	b.see(journal.Record{Kind: journal.KindRun, Run: &journal.Run{Nodes: []journal.Node{
		{Name: "n0", Authority: true}, {Name: "n1"}}}}, at(0))
	frame(1, "n0", "n1", "forwarded")
	lease(1, "-") // nobody has asked
	frame(2, "n1", "n0", "forwarded")
	lease(2, "-") // nobody has answered
	frame(3, "n0", "n1", "forwarded")
	lease(3, "<5.0 s")
	frame(4, "n1", "n0", "dropped")
	frame(5, "n0", "n1", "forwarded")
	lease(5, "<3.0 s")
	lease(9, "-")
	b.nodes, b.lease = nil, 0
	b.see(journal.Record{Kind: journal.KindRun, Run: &journal.Run{Nodes: []journal.Node{
		{Name: "n0", Authority: true}, {Name: "n1"}}, Times: &journal.Times{Lease: 400}}}, at(0))
	frame(2, "n1", "n0", "forwarded")
	frame(2.1, "n0", "n1", "forwarded")
	lease(2.1, "<0.3 s")
	b.see(journal.Record{Kind: journal.KindExit, Node: "n1", Exit: &journal.Exit{}}, at(2.2))
	lease(2.2, "-") // it is off
	b.nodes = nil
	b.see(journal.Record{Kind: journal.KindRun, Run: &journal.Run{Nodes: []journal.Node{
		{Name: "n0", Authority: true}, {Name: "n1"}},
		Times: &journal.Times{Lease: 600, Fence: timing.FenceAcks}}}, at(0))
	frame(2, "n1", "n0", "forwarded")
	frame(2.1, "n0", "n1", "forwarded")
	lease(2.1, "none")
}
