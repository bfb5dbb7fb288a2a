package sim

import (
	"bufio"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"

	"holdfast/mesh/timing"
)

var (
	seed   = flag.Uint64("sim.seed", 0, "the world that TestReplay lives through")
	worlds = flag.Int("sim.worlds", 60, "how many worlds of minutes")

	short = flag.Bool("sim.failovers", false, "the seed is that of a world of failovers")
	acks  = flag.Bool("sim.acks", false, "the seed is that of a world without leases")
)

// TestWorldsKeepTheInvariants lives through worlds of minutes, and through one of hours.
func TestWorldsKeepTheInvariants(t *testing.T) {
	var commits, durables, removals, rehomed int64
	season := false
	for n, s := 0, uint64(1); n < *worlds; s++ {
		if Season(s) {
			if season {
				continue
			}
			season = true
		}
		n++
		r := Run(s)
		commits += r.Commits
		durables += r.Durables
		rehomed += r.Measures.Slack.N
		removals += r.Measures.Detection.N
		if r.Verdict != "" {
			t.Errorf("-run Replay -sim.seed=%d: %s\n%s", r.Seed, r.Verdict, r.Plan)
		}
	}
	enough := commits >= 100*int64(*worlds) && durables >= 50*int64(*worlds) &&
		rehomed >= int64(*worlds) && removals > 0
	if !enough {
		t.Errorf("%d commits, %d of them replicated, %d homes after a lapse, %d removals in %d "+
			"worlds: they prove little", commits, durables, rehomed, removals, *worlds)
	}
}

// TestWorldsSeeTheLeaseOfTheADR judges worlds by the lease as the ADR has it, which counts from the
// arrival of whatever comes from the authority. They must find two homes, or they are blind.
func TestWorldsSeeTheLeaseOfTheADR(t *testing.T) {
	for s := uint64(1); s <= 20; s++ {
		if Season(s) {
			continue
		}
		w := newWorld(s, draw)
		w.judge.adr = true
		if r := w.live(s); strings.Contains(r.Verdict, "may commit") {
			t.Logf("seed %d: %s", s, r.Verdict)
			return
		}
	}
	t.Error("no world finds that two nodes may commit at once")
}

// TestWorldsWithoutLeasesKeepTheInvariants lives through worlds of minutes whose nodes have no
// leases.
func TestWorldsWithoutLeasesKeepTheInvariants(t *testing.T) {
	var durables, removals int64
	seconds := 0
	for n, s := 0, uint64(1); n < *worlds/2; s++ {
		w := newWorld(s, drawAcks)
		if w.plan.season {
			continue
		}
		n++
		if w.plan.acks.Fail == timing.OneSecond.Fail {
			seconds++
		}
		r := w.live(s)
		durables += r.Durables
		removals += r.Measures.Detection.N
		if r.Verdict != "" {
			t.Errorf("-run Replay -sim.acks -sim.seed=%d: %s\n%s", r.Seed, r.Verdict, r.Plan)
		}
	}
	if half := *worlds / 2; durables < 20*int64(half) || removals == 0 || seconds < half/4 ||
		seconds > half-half/4 {
		t.Errorf("%d commits, %d removals, %d worlds of a second among %d: they prove little",
			durables, removals, seconds, half)
	}
}

// TestAWipedChipLosesNothingThatMembersHold wipes the authority's NVRAM in worlds without other
// trouble: the operator sets an epoch, and nothing that was acknowledged as replicated is lost.
func TestAWipedChipLosesNothingThatMembersHold(t *testing.T) {
	for n, s := 0, uint64(1); n < 12; s++ {
		w := newWorld(s, draw)
		if Season(s) || !w.plan.marks || w.plan.clients == 0 {
			continue
		}
		n++
		w.plan.faults, w.plan.weights, w.plan.storm = nil, 0, 2*Minute
		w.storm()
		root := w.machines[0]
		root.kill()
		root.chip.wipe()
		root.boot()
		w.calm()
		if w.judge.verdict != "" || w.judge.durables == 0 || w.judge.emptied > 0 {
			t.Errorf("seed %d: %q, %d acknowledged, the operator gave up %d times\n%s", s,
				w.judge.verdict, w.judge.durables, w.judge.emptied, w.plan.String())
		}
	}
}

