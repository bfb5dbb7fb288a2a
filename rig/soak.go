package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"holdfast/rig/judge"
	"holdfast/rig/report"
	"holdfast/rig/scenario"
	"holdfast/rig/stats"
)

// soakCommand runs faults again and again.
type soakCommand struct {
	faultFlags
	sessionFlags

	Count int `name:"count" short:"n" placeholder:"N" help:"So many runs of each fault."`

	For time.Duration `placeholder:"TIME" help:"Begin runs for so long."`

	UntilFail bool `help:"Begin no run after one in which not everything held."`

	Keep string `default:"fail" enum:"always,fail,never" help:"Which folders stay: ${enum}."`

	Format string `default:"text" enum:"text,json" help:"Of the result: ${enum}."`
}

// Help is the example of --help.
func (*soakCommand) Help() string {
	return "Example: rig soak --fault kill-peer -n 50 --parallel 2. The n-th run of a fault has the " +
		"seed that is printed first, plus n-1: rig run --seed repeats it. Nothing is tried again, and " +
		"a run in which not everything held counts, whatever the reason."
}

// Validate refuses what the flags' types let through.
func (c *soakCommand) Validate() error {
	if err := c.sessionFlags.check(); err != nil {
		return err
	}
	switch {
	case c.Count < 0:
		return errors.New("--count must not be negative")
	case c.For < 0:
		return errors.New("--for must not be negative")
	case c.Count == 0 && c.For == 0 && !c.UntilFail:
		return errors.New("say for how long: -n, --for or --until-fail")
	}
	_, err := c.faults()
	return err
}

// soak is one execution of the command.
type soak struct {
	*soakCommand
	session
	record  io.Writer // gets each result when it is there
	results []report.Result
}

// Run runs the faults in turn and prints what the runs show together. Every result is in a file as
// soon as it is known.
func (c *soakCommand) Run(ctx context.Context) error {
	faults, err := c.faults()
	if err != nil {
		return err
	}
	s := &soak{soakCommand: c, session: session{sessionFlags: c.sessionFlags, keep: c.Keep}}
	s.session.show = s.note
	if err := s.prepare(ctx); err != nil {
		return err
	}
	path := filepath.Join(c.sessionFlags.Out, fmt.Sprintf("%s-soak-%d.jsonl", stamp(), s.seed))
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	s.record = file
	s.begin(ctx, faults)
	err = file.Close()
	if err == nil && c.Format == "text" {
		err = stats.WriteText(os.Stdout, stats.Of(s.results))
		fmt.Printf("\nEach run's result: %s\n", path)
	}
	if err != nil {
		return err
	}
	return s.end(ctx)
}

// begin begins runs while it should and waits for all of them.
func (s *soak) begin(ctx context.Context, faults []*scenario.Fault) {
	var over <-chan time.Time
	if s.For > 0 {
		timer := time.NewTimer(s.For)
		defer timer.Stop()
		over = timer.C
	}
	var runs sync.WaitGroup
	defer runs.Wait()
	slots := newSlots(s.session.Parallel)
	for n := 0; s.Count == 0 || n < s.Count; n++ {
		for i, f := range faults {
			release, err := slots.take(ctx, f)
			if err != nil {
				return
			}
			if n+i > 0 && s.over(ctx, over) {
				release()
				return
			}
			runs.Go(func() {
				defer release()
				s.session.run(ctx, f, s.seed+uint64(n))
			})
		}
	}
}

// over says whether no more run is to begin.
func (s *soak) over(ctx context.Context, over <-chan time.Time) bool {
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return true
	default:
	}
	return s.failed()
}

// failed says whether a failure ends the soak.
func (s *soak) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.UntilFail && s.worst != judge.CodeHeld
}

// note takes a run's result.
func (s *soak) note(j *judged, folder string) error {
	s.results = append(s.results, j.result)
	r := j.result
	fmt.Fprintf(os.Stderr, "%s: seed %d: exit %d after %.1f s; %d of %d runs held\n",
		r.Fault, r.Seed, r.Exit, r.Seconds, s.held, len(s.results))
	var err error
	if r.Exit != judge.CodeHeld {
		text := style(os.Stderr)
		text.Quiet = true
		err = r.WriteText(os.Stderr, j.fault.Proof, folder, text)
	}
	if s.soakCommand.Format == "json" {
		err = errors.Join(err, r.WriteLine(os.Stdout))
	}
	return errors.Join(err, r.WriteLine(s.record))
}
