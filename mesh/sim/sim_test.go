package sim

import (
	"flag"
	"testing"
)

var (
	seed = flag.Uint64("sim.seed", 0, "only this world, with its log")
	runs = flag.Int("sim.runs", 40, "how many worlds")
)

func TestWorldsKeepTheInvariants(t *testing.T) {
	if *seed != 0 {
		r := Replay(*seed)
		t.Logf("%s\nseed %d: %s\n%s", r.Plan, r.Seed, r.Verdict, r.Log)
		if r.Verdict != "" {
			t.Error(r.Verdict)
		}
		return
	}
	var m Measures
	var lived Time
	var events, minutes, commits int64
	bad := 0
	for s := range uint64(*runs) {
		r := Run(s + 1)
		m.Add(&r.Measures)
		lived += r.Lived
		events += r.Events
		minutes += r.Minutes
		commits += r.Commits
		if r.Verdict != "" {
			bad++
			if bad < 20 {
				t.Errorf("-sim.seed=%d: %s\n%s", r.Seed, r.Verdict, r.Plan)
			}
		}
	}
	t.Logf("bad %d of %d; %d events, %.1f h, %.1f h with commits, %d commits", bad, *runs, events, float64(lived)/float64(Hour), float64(minutes)/60, commits)
	t.Log(m.Slack.Table(""))
}