// TestASeedIsAWorld lives through some worlds twice, once with the log: what happens depends on the
// seed alone.
func TestASeedIsAWorld(t *testing.T) {
	hashes := map[uint64]uint64{}
	for s := uint64(1); s <= 12; s++ {
		if Season(s) {
			continue
		}
		once, twice := Run(s), Replay(s)
		if once.Hash != twice.Hash || once.Events != twice.Events || once.Lived != twice.Lived {
			t.Errorf("seed %d is two worlds: %x, %x", s, once.Hash, twice.Hash)
		}
		if other, ok := hashes[once.Hash]; ok {
			t.Errorf("seeds %d and %d are one world", other, s)
		}
		hashes[once.Hash] = s
		if once.Log != "" || !strings.Contains(twice.Log, "root boots") {
			t.Errorf("seed %d: a log of %d and of %d bytes", s, len(once.Log), len(twice.Log))
		}
	}
}

// TestFailoversLoseNothing lives through worlds of failovers, of 2 to 5 nodes.
func TestFailoversLoseNothing(t *testing.T) {
	var sum Result
	nodes := [2 + membersMax]int{}
	for s := uint64(1); s <= 60; s++ {
		r := RunFailover(s)
		nodes[r.Nodes]++
		sum.Durables += r.Durables
		sum.Emptied += r.Emptied
		sum.Measures.Add(&r.Measures)
		sum.Acts = append(sum.Acts, r.Acts...)
		for i := range r.Restarts {
			sum.Restarts[i] += r.Restarts[i]
		}
		if r.Verdict != "" {
			t.Errorf("-run Replay -sim.failovers -sim.seed=%d: %s\n%s", r.Seed, r.Verdict, r.Plan)
		}
	}
	enough := min(nodes[2], nodes[3], nodes[4], nodes[5]) > 5 && sum.Durables > 6_000 &&
		len(sum.Acts) > 6_000 && sum.Measures.Slack.N > 100 && sum.Emptied < 30 &&
		min(sum.Restarts[kept], sum.Restarts[torn], sum.Restarts[wiped]) > 10
	if !enough {
		t.Errorf("worlds by nodes %v, %d commits, %d acts, %d homes after a lapse, restarts %v, "+
			"%d times with nothing: they prove little", nodes, sum.Durables, len(sum.Acts),
			sum.Measures.Slack.N, sum.Restarts, sum.Emptied)
	}
}

// TestSeedsThatFailed lives again through the worlds in which something was wrong once.
func TestSeedsThatFailed(t *testing.T) {
	livesAgain(t, "testdata/seeds.txt", Run)
	livesAgain(t, "testdata/failovers.txt", RunFailover)
}

func livesAgain(t *testing.T, name string, run func(uint64) Result) {
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		number, why, _ := strings.Cut(lines.Text(), " ")
		if number == "" || number == "#" {
			continue
		}
		s, err := strconv.ParseUint(number, 10, 64)
		if err != nil || why == "" {
			t.Fatalf("want a seed and a reason: %q", lines.Text())
		}
		if r := run(s); r.Verdict != "" {
			t.Errorf("%s, -run Replay -sim.seed=%d: %s\n%s\n%s", name, s, r.Verdict, why, r.Plan)
		}
	}
}

// TestReplay lives through one world and tells what happens in it.
func TestReplay(t *testing.T) {
	if *seed == 0 {
		t.Skip("no -sim.seed")
	}
	replay := Replay
	switch {
	case *short:
		replay = ReplayFailover
	case *acks:
		replay = ReplayAcks
	}
	r := replay(*seed)
	t.Logf("seed %d\n%s\n%s", r.Seed, r.Plan, r.Log)
	if r.Verdict != "" {
		t.Error(r.Verdict)
	}
}
