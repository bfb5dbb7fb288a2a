package judge

import (
	"math"
	"testing"
	"time"

	"holdfast/rig/journal"
)

// missing is what n0 says of n1 when it has been silent for a while.
func missing(at int, word string) journal.Record {
	return says(at, 0, "mesh-fail: "+word+" node="+ids[1]+" epoch=2 silent_ms=6000 at=100")
}

func suspected(at int) journal.Record { return missing(at, "suspect") }

// of is a suspicion of the node with an id, at another one.
func of(at, node int, victim string) journal.Record {
	return says(at, node, "mesh-fail: suspect node="+victim+" epoch=2 silent_ms=6000 at=1")
}

// tape is a journal behind its first record.
type tape = []journal.Record

func TestARowIsCounted(t *testing.T) {
	row := RowPattern{Node: "n0", Head: "mesh-fail: suspect", Fields: []string{"node=n1"}}
	never, once := Times{}, Times{Least: 1, Most: 1}
	for name, c := range map[string]struct {
		times   Times
		records tape
		want    Status
	}{
		"never, and it was not":     {never, tape{complete(9000)}, Held},
		"never, in a run cut short": {never, nil, Inconclusive},
		"never, and it was":         {never, tape{suspected(1)}, Violated},
		"once, and it was":          {once, tape{suspected(1), complete(9)}, Held},
		"once, and it was not":      {once, tape{complete(9000)}, Inconclusive},
		"once, and another one was": {once, tape{missing(1, "failed"), complete(9)},
			Inconclusive},
		"once, and it was twice": {once, tape{suspected(1), suspected(2)},
			Violated},
		"once, in a run cut short":   {once, tape{suspected(1)}, Inconclusive},
		"ever, in a run cut short":   {Times{1, math.MaxInt}, tape{suspected(1)}, Held},
		"never, with another field":  {never, tape{of(1, 0, ids[0]), complete(9)}, Held},
		"never, at the other's node": {never, tape{of(1, 1, ids[1]), complete(9)}, Held},
	} {
		r := Counted("x", row, c.times).Ask(runOf(t, c.records...))
		if r.Status != c.want {
			t.Errorf("%s: %v, want %v: %s", name, r.Status, c.want, r.Detail)
		}
	}
	row.Node = ""
	r := Counted("x", row, never).Ask(runOf(t,
		of(1, 1, ids[1])))
	if r.Status != Violated {
		t.Errorf("at any node: %v: %s", r.Status, r.Detail)
	}
}

func TestARowComesWithinBoundsOfAMoment(t *testing.T) {
	row := RowPattern{Node: "n0", Head: "mesh-fail: suspect"}
	killed := Moment{Action: journal.ActionKill, Node: "n1"}
	kill := func(at int) journal.Record { return did(at, 1, journal.ActionKill) }
	for name, c := range map[string]struct {
		from    Moment
		records tape
		want    Status
		slack   time.Duration
	}{
		"at the least": {killed, tape{kill(1000), suspected(7000)},
			Held, 500 * time.Millisecond},
		"at the most": {killed, tape{kill(1000), suspected(7500)},
			Held, 0},
		"too early": {killed, tape{kill(1000), suspected(6999)},
			Violated, 501 * time.Millisecond},
		"too late": {killed, tape{kill(1000), suspected(7501)},
			Violated, -time.Millisecond},
		"before it": {killed, tape{suspected(900), kill(1000), complete(2000)},
			Inconclusive, 0},
		"not in long time": {killed, tape{kill(1000), complete(30000)},
			Violated, 0},
		"no such moment": {killed, tape{suspected(7000), complete(9000)},
			Inconclusive, 0},
		"after a row": {Moment{Row: RowPattern{Head: "mesh-fail: failed"}},
			tape{missing(1000, "failed"), suspected(7100)}, Held,
			400 * time.Millisecond},
		"after a row that never came": {Moment{Row: RowPattern{Head: "mesh-fail: failed"}},
			tape{suspected(7100), complete(9000)}, Inconclusive, 0},
	} {
		check := Within("x", c.from, row, 6*time.Second, 6500*time.Millisecond)
		r := check.Ask(runOf(t, c.records...))
		if r.Status != c.want {
			t.Errorf("%s: %v, want %v: %s", name, r.Status, c.want, r.Detail)
		}
		if r.Margin != nil && r.Margin.Slack != c.slack {
			t.Errorf("%s: slack %v, want %v", name, r.Margin.Slack, c.slack)
		}
	}
}
