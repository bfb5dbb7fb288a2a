package replay

import (
	"crypto/ed25519"
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast/kernel/node/tape"
	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
	"holdfast/rig/journal"
	"holdfast/rig/replay/replaytest"
)

var keys = [2]ed25519.PrivateKey{
	ed25519.NewKeyFromSeed([]byte(strings.Repeat("a", 32))),
	ed25519.NewKeyFromSeed([]byte(strings.Repeat("b", 32))),
}

// half a minute: the pair joins, leases are renewed many times over, requests are answered.
const length = 30 * when.Second

func TestAPairGivesTheSameAgain(t *testing.T) {
	pair := replaytest.Make(keys, length)
	for i, from := range pair.Tapes {
		o, err := Do(from, keys[i])
		if err != nil || o.Difference != nil {
			t.Fatalf("node %d: %v, %+v", i, err, o.Difference)
		}
		joined := func(row string) bool { return strings.HasPrefix(row, "mesh-join: confirmed") }
		if o.Steps < 100 || o.Frames < 20 || o.Requests != 30 || o.Sent < 20 ||
			!slices.ContainsFunc(o.Rows, joined) || len(o.Rows) != len(pair.Rows[i]) ||
			o.Until < when.Instant(length) || o.Build != "replaytest" {
			t.Errorf("node %d has a poor tape: %v", i, o)
		}
	}
}

func TestTheFirstDifferenceIsFound(t *testing.T) {
	from := replaytest.Make(keys, length).Tapes[0]
	const at = 60
	var input mesh.Input
	for name, c := range map[string]struct {
		change func(s *tape.Step)
		says   []string
	}{
		"a row that the node did not print": {
			func(s *tape.Step) {
				s.Effects = append(s.Effects, mesh.Print{Line: evidence.StatusLine("x: y")})
			},
			[]string{"the node    ", "print x: y", "the replay  nothing"},
		},
		"a frame that the node did not send": {
			func(s *tape.Step) { s.Effects = []mesh.Effect{mesh.Send{Session: 1, Data: []byte{1}}} },
			[]string{"the node    1 of 1: send session=1 01", "the replay  nothing"},
		},
		"a later instant": {
			func(s *tape.Step) { s.Now += 2_000 },
			[]string{"the node    nothing", "the replay  1 of ", "print mesh-fail: paused ms="},
		},
		"another input": {
			func(s *tape.Step) {
				s.Input = mesh.Request{Ticket: 1, Name: id.LabName(1), Op: 99, Class: wire.StaleOK}
			},
			[]string{"input       request ticket=1 name=lab-1 op=invalid class=stale-ok",
				"the node    nothing", "the replay  1 of 1: answer ticket=1 reply={request="},
		},
	} {
		changed := replaytest.Rewrite(from, func(n int, s *tape.Step) bool {
			if n == at {
				input = s.Input
				c.change(s)
			}
			return true
		})
		o, err := Do(changed, keys[0])
		if err != nil || o.Difference == nil || o.Difference.Step != at || o.Steps != at-1 {
			t.Errorf("%s, instead of %+v: %v after %d steps, %+v", name, input, err, o.Steps, o.Difference)
			continue
		}
		text := strings.Join(o.Difference.Lines(), "\n")
		for _, want := range append(c.says, "step 60, ", "input       ") {
			if !strings.Contains(text, want) {
				t.Errorf("%s:\n%s\nhas no %q", name, text, want)
			}
		}
	}
}

// TestEveryInputMatters puts a tick in the place of one step with effects after the other.
func TestEveryInputMatters(t *testing.T) {
	from := replaytest.Make(keys, length).Tapes[0]
	tried := 0
	for at := 1; at < 100; at++ {
		speaks := false
		changed := replaytest.Rewrite(from, func(n int, s *tape.Step) bool {
			if _, tick := s.Input.(mesh.Tick); n == at && !tick && len(s.Effects) > 0 {
				speaks, s.Input = true, mesh.Tick{Second: when.NoSecond}
			}
			return true
		})
		if !speaks {
			continue
		}
		tried++
		o, err := Do(changed, keys[0])
		if err != nil || o.Difference == nil || o.Difference.Step != at {
			t.Errorf("with a tick as step %d: %v, %+v", at, err, o.Difference)
		}
	}
	if tried < 20 {
		t.Errorf("only %d steps were tried", tried)
	}
}

func TestAPanicIsADifference(t *testing.T) {
	p := player{outcome: &Outcome{Steps: 6}}
	panicked := p.try(func() { panic("mesh: two homes") })
	p.compare(tape.Step{Now: 9, Input: mesh.Tick{Second: when.NoSecond}}, 7, panicked)
	want := []string{"step 7, 9 ms after the boot, gave something else",
		"input       tick, no second clock", "the node    nothing",
		"the replay  panic: mesh: two homes"}
	if got := p.outcome.Difference.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAnotherKeyIsRefused(t *testing.T) {
	if _, err := Do(replaytest.Make(keys, 100).Tapes[0], keys[1]); !errors.Is(err, ErrKey) {
		t.Errorf("%v", err)
	}
}

func TestDamageIsNamedWithItsPlace(t *testing.T) {
	from := replaytest.Make(keys, length).Tapes[0]
	o, err := Do(from[:len(from)-3], keys[0])
	named := err != nil && strings.Contains(err.Error(), "behind step ")
	if !errors.Is(err, tape.ErrTorn) || o.Steps < 100 || !named {
		t.Errorf("%v after %d steps", err, o.Steps)
	}
	from[len(from)/2] ^= 1
	if o, err := Do(from, keys[0]); !errors.Is(err, tape.ErrDamaged) || o.Steps < 10 {
		t.Errorf("%v after %d steps", err, o.Steps)
	}
}

// console is a journal with these lines of n0's first boot.
func console(lines ...string) []journal.Record {
	var records []journal.Record
	for i, line := range lines {
		records = append(records, journal.Record{
			N: i + 2, Kind: journal.KindConsole, Node: "n0", Boot: 1, Line: line,
		})
	}
	return records
}

func TestTheNearestRowIsTheLatestBefore(t *testing.T) {
	const lost = "mesh-fail: disabled reason=config at="
	records := console("booting", lost+"40", lost+"90", "noise", lost+"91")
	for now, want := range map[when.Instant]int{39: 0, 40: 3, 89: 3, 90: 4, 1000: 6} {
		r, ok := Near(records, "n0", 1, now)
		if r.N != want || ok != (want != 0) {
			t.Errorf("at %d: record %d, want %d", now, r.N, want)
		}
	}
	if r, ok := Near(records, "n0", 2, 1000); ok {
		t.Errorf("another boot has record %d", r.N)
	}
	if n := Unprinted(records, "n0", 1, []string{lost + "40", lost + "40", "x"}); n != 2 {
		t.Errorf("%d rows are not printed, want 2", n)
	}
}
