package main

import (
	"slices"
	"testing"

	"holdfast/mesh/sim"
)

// commit and read are acts of one object; what they made or found is that of request seq.
func commit(call, end sim.Time, version, seq uint64) sim.Act {
	return sim.Act{Object: "o", Commit: true, Call: call, Return: end, Version: version, Seq: seq}
}

func read(call, end sim.Time, version, seq uint64) sim.Act {
	return sim.Act{Object: "o", Call: call, Return: end, Version: version, Seq: seq}
}

func vague(call sim.Time, version, seq uint64) sim.Act {
	a := commit(call, 1_000, version, seq)
	a.Vague = true
	return a
}

func lone(call, end sim.Time, version, seq uint64) sim.Act {
	a := commit(call, end, version, seq)
	a.Alone = true
	return a
}

func of(acts ...sim.Act) []sim.Act { return acts }

func elsewhere(a sim.Act) sim.Act {
	a.Era = 1
	return a
}

func TestAHistoryIsThatOfARegisterOrNot(t *testing.T) {
	for name, c := range map[string]struct {
		acts []sim.Act
		good bool
	}{
		"nothing":                    {nil, true},
		"what was committed is read": {of(commit(0, 1, 1, 1), read(2, 3, 1, 1)), true},
		"it is not there":            {of(commit(0, 1, 1, 1), read(2, 3, 0, 0)), false},
		"it is not there yet":        {of(commit(0, 3, 1, 1), read(1, 2, 0, 0)), true},
		"another value":              {of(commit(0, 1, 1, 1), read(2, 3, 1, 2)), false},
		"a value of nobody":          {of(read(2, 3, 1, 2)), false},
		"it goes back":               {of(commit(0, 9, 1, 1), read(1, 2, 1, 1), read(3, 4, 0, 0)), false},
		"a version twice":            {of(commit(0, 1, 1, 1), commit(2, 3, 1, 2)), false},
		"a version is skipped":       {of(commit(0, 1, 1, 1), commit(2, 3, 3, 2)), true},
		"a vague one is made later":  {of(vague(0, 1, 1), read(2, 3, 0, 0), read(4, 5, 1, 1)), true},
		"a vague one is unmade":      {of(vague(0, 1, 1), read(2, 3, 1, 1), read(4, 5, 0, 0)), false},
		"a vague one is made never":  {of(vague(0, 1, 1), commit(2, 3, 1, 2), read(4, 5, 1, 2)), true},
		"before it was asked for":    {of(read(0, 1, 1, 1), vague(2, 1, 1)), false},
		"a lone one is lost":         {of(commit(0, 1, 1, 1), lone(2, 3, 2, 2), read(4, 5, 1, 1)), true},
		"more is lost":               {of(commit(0, 1, 1, 1), lone(2, 3, 2, 2), read(4, 5, 0, 0)), false},
		"a lone one comes back":      {of(lone(0, 1, 1, 1), read(2, 3, 0, 0), read(4, 5, 1, 1)), false},
		"the second lone one comes back": {of(lone(0, 1, 1, 1), lone(2, 3, 2, 2), read(4, 5, 1, 1),
			read(6, 7, 2, 2)), false},
		"a lone one's version again": {of(lone(0, 1, 1, 1), commit(2, 3, 1, 2),
			read(4, 5, 1, 2)), true},
		"a kept one's version again":   {of(commit(0, 1, 1, 1), lone(2, 3, 1, 2)), false},
		"the operator ends everything": {of(commit(0, 1, 1, 1), elsewhere(read(2, 3, 0, 0))), true},
	} {
		want := []string{"o"}
		if c.good {
			want = nil
		}
		if got := broken(c.acts); !slices.Equal(got, want) {
			t.Errorf("%s: broken %v", name, got)
		}
	}
}

func TestFailoversAreLinearizable(t *testing.T) {
	for seed := range uint64(20) {
		if r := failover(seed); r.Verdict != "" || len(r.Acts) == 0 {
			t.Errorf("seed %d: %q, %d acts", seed, r.Verdict, len(r.Acts))
		}
	}
}
