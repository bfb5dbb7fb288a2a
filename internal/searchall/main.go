// Searchall goes through every scope of mesh/search, as many at a time as there are processors, and
// then shows that the search can see: judged by the lease as the ADR has it, the same states hold
// two homes. It prints a table, and for a violation the shortest conversation that leads there.
//
// Exit status: 0 when no schedule gives two homes and the lease of the ADR does, 1 when not, 64 for
// a wrong command line.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"holdfast/mesh/search"
)

// gcPercent trades memory for time: a search keeps most of what it makes.
const gcPercent = 400

func main() {
	only := flag.String("scope", "", "one scope only, by its name")
	workers := flag.Int("workers", runtime.NumCPU(), "scopes at a time")
	quiet := flag.Bool("quiet", false, "no progress")
	flag.Parse()
	scopes := selected(*only)
	if flag.NArg() > 0 || *workers < 1 || len(scopes) == 0 {
		fmt.Fprintln(os.Stderr, "usage: searchall [-scope NAME] [-workers N] [-quiet]")
		os.Exit(64)
	}
	debug.SetGCPercent(gcPercent)
	fmt.Printf("%-16s %10s %12s %8s %-7s %9s %s\n", "scope", "states", "transitions", "seconds",
		"closed", "took", "violation")
	safe := searchAll(scopes, *workers, !*quiet)
	sees := seesTheADR()
	if !safe || !sees {
		os.Exit(1)
	}
}

func selected(name string) []search.Scope {
	if name == "" {
		return search.Scopes
	}
	for _, s := range search.Scopes {
		if s.Name == name {
			return []search.Scope{s}
		}
	}
	return nil
}

// searchAll searches scopes, some at a time, and reports whether none has a violation.
func searchAll(scopes []search.Scope, workers int, progress bool) bool {
	var wait sync.WaitGroup
	var mu sync.Mutex
	safe, states := true, 0
	begun := time.Now()
	queue := make(chan search.Scope)
	for range workers {
		wait.Go(func() {
			for s := range queue {
				r, took := run(s, progress)
				mu.Lock()
				show(s.Name, r, took)
				safe = safe && r.Violation == ""
				states += r.States
				mu.Unlock()
			}
		})
	}
	for _, s := range scopes {
		queue <- s
	}
	close(queue)
	wait.Wait()
	took := time.Since(begun)
	fmt.Printf("%d states in %v: %.1f million a minute on %d processors\n", states,
		took.Round(time.Second), float64(states)/1e6/took.Minutes(), workers)
	return safe
}

// run searches one scope. Progress goes to standard error, once in ten seconds at most.
func run(s search.Scope, progress bool) (search.Result, time.Duration) {
	begun := time.Now()
	said := begun
	r := s.Run(func(r search.Result) {
		if progress && time.Since(said) >= 10*time.Second {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "%s: second %d of %d, %d states, %v\n", s.Name, r.Seconds, s.Seconds,
				r.States, time.Since(begun).Round(time.Second))
		}
	})
	return r, time.Since(begun)
}

func show(name string, r search.Result, took time.Duration) {
	closed, violation := "no", "none"
	if r.Closed {
		closed = "yes"
	}
	if r.Violation != "" {
		violation = fmt.Sprintf("second %d: %s", r.At, r.Violation)
	}
	fmt.Printf("%-16s %10d %12d %8d %-7s %8.1fs %s\n", name, r.States, r.Transitions, r.Seconds,
		closed, took.Seconds(), violation)
	if r.Violation != "" {
		fmt.Println(r.Script)
	}
}

// seesTheADR judges the states of one scope by the lease of the ADR, and reports whether the search
// finds what is wrong with it.
func seesTheADR() bool {
	s := search.Scope{Name: "changes", Seconds: 24, Changes: 3, ADR: true}
	r, took := run(s, false)
	fmt.Println("\nThe same search, judged by the lease as the ADR has it:")
	show(s.Name, r, took)
	return r.Violation != ""
}
