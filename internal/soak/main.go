// Soak lives through as many simulated worlds as fit into a time (package mesh/sim), on every core,
// and ends with what they have shown, or with the seeds of those in which something was wrong.
//
//	go run ./internal/soak -time 10m
//	go run ./internal/soak -from 1 -worlds 500     the same worlds every time
//	go run ./internal/soak -acks -time 10m         worlds of nodes without leases
//	go run ./internal/soak -failovers -from 1 -worlds 10000
//
// The last are worlds of failovers: short ones of 2 to 5 nodes in which homes are lost while
// commits flow. Their histories are also searched for an order that a register for each object
// could have had (linear.go).
//
// A world that failed is lived through again, with its log, by
//
//	go test ./mesh/sim -run Replay -sim.seed N [-sim.failovers | -sim.acks]
//
// and stays with us as a line of mesh/sim/testdata/seeds.txt, or of failovers.txt.
//
// Exit status: 0 nothing was wrong, 1 a world failed, 64 wrong usage.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"holdfast/internal/usage"
	"holdfast/mesh/sim"
)

// garbage is how much a world may leave behind before it is collected, in percent of what it uses:
// a world is a few hundred kilobytes.
const garbage = 800

func main() {
	limit := flag.Duration("time", 10*time.Minute, "for how long")
	worlds := flag.Uint64("worlds", 0, "how many worlds at most, 0 for no bound")
	from := flag.Uint64("from", 0, "the first seed, 0 for one that nobody has seen")
	dense := flag.Bool("dense", false, "only worlds of minutes, with much trouble")
	failovers := flag.Bool("failovers", false, "worlds of failovers")
	acks := flag.Bool("acks", false, "worlds of nodes without leases")
	failures := flag.Int("failures", 20, "how many failed worlds are enough")
	usage.Parse("soak [-time DURATION] [-from SEED] [-worlds N] [-failovers | [-acks] [-dense]] "+
		"[-failures N]", func() bool {
		return flag.NArg() == 0 && *limit > 0 && *failures > 0 && !(*failovers && (*acks || *dense))
	})
	if *from == 0 {
		*from = uint64(time.Now().UnixNano())
	}
	debug.SetGCPercent(garbage)
	s := &soak{next: *from, first: *from, worlds: *worlds, failures: *failures, dense: *dense,
		end: time.Now().Add(*limit), live: sim.Run}
	switch {
	case *failovers:
		s.live = failover
	case *acks:
		s.live = sim.RunAcks
	}
	s.run(runtime.NumCPU())
	s.report(os.Stdout)
	if *failovers {
		s.reportFailovers(os.Stdout)
	}
	if len(s.failed) > 0 {
		os.Exit(1)
	}
}

// soak is the sum of what worlds have shown.
type soak struct {
	first, worlds uint64
	failures      int
	dense         bool
	began, end    time.Time
	took          time.Duration
	live          func(seed uint64) sim.Result

	mu       sync.Mutex
	next     uint64 // seed
	lived    sim.Time
	flowed   int64 // minutes
	events   int64
	commits  int64
	durables int64 // acknowledged as replicated
	ended    int64 // worlds
	measures sim.Measures
	failed   []sim.Result
	closest  uint64 // the seed with the least slack
	casts    [casts]cast
}

// run lives through worlds, so many at a time.
func (s *soak) run(workers int) {
	s.began = time.Now()
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for seed, ok := s.take(); ok; seed, ok = s.take() {
				s.add(s.live(seed))
			}
		})
	}
	group.Wait()
	s.took = time.Since(s.began)
}

// take returns the next seed, if there is one more to be tried.
func (s *soak) take() (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := s.worlds > 0 && s.next-s.first >= s.worlds
	if over || len(s.failed) >= s.failures || time.Now().After(s.end) {
		return 0, false
	}
	for s.dense && sim.Season(s.next) {
		s.next++
	}
	s.next++
	return s.next - 1, true
}

func (s *soak) add(r sim.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended++
	s.lived += r.Lived
	s.flowed += r.Minutes
	s.events += r.Events
	s.commits += r.Commits
	s.durables += r.Durables
	s.casts[min(r.Nodes, casts-1)].add(&r)
	least := s.measures.Slack.Least
	if s.measures.Add(&r.Measures); s.measures.Slack.Least < least || s.closest == 0 {
		s.closest = r.Seed
	}
	if r.Verdict != "" {
		s.failed = append(s.failed, r)
		fmt.Fprintf(os.Stderr, "soak: seed %d: %s\n", r.Seed, r.Verdict)
	}
}

func (s *soak) report(to *os.File) {
	fmt.Fprintf(to, "worlds      %d, seeds %d to %d\n", s.ended, s.first, s.next-1)
	fmt.Fprintf(to, "simulated   %.0f h, %.0f h of them with commits flowing, %d commits\n",
		float64(s.lived)/float64(sim.Hour), float64(s.flowed)/60, s.commits)
	fmt.Fprintf(to, "replicated  %d commits acknowledged as such\n", s.durables)
	busy := busy().Seconds()
	fmt.Fprintf(to, "steps       %d, %.0f a second, in %s on %d cores\n", s.events,
		float64(s.events)/s.took.Seconds(), s.took.Round(time.Second), runtime.NumCPU())
	fmt.Fprintf(to, "cost        %.0f s of a core: %.0f steps and %.1f simulated h a second of it\n",
		busy, float64(s.events)/busy, float64(s.lived)/float64(sim.Hour)/busy)
	m := &s.measures
	for _, row := range []struct {
		name string
		h    *sim.Histogram
		what string
	}{
		{"slack", &m.Slack, "a home's right has run out, until another node may commit"},
		{"hand-over", &m.HandOver, "a home has given an object up, until another node may commit"},
		{"detection", &m.Detection, "a member dies, until the authority declares it failed"},
		{"rejoin", &m.Rejoin, "a member boots in the middle of trouble, until it may commit"},
		{"recovery", &m.Recovery, "all trouble ends, until the mesh is whole"},
	} {
		fmt.Fprintf(to, "%-11s %s\n%s", row.name, row.what, row.h.Table("            "))
	}
	fmt.Fprintf(to, "the least slack is that of seed %d\n", s.closest)
	for _, r := range s.failed {
		fmt.Fprintf(to, "FAILED seed %d: %s\n       %s\n", r.Seed, r.Verdict, r.Plan)
	}
}

// busy is the processor time that this process has used: on a machine with other work it says more
// than the time that has passed.
func busy() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("soak: " + err.Error())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
