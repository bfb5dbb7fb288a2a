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

func alone(a sim.Act) sim.Act {
	a.Alone = true
	return a
}

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
		"what was committed is read": {[]sim.Act{commit(0, 1, 1, 1), read(2, 3, 1, 1)}, true},
		"it is not there":            {[]sim.Act{commit(0, 1, 1, 1), read(2, 3, 0, 0)}, false},
		"it is not there yet":        {[]sim.Act{commit(0, 3, 1, 1), read(1, 2, 0, 0)}, true},
		"another value":              {[]sim.Act{commit(0, 1, 1, 1), read(2, 3, 1, 2)}, false},
		"a value of nobody":          {[]sim.Act{read(2, 3, 1, 2)}, false},
		"it goes back":               {[]sim.Act{commit(0, 9, 1, 1), read(1, 2, 1, 1), read(3, 4, 0, 0)}, false},
		"a version twice":            {[]sim.Act{commit(0, 1, 1, 1), commit(2, 3, 1, 2)}, false},
		"a version is skipped":       {[]sim.Act{commit(0, 1, 1, 1), commit(2, 3, 3, 2)}, true},
		"a vague one is made later":  {[]sim.Act{vague(0, 1, 1), read(2, 3, 0, 0), read(4, 5, 1, 1)}, true},
		"a vague one is unmade":      {[]sim.Act{vague(0, 1, 1), read(2, 3, 1, 1), read(4, 5, 0, 0)}, false},
		"a vague one is made never":  {[]sim.Act{vague(0, 1, 1), commit(2, 3, 1, 2), read(4, 5, 1, 2)}, true},
		"before it was asked for":    {[]sim.Act{read(0, 1, 1, 1), vague(2, 1, 1)}, false},
		"a lone one is lost": {[]sim.Act{commit(0, 1, 1, 1), alone(commit(2, 3, 2, 2)),
			read(4, 5, 1, 1)}, true},
		"more than the lone one is lost": {[]sim.Act{commit(0, 1, 1, 1), alone(commit(2, 3, 2, 2)),
			read(4, 5, 0, 0)}, false},
		"a lone one comes back": {[]sim.Act{alone(commit(0, 1, 1, 1)), read(2, 3, 0, 0),
			read(4, 5, 1, 1)}, false},
		"one of two lone ones is lost": {[]sim.Act{alone(commit(0, 1, 1, 1)),
			alone(commit(2, 3, 2, 2)), read(4, 5, 1, 1), read(6, 7, 2, 2)}, false},
		"a lone one's version again": {[]sim.Act{alone(commit(0, 1, 1, 1)), commit(2, 3, 1, 2),
			read(4, 5, 1, 2)}, true},
		"a kept one's version again":   {[]sim.Act{commit(0, 1, 1, 1), alone(commit(2, 3, 1, 2))}, false},
		"the operator ends everything": {[]sim.Act{commit(0, 1, 1, 1), elsewhere(read(2, 3, 0, 0))}, true},
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
