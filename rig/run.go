package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/qemu"
	"holdfast/rig/judge"
	"holdfast/rig/progress"
	"holdfast/rig/report"
	"holdfast/rig/scenario"
	"holdfast/rig/world"
)

// runCommand runs faults.
type runCommand struct {
	Fault []string `short:"f" default:"kill-peer" help:"Repeatable: ${faults}; or a group: ${groups}."`

	Image string `default:"build/holdfast.elf" help:"Node image."`

	RAM string `name:"ram" default:"128M" help:"Memory of each machine."`

	Out string `default:"runs" help:"Where each run gets a folder."`

	Seed *uint64 `help:"What the nodes' keys are drawn from; random when absent."`

	Keep string `default:"always" enum:"always,fail,never" help:"Which folders stay: ${enum}."`

	Parallel int `default:"1" help:"Faults that run at the same time."`

	Hold bool `help:"After the steps, keep the nodes up and reachable until Ctrl-C."`

	Timeout time.Duration `help:"Ends a run that takes longer; by its steps when absent."`

	Quiet bool `short:"q" help:"Print only checks that did not hold."`

	RecordGaps string `placeholder:"FILE" help:"Write the gaps between the member's frames here."`
}

// Help is the example of --help.
func (*runCommand) Help() string {
	return "Example: rig run --fault kill-peer --fault no-peer --seed 42"
}

// Validate refuses what the flags' types let through.
func (c *runCommand) Validate() error {
	switch {
	case c.Parallel < 1:
		return errors.New("--parallel must be at least 1")
	case c.Timeout < 0:
		return errors.New("--timeout must not be negative")
	}
	faults, err := c.faults()
	if err == nil && c.Hold && len(faults) != 1 {
		return errors.New("--hold takes one fault")
	}
	if err == nil && c.RecordGaps != "" && len(faults) != 1 {
		return errors.New("--record-gaps takes one fault")
	}
	return err
}

// faults are those that were asked for, each once.
func (c *runCommand) faults() ([]*scenario.Fault, error) {
	var faults []*scenario.Fault
	add := func(f *scenario.Fault) {
		if !slices.ContainsFunc(faults, func(g *scenario.Fault) bool { return g.Name == f.Name }) {
			faults = append(faults, f)
		}
	}
	for _, name := range c.Fault {
		if group, ok := scenario.FindGroup(name); ok {
			for _, f := range group {
				add(f)
			}
			continue
		}
		f, err := findFault(name)
		if err != nil {
			return nil, err
		}
		add(f)
	}
	return faults, nil
}

// Run runs the faults, one after the other or at the same time, and ends with the worst code.
func (c *runCommand) Run(ctx context.Context) error {
	faults, err := c.faults()
	if err != nil {
		return err
	}
	s := session{runCommand: c}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(c.Parallel)
	for _, f := range faults {
		group.Go(func() error {
			if ctx.Err() == nil {
				s.run(ctx, f)
			}
			return nil
		})
	}
	group.Wait()
	if len(faults) > 1 {
		fmt.Printf("%d of %d faults: every check held\n", s.held, len(faults))
	}
	if ctx.Err() != nil && !s.released {
		s.worsen(judge.CodeTrouble)
	}
	if s.worst != judge.CodeHeld {
		return verdict(s.worst)
	}
	return nil
}

// session is one execution of runCommand: what its runs share.
type session struct {
	*runCommand
	seed   uint64
	sha256 string
	qemu   string

	mu       sync.Mutex // guards what follows, and standard output
	worst    judge.Code
	held     int  // runs
	released bool // the user ended a hold, which is no interruption of the run
}

