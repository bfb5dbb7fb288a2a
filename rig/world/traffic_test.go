package world

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/wire"
	"holdfast/qemu/relay"
	"holdfast/rig/journal"
)

// prints has a node print a row.
func prints(w *World, node string, row evidence.Line) {
	w.Journal.Add(time.Now(), journal.Record{
		Kind: journal.KindConsole, Node: node, Boot: 1, Line: row.String(),
	})
}

// view has a node print that it has installed a view.
func view(w *World, node string, epoch id.Epoch) {
	self := w.machine(node).node.ID
	prints(w, node, evidence.New("mesh-view", "installed").Epoch("epoch", epoch).
		Int("members", 1).Digest("digest", id.Sum([]byte{byte(epoch)})).
		Nodes("snapshot", []id.Node{self}).At(1))
}

// asked returns the requests of the traffic that a node has been asked so far.
func asked(w *World, node string) (all []journal.Record) {
	for _, r := range w.Journal.Records() {
		if r.Kind == journal.KindHTTP && r.Node == node && r.HTTP.Path == "/objects/o" {
			all = append(all, r)
		}
	}
	return all
}

func TestTrafficAsksANodeThatHasAViewUntilItIsHushed(t *testing.T) {
	w, _ := inhabited(t)
	view(w, "n0", 2)
	w.Traffic(Lane{Node: "n0", Object: "o", Every: 10 * time.Millisecond, Durability: wire.Local})
	w.Traffic(Lane{Node: "n1", Object: "o", Every: 10 * time.Millisecond, Durability: wire.Local,
		Epoch: "n1"})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.AwaitServed(ctx); err != nil { // n1's lane is for another view: not awaited
		t.Fatal(err)
	}
	w.Hush()
	n := len(asked(w, "n0"))
	values := make(map[string]bool)
	for _, r := range asked(w, "n0") {
		h := r.HTTP
		switch {
		case h.Status != http.StatusOK:
			t.Errorf("%s: %d %s", h.Method, h.Status, h.Error)
		case h.Method == http.MethodGet && h.Value != "":
			t.Errorf("a read has the value %q", h.Value)
		case h.Method == http.MethodPut && (h.Value == "" || values[h.Value]):
			t.Errorf("the value %q is empty or not the first", h.Value)
		}
		values[h.Value] = true
	}
	if asked := asked(w, "n1"); len(asked) > 0 {
		t.Errorf("n1, which has no view, was asked %d times", len(asked))
	}
	w.Hush() // once more does nothing
	if more := len(asked(w, "n0")); more != n {
		t.Errorf("%d requests after the traffic was hushed", more-n)
	}
}

func TestTheEpochIsThatOfTheNewestViewOfThePresentStart(t *testing.T) {
	w, _ := inhabited(t)
	start := evidence.New("mesh-node", "start").Node("node", w.machine("n0").node.ID).
		Str("role", "member").Boot("boot", 1).Epoch("epoch", 1).Str("ip", "10.7.0.10").
		Str("seed", "nvram").At(1)
	for i, step := range []struct {
		do   func()
		want id.Epoch
	}{
		{func() {}, 0},
		{func() { view(w, "n0", 2) }, 2},
		{func() { view(w, "n1", 9) }, 2},
		{func() { view(w, "n0", 4) }, 4},
		{func() { view(w, "n0", 3) }, 4},
		{func() { prints(w, "n0", start) }, 0},
		{func() { view(w, "n0", 5) }, 5},
	} {
		if step.do(); w.Epoch("n0") != step.want {
			t.Errorf("after step %d: %v, want %v", i, w.Epoch("n0"), step.want)
		}
	}
}

func TestAnImpairedWayIsBadInOneDirectionUntilItHeals(t *testing.T) {
	w, guests := inhabited(t)
	authority, member := session(t, guests)
	if err := w.Impair("n1", "n0", relay.Block, "lose what goes"); err != nil {
		t.Fatal(err)
	}
	say(t, w, member, "lost ", "n1", "dropped")
	say(t, w, authority, "this way", "n0", "forwarded")
	hear(t, member, "this way")
	if err := w.Heal("n0", "n1"); err != nil {
		t.Fatal(err)
	}
	hear(t, authority, "lost ") // TCP sends it again
}

func TestWhatWasKeptGoesOnWhenTheWayYields(t *testing.T) {
	w, guests := inhabited(t)
	authority, member := session(t, guests)
	if err := w.Impair("n1", "n0", relay.Rule{Hold: true}, "keep what goes"); err != nil {
		t.Fatal(err)
	}
	say(t, w, member, "kept", "n1", "held")
	n := w.Journal.Len()
	if err := w.Yield("n0", "n1"); err != nil {
		t.Fatal(err)
	}
	hear(t, authority, "kept")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := w.Journal.Await(ctx, n, func(r journal.Record) bool {
		return r.Kind == journal.KindFrame && r.Node == "guest of n1" &&
			r.Frame.Verdict == "forwarded" && r.Frame.Payload >= len("kept")
	})
	if err != nil {
		t.Errorf("the kept frame did not go on: %v", err)
	}
}

