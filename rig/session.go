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

	"holdfast/qemu"
	"holdfast/rig/judge"
	"holdfast/rig/judge/linear"
	"holdfast/rig/progress"
	"holdfast/rig/report"
	"holdfast/rig/report/timeline"
	"holdfast/rig/report/trace"
	"holdfast/rig/report/web"
	"holdfast/rig/scenario"
	"holdfast/rig/world"
)

// sessionFlags say with what, and how patiently, faults are run.
type sessionFlags struct {
	Image string `default:"build/holdfast.elf" help:"Node image."`

	RAM string `name:"ram" default:"128M" help:"Memory of each machine."`

	Out string `default:"runs" help:"Where each run gets a folder."`

	Seed *uint64 `help:"What the nodes' keys are drawn from; random when absent, and printed first."`

	Parallel int `default:"1" help:"Runs at the same time; hostile has this host to itself."`

	Timeout time.Duration `help:"Ends a run that takes longer; by its steps when absent."`

	Slow float64 `default:"1" help:"The rig's own patience, times this; nothing else changes."`
}

// check refuses what the flags' types let through.
func (f *sessionFlags) check() error {
	switch {
	case f.Parallel < 1:
		return errors.New("--parallel must be at least 1")
	case f.Timeout < 0:
		return errors.New("--timeout must not be negative")
	case !(f.Slow >= 1 && f.Slow <= slowMost):
		return fmt.Errorf("--slow must be 1 to %d", slowMost)
	}
	return nil
}

// slowMost is more than any host is slower than the ones that the steps' limits were made on.
const slowMost = 100

// session is one execution of a command that runs faults: what its runs share.
type session struct {
	sessionFlags
	keep   string // which folders stay: always, fail or never
	hold   bool   // keep the machines up after the steps
	record bool   // take the tapes of the nodes' steps along
	// show tells the user of a judged run; folder is "" when it was not kept. It has standard output
	// for itself.
	show func(j *judged, folder string) error

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

// run runs one fault, judges it, and shows the verdict.
func (s *session) run(ctx context.Context, f *scenario.Fault, seed uint64) {
	width := columns(os.Stderr)
	if s.Parallel > 1 {
		width = 0 // several runs cannot share one line
	}
	reporter := progress.New(os.Stderr, f.Name, width)
	folder, err := s.folder(f.Name, seed)
	if err == nil {
		err = s.drive(ctx, f, seed, folder, reporter)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var j *judged
	if folder != "" {
		var unjudged error
		j, unjudged = judgeStored(folder)
		err = errors.Join(err, unjudged)
	}
	if err != nil {
		reporter.Say("%v", err)
	}
	if j == nil {
		s.worsen(judge.CodeTrouble)
		return
	}
	if err != nil && j.result.Exit != judge.CodeViolated {
		j.result.Exit, j.result.Meaning = judge.CodeTrouble, judge.CodeTrouble.String()
	}
	s.worsen(j.result.Exit)
	if j.result.Exit == judge.CodeHeld {
		s.held++
	}
	s.finish(j, folder)
}

// drive is the run itself. Its error is about the rig; what became of the run is in the journal.
func (s *session) drive(
	ctx context.Context, f *scenario.Fault, seed uint64, folder string, reporter *progress.Reporter,
) error {
	patience := f.Patience()
	if s.hold {
		patience += holdLimit
	}
	if s.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.Timeout,
			&scenario.Overdue{Step: "the run", Limit: s.Timeout})
		defer cancel()
	}
	w, err := world.Open(ctx, world.Config{
		Fault: f.Name, Scenario: f.Text, Image: s.Image, SHA256: s.sha256, RAM: s.RAM, QEMU: s.qemu,
		Folder: folder, Cast: f.Cast(seed), Patient: patience, Slow: s.Slow,
		Watch:     reporter.See,
		Configure: f.Configure, Record: s.record,
	})
	if err != nil {
		return err
	}
	end := f.Run(w, reporter.Wait, errInterrupted)
	if s.hold && w.Context().Err() == nil {
		end = s.holdUp(w, reporter, folder, end)
	}
	w.Linger(ctx)
	return w.Close(end)
}

// folder makes the folder of a run and points latest at it.
func (s *session) folder(fault string, seed uint64) (string, error) {
	base := fmt.Sprintf("%s-%s-%d", stamp(), fault, seed)
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
	if err := s.point(name); err != nil {
		return "", fmt.Errorf("rig: %w", err)
	}
	return filepath.Join(s.Out, name), nil
}

// latestLink is the name of the link to the newest run.
const latestLink = "latest"

// point makes latest lead to a run. A new link takes the old one's place in one step, so that it
// always leads somewhere.
func (s *session) point(name string) error {
	link := filepath.Join(s.Out, "."+name+"."+latestLink)
	if err := os.Symlink(name, link); err != nil {
		return err
	}
	return os.Rename(link, filepath.Join(s.Out, latestLink))
}

// remove takes the folder of a run away. If latest led there, it leads to the newest one that is
// left, or is gone.
func (s *session) remove(folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	link := filepath.Join(s.Out, latestLink)
	if to, err := os.Readlink(link); err != nil || to != filepath.Base(folder) {
		return err
	}
	left, err := filepath.Glob(filepath.Join(s.Out, "*", world.JournalFile))
	left = slices.DeleteFunc(left, func(path string) bool {
		return filepath.Dir(path) == link
	})
	if err != nil || len(left) == 0 {
		return errors.Join(err, os.Remove(link))
	}
	return s.point(filepath.Base(filepath.Dir(left[len(left)-1]))) // names sort by age
}

// stamp is the present instant in a form that sorts, for names of files.
func stamp() string { return time.Now().UTC().Format("20060102T150405Z") }

// finish writes what is computed of a run into its folder, shows it, and removes the folder if it
// need not stay. The lock is held.
func (s *session) finish(j *judged, folder string) {
	if err := errors.Join(j.writeArtefacts(folder), j.keepChecks(folder)); err != nil {
		s.complain(err)
		if j.result.Exit != judge.CodeViolated {
			j.result.Exit, j.result.Meaning = judge.CodeTrouble, judge.CodeTrouble.String()
		}
	}
	shown := folder
	if s.keep == "never" || s.keep == "fail" && j.result.Exit == judge.CodeHeld {
		shown = ""
		if err := s.remove(folder); err != nil {
			s.complain(err)
		}
	}
	if err := s.show(j, shown); err != nil {
		s.complain(err)
	}
}

// writeArtefacts writes what is computed of a run into its folder, in place of what is there.
func (j *judged) writeArtefacts(folder string) error {
	return errors.Join(
		writeFile(filepath.Join(folder, report.File), j.result.WriteJSON),
		writeFile(filepath.Join(folder, report.JUnitFile), j.result.WriteJUnit),
		writeFile(filepath.Join(folder, web.File), j.writePage(folder)),
		writeFile(filepath.Join(folder, trace.File), func(w io.Writer) error {
			return trace.Write(w, timeline.Of(j.run), j.result)
		}),
		writeFile(filepath.Join(folder, linear.File), j.writeHistory),
	)
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
