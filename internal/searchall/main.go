// Searchall goes through every scope of mesh/search, as many at a time as there are processors, and
// then shows that the search can see: judged by the lease as the ADR has it, the same scopes hold
// two homes in second 12. Left out are then those that say that they are too mild for that, those
// without leases, and those whose leases others have as well, beside their commits. It prints a
// table, and for a violation the shortest conversation that leads there.
//
// With -long it goes through those scopes only that can be searched for more seconds in more time,
// and for so many.
//
// It keeps within a bound of memory: a scope that would go beyond it is stopped, and said not to be
// searched.
//
// Exit status: 0 when every scope was searched to its end, no schedule gives two homes, and the
// lease of the ADR does where it must; 1 when there is a violation, or the ADR's is not where it
// must be; 2 when all is as it must be, but a scope was stopped; 64 for a wrong command line.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"holdfast/internal/usage"
	"holdfast/mesh/search"
)

const (
	exitViolation = 1
	exitStopped   = 2

	memoryGiB = 10
	gib       = 1 << 30

	// stopAt is how much of the bound, in tenths, may be in use after a garbage collection: the rest
	// is for what is made until the next one, and for a table that grows.
	stopAt = 6

	// gcPercent lets garbage grow to more than is in use: within the bound, memory is cheaper than
	// time.
	gcPercent = 200

	// adrSecond is when the ADR's lease gives two homes: the member is removed, and still has one.
	// With a third machine it may do so before that: nobody waits for a former holder.
	adrSecond = 12
)

func main() {
	only := flag.String("scope", "", "one scope only, by its name")
	workers := flag.Int("workers", runtime.NumCPU(), "scopes at a time")
	long := flag.Bool("long", false, "the scopes that take long, to their full depth")
	memory := flag.Int64("memory", memoryGiB, "how many GiB it may take")
	quiet := flag.Bool("quiet", false, "no progress")
	var scopes []search.Scope
	usage.Parse("searchall [-scope NAME] [-long] [-workers N] [-memory GIB] [-quiet]", func() bool {
		scopes = selected(*only, *long)
		return flag.NArg() == 0 && *workers > 0 && *memory > 0 && len(scopes) > 0
	})
	debug.SetMemoryLimit(*memory * gib)
	debug.SetGCPercent(gcPercent)
	r := runner{workers: *workers, memory: uint64(*memory * gib), quiet: *quiet}
	safe := r.all(scopes)
	var sees found
	if scopes = ofTheADR(scopes); len(scopes) > 0 {
		fmt.Println("\nJudged by the lease as the ADR has it:")
		sees = r.all(scopes)
	}
	switch {
	case safe.violated > 0 || sees.unlike > 0:
		os.Exit(exitViolation)
	case safe.stopped+sees.stopped > 0:
		os.Exit(exitStopped)
	}
}

// selected are the scopes to be searched: all, or the one of that name; in the long search those
// that have more to it.
func selected(name string, long bool) []search.Scope {
	var scopes []search.Scope
	for _, s := range search.Scopes {
		if name != "" && s.Name != name || long && s.Long == 0 {
			continue
		}
		if long {
			s.Seconds = s.Long
		}
		scopes = append(scopes, s)
	}
	return scopes
}

// ofTheADR are the scopes in which the lease of the ADR has to give two homes.
func ofTheADR(scopes []search.Scope) []search.Scope {
	var sees []search.Scope
	for _, s := range scopes {
		if !s.Mild && !s.Acks && s.Writes == 0 {
			s.ADR = true
			sees = append(sees, s)
		}
	}
	return sees
}

// runner searches scopes, some at a time.
type runner struct {
	workers int
	memory  uint64
	quiet   bool

	mu    sync.Mutex
	found found
}

// found is what a run over scopes has found, in numbers of scopes.
type found struct {
	violated int
	unlike   int // judged by the ADR's lease, and not what is known of it
	stopped  int
	states   int // of all scopes
}

func (r *runner) all(scopes []search.Scope) found {
	var wait sync.WaitGroup
	r.found = found{}
	begun := time.Now()
	queue := make(chan search.Scope)
	fmt.Printf("%-16s %10s %12s %8s %-7s %9s %s\n", "scope", "states", "transitions", "seconds",
		"closed", "took", "violation")
	for range r.workers {
		wait.Go(func() {
			for s := range queue {
				r.one(s)
			}
		})
	}
	for _, s := range scopes {
		queue <- s
	}
	close(queue)
	wait.Wait()
	took := time.Since(begun)
	fmt.Printf("%d states in %v: %.1f million a minute with %d at a time\n", r.found.states,
		took.Round(time.Second), float64(r.found.states)/1e6/took.Minutes(), r.workers)
	return r.found
}

// one searches one scope. Progress goes to standard error, once in ten seconds at most.
func (r *runner) one(s search.Scope) {
	begun := time.Now()
	said := begun
	result := s.Run(func(sofar search.Result) bool {
		live := liveBytes()
		if !r.quiet && time.Since(said) >= 10*time.Second {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "%s: %d of %d seconds, %d states, %.1f GiB, %v\n", s.Name,
				sofar.Seconds, s.Seconds, sofar.States, float64(live)/gib,
				time.Since(begun).Round(time.Second))
		}
		return live < r.memory/10*stopAt
	})
	if result.Stopped {
		runtime.GC() // or the next scope would be stopped for what this one has left behind
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.show(s, result, time.Since(begun))
	r.found.states += result.States
	if result.Stopped {
		r.found.stopped++
		return
	}
	if result.Violation != "" {
		r.found.violated++
	}
	if s.ADR && !asTheADR(s, result) {
		r.found.unlike++
	}
}

// asTheADR reports whether the lease of the ADR gave two homes where it is known to.
func asTheADR(s search.Scope, result search.Result) bool {
	if s.Third == search.Nobody {
		return result.Violation != "" && result.At == adrSecond
	}
	return result.Violation != "" && result.At <= adrSecond
}

// liveBytes is what the latest garbage collection found to be in use.
func liveBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// show prints a row. The ADR's way to two homes is shown once, and is in the tests.
func (r *runner) show(s search.Scope, result search.Result, took time.Duration) {
	closed, violation := "no", "none"
	switch {
	case result.Closed:
		closed = "yes"
	case result.Stopped:
		closed = "STOPPED"
		violation = fmt.Sprintf("not searched to its end: more than %d GiB", r.memory/gib)
	case result.Violation != "":
		violation = fmt.Sprintf("second %d: %s", result.At, result.Violation)
	}
	fmt.Printf("%-16s %10d %12d %8d %-7s %8.1fs %s\n", s.Name, result.States, result.Transitions,
		result.Seconds, closed, took.Seconds(), violation)
	if result.Violation != "" && (!s.ADR || r.found.violated == 0) {
		fmt.Println(result.Script)
	}
}