func TestAnEEPROMIsTamperedWithWhileItsMachineIsOff(t *testing.T) {
	w, _ := inhabited(t)
	flip := func(b []byte) error { b[7]++; return nil }
	var before, after byte
	look := func(to *byte) func([]byte) error {
		return func(b []byte) error { *to = b[7]; return nil }
	}
	for _, change := range []func([]byte) error{look(&before), flip, look(&after)} {
		if err := w.Tamper("n1", "something", change); err != nil {
			t.Fatal(err)
		}
	}
	if after != before+1 {
		t.Errorf("%d became %d", before, after)
	}
	err := w.Tamper("n1", "nothing", func([]byte) error { return errors.New("no") })
	if err == nil {
		t.Error("a change that failed is no error")
	}
	actions := 0
	for _, r := range w.Journal.Records() {
		if r.Kind == journal.KindAction && r.Action.Name == journal.ActionTamper {
			actions++
		}
	}
	if actions != 3 {
		t.Errorf("%d changes were journalled, want 3", actions)
	}
}

func TestACommitOfUnknownOutcomeIsSentAgainUnderItsName(t *testing.T) {
	w, _ := inhabited(t)
	view(w, "n0", 2)
	w.Traffic(Lane{Node: "n0", Object: unsure, Every: 10 * time.Millisecond,
		Durability: wire.Replicated})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sent := make(map[string]int)
	_, err := w.Journal.Await(ctx, 0, func(r journal.Record) bool {
		if r.Kind != journal.KindHTTP || r.HTTP.Method != http.MethodPut {
			return false
		}
		sent[r.HTTP.Request]++
		if r.HTTP.Request == "" || r.HTTP.Body != "unknown-outcome: since 2\n" {
			t.Errorf("%q was answered %q", r.HTTP.Request, r.HTTP.Body)
		}
		return sent[r.HTTP.Request] == laneTries
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Hush()
	for _, r := range w.Journal.Records() {
		if r.Kind == journal.KindHTTP {
			sent[r.HTTP.Request] = 0
		}
	}
	for _, r := range w.Journal.Records() {
		if r.Kind != journal.KindHTTP || r.HTTP.Method != http.MethodPut {
			continue
		}
		if sent[r.HTTP.Request]++; sent[r.HTTP.Request] > laneTries {
			t.Errorf("%s was sent %d times", r.HTTP.Request, sent[r.HTTP.Request])
		}
	}
	if err := w.Audit(ctx, "n0"); err != nil {
		t.Fatal(err)
	}
	if all := w.Journal.Records(); all[len(all)-1].HTTP.Method != http.MethodGet {
		t.Error("the audit read nothing")
	}
}

func TestTheSameCommitIsAskedForAgainWhateverTheAnswer(t *testing.T) {
	w, _ := inhabited(t)
	w.ReplicateAside("n0", 2, w.NewCommit(unsure, "value", 2))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.ReplicateAgain(ctx, "n1", 3); err != nil {
		t.Fatal(err)
	}
	var asked []journal.Record
	_, err := w.Journal.Await(ctx, 0, func(r journal.Record) bool {
		if r.Kind == journal.KindHTTP {
			asked = append(asked, r)
		}
		return len(asked) == 2
	})
	if err != nil {
		t.Fatal(err)
	}
	a, b := asked[0], asked[1]
	if a.Node == b.Node || a.HTTP.Request == "" || a.HTTP.Request != b.HTTP.Request ||
		a.HTTP.Value != b.HTTP.Value || a.HTTP.Body != b.HTTP.Body {
		t.Errorf("the two requests are not one commit: %+v at %s, %+v at %s", a.HTTP, a.Node, b.HTTP,
			b.Node)
	}
	over, end := context.WithCancelCause(t.Context())
	end(errEnded)
	if err := w.ReplicateAgain(over, "n1", 3); !errors.Is(err, errEnded) {
		t.Errorf("the end of the step is taken for an answer: %v", err)
	}
}

func TestNobodyWaitsForAMachineThatTheRigHasEnded(t *testing.T) {
	m := new(machine)
	ctx, stop := m.during(t.Context(), time.Hour) // it has never been started
	stop()
	if ctx.Err() == nil {
		t.Error("the context goes on")
	}
	up, end := context.WithCancelCause(t.Context())
	m.life.Store(&lifetime{up, end})
	ctx, stop = m.during(t.Context(), time.Hour)
	defer stop()
	end(errEnded)
	<-ctx.Done()
	if context.Cause(ctx) != errEnded {
		t.Errorf("it ended because of %v", context.Cause(ctx))
	}
}