// prepare finds out what every run needs before the first machine starts.
func (s *session) prepare(ctx context.Context) error {
	if s.Seed != nil {
		s.seed = *s.Seed
	} else {
		// 32 bits are enough to tell runs apart and short enough to type.
		var b [4]byte
		rand.Read(b[:])
		s.seed = uint64(binary.BigEndian.Uint32(b[:]))
	}
	fmt.Fprintf(os.Stderr, "rig: seed %d\n", s.seed)
	var err error
	if s.sha256, err = inspect(s.Image); err != nil {
		return err
	}
	if s.qemu, err = qemu.Version(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(s.Out, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// inspect returns an image's digest, and an error when it is no program for the board's processor:
// QEMU would load anything and the machine would be silent.
func inspect(image string) (string, error) {
	f, err := os.Open(image)
	if err != nil {
		return "", fmt.Errorf("image: %w (build it with make image)", err)
	}
	defer f.Close()
	program, err := elf.NewFile(f)
	if err != nil {
		return "", fmt.Errorf("image: %s is not an ELF file: %w", image, err)
	}
	if program.Machine != elf.EM_ARM || program.Type != elf.ET_EXEC {
		return "", fmt.Errorf("image: %s is for %v, want an executable for %v",
			image, program.Machine, elf.EM_ARM)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("image: %w", err)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("image: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// worsen makes code the exit code if it wins over what there is.
func (s *session) worsen(code judge.Code) {
	rank := []judge.Code{
		judge.CodeHeld, judge.CodeInconclusive, judge.CodeTrouble, judge.CodeViolated,
	}
	if slices.Index(rank, code) > slices.Index(rank, s.worst) {
		s.worst = code
	}
}

// run runs one fault, judges it, and prints the verdict.
func (s *session) run(ctx context.Context, f *scenario.Fault) {
	width := columns(os.Stderr)
	if s.Parallel > 1 {
		width = 0 // several runs cannot share one line
	}
	reporter := progress.New(os.Stderr, f.Name, width)
	folder, err := s.folder(f.Name)
	if err == nil {
		err = s.drive(ctx, f, folder, reporter)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var j *judged
	if folder != "" {
		var unjudged error
		j, unjudged = judgeStored(folder)
		err = errors.Join(err, unjudged)
	}
	if j != nil && s.RecordGaps != "" {
		err = errors.Join(err, writeGaps(s.RecordGaps, j.run.Records))
	}
	if err != nil {
		reporter.Say("%v", err)
	}
	code := judge.CodeTrouble
	if j != nil {
		if err != nil && j.result.Exit != judge.CodeViolated {
			j.result.Exit, j.result.Meaning = judge.CodeTrouble, judge.CodeTrouble.String()
		}
		code = j.result.Exit
		s.show(j, folder)
	}
	s.worsen(code)
	if code == judge.CodeHeld {
		s.held++
	}
}

// drive is the run itself. Its error is about the rig; what became of the run is in the journal.
func (s *session) drive(
	ctx context.Context, f *scenario.Fault, folder string, reporter *progress.Reporter,
) error {
	patience := f.Patience()
	if s.Hold {
		patience += holdLimit
	}
	if s.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.Timeout,
			&scenario.Overdue{Step: "the run", Limit: s.Timeout})
		defer cancel()
	}
	w, err := world.Open(ctx, world.Config{
		Fault: f.Name, Image: s.Image, SHA256: s.sha256, RAM: s.RAM, QEMU: s.qemu,
		Folder: folder, Cast: f.Cast(s.seed), Patient: patience,
		Configure: f.Configure,
	})
	if err != nil {
		return err
	}
	end := f.Run(w, reporter.Wait, errInterrupted)
	if s.Hold && w.Context().Err() == nil {
		end = s.hold(w, reporter, folder, end)
	}
	w.Linger(ctx)
	return w.Close(end)
}

// folder makes the folder of a run and points latest at it.
func (s *session) folder(fault string) (string, error) {
	base := fmt.Sprintf("%s-%s-%d", time.Now().UTC().Format("20060102T150405Z"), fault, s.seed)
	name := base
	for i := 2; ; i++ {
		err := os.Mkdir(filepath.Join(s.Out, name), 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrExist) || i > 1000 {
			return "", fmt.Errorf("rig: %w", err)
		}
		name = base + "-" + strconv.Itoa(i)
	}
	// A new link takes the old one's place in one step, so that latest always leads somewhere.
	link := filepath.Join(s.Out, "."+name+".latest")
	err := os.Symlink(name, link)
	if err == nil {
		err = os.Rename(link, filepath.Join(s.Out, "latest"))
	}
	if err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	return filepath.Join(s.Out, name), nil
}

// show writes the verdict into the folder, prints it, and removes the folder if it need not stay.
func (s *session) show(j *judged, folder string) {
	fail := func(err error) {
		fmt.Fprintf(os.Stderr, "rig: %v\n", err)
		s.worsen(judge.CodeTrouble)
	}
	if err := errors.Join(writeResult(folder, j.result), j.keepChecks(folder)); err != nil {
		fail(err)
	}
	shown := folder
	if s.Keep == "never" || s.Keep == "fail" && j.result.Exit == judge.CodeHeld {
		shown = ""
		if err := os.RemoveAll(folder); err != nil {
			fail(err)
		}
	}
	text := style(os.Stdout)
	text.Quiet = s.Quiet
	if err := j.result.WriteText(os.Stdout, j.fault.Proof, shown, text); err != nil {
		fail(err)
	}
}

func writeResult(folder string, result report.Result) error {
	file, err := os.Create(filepath.Join(folder, report.File))
	if err != nil {
		return err
	}
	return errors.Join(result.WriteJSON(file), file.Close())
}
