package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"holdfast/rig/judge"
	"holdfast/rig/report"
	"holdfast/rig/scenario"
	"holdfast/rig/selftest"
)

// selftestCommand tests the verdict itself.
type selftestCommand struct {
	Fault []string `short:"f" help:"Those whose stored runs are damaged; all when absent."`

	Format string `default:"text" enum:"text,matrix" help:"Of the result: ${enum}, which is CSV."`

	Broken []string `placeholder:"IMAGE" help:"Run kernels that are broken on purpose instead."`

	Seed *uint64 `help:"Of the runs with --broken; random when absent."`

	Out string `default:"runs" help:"Where each run with --broken gets a folder."`
}

// Help is the example of --help.
func (*selftestCommand) Help() string {
	return "Example: rig selftest --fault kill-peer. The journals of good runs are damaged in one " +
		"way each, and the check that is there for it must notice; exit code 1 means that the " +
		"verdict has a blind spot. With --broken a.elf,b.elf each fault (kill-peer when absent) is " +
		"run on kernels that were broken on purpose, and it is a blind spot when every check holds; " +
		"2 when nothing was violated and not everything could be judged."
}

// Validate refuses what the flags' types let through.
func (c *selftestCommand) Validate() error {
	for _, name := range c.Fault {
		if _, err := findFault(name); err != nil {
			return err
		}
	}
	return nil
}

// Run tests, and prints the tables.
func (c *selftestCommand) Run(ctx context.Context) error {
	if len(c.Broken) > 0 {
		return c.runBroken(ctx)
	}
	faults := scenario.Recorded()
	if len(c.Fault) > 0 {
		faults = nil
		for _, name := range c.Fault {
			f, err := findFault(name)
			if err != nil {
				return err
			}
			faults = append(faults, f)
		}
	}
	damages, missed := 0, 0
	for _, f := range faults {
		table, err := selftest.Run(f)
		if err != nil {
			return err
		}
		write := table.WriteText
		if c.Format == "matrix" {
			write = table.WriteMatrix
		}
		if err := write(os.Stdout); err != nil {
			return err
		}
		damages, missed = damages+len(table.Rows), missed+len(table.Survivors())
		if c.Format == "text" {
			fmt.Println()
		}
	}
	if c.Format == "text" {
		fmt.Printf("%d damages to %d runs, %d missed\n", damages, len(faults), missed)
	}
	if missed > 0 {
		return verdict(judge.CodeViolated)
	}
	return nil
}

// runBroken runs faults on images with none of which every check may hold. All images are looked at
// before the first one runs.
func (c *selftestCommand) runBroken(ctx context.Context) error {
	chosen := faultFlags{Fault: c.Fault}
	faults, err := chosen.faults()
	if err != nil {
		return err
	}
	for _, image := range c.Broken {
		if _, err := inspect(image); err != nil {
			return err
		}
	}
	var kernels selftest.Kernels
	trouble := false
	for _, image := range c.Broken {
		kernel := strings.TrimSuffix(filepath.Base(image), filepath.Ext(image))
		s := session{keep: "always", sessionFlags: sessionFlags{
			Image: image, RAM: "128M", Out: c.Out, Seed: c.Seed, Parallel: 1, Slow: 1,
		}}
		s.show = func(j *judged, folder string) error {
			kernels = append(kernels, selftest.KernelRun{Kernel: kernel, Result: j.result})
			trouble = trouble || j.result.Exit == judge.CodeTrouble
			if c.Format != "text" {
				return nil
			}
			fmt.Printf("%s: ", kernel)
			text := report.Style{Color: style(os.Stdout).Color, Quiet: true}
			return j.result.WriteText(os.Stdout, j.fault.Proof, folder, text)
		}
		if err := s.prepare(ctx); err != nil {
			return err
		}
		for _, f := range faults {
			if ctx.Err() == nil {
				s.run(ctx, f, s.seed)
			}
		}
		trouble = trouble || s.worst == judge.CodeTrouble
	}
	write := kernels.WriteText
	if c.Format == "matrix" {
		write = kernels.WriteMatrix
	}
	if err := write(os.Stdout); err != nil {
		return err
	}
	if ctx.Err() != nil || trouble {
		return verdict(judge.CodeTrouble)
	}
	return c.verdictOn(kernels)
}

// verdictOn is what the fates of the kernels mean together.
func (c *selftestCommand) verdictOn(kernels selftest.Kernels) error {
	s := session{}
	for _, kernel := range kernels.Names() {
		switch kernels.FateOf(kernel) {
		case selftest.Missed:
			s.worsen(judge.CodeViolated)
		case selftest.Open:
			s.worsen(judge.CodeInconclusive)
		}
	}
	if s.worst != judge.CodeHeld {
		return verdict(s.worst)
	}
	return nil
}
