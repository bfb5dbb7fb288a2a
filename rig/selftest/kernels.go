package selftest

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"holdfast/rig/judge"
	"holdfast/rig/report"
)

// KernelRun is a run of a kernel that was broken on purpose.
type KernelRun struct {
	Kernel string
	Result report.Result
}

// Kernels are such runs, those of each kernel one after the other.
type Kernels []KernelRun

// Fate is what the runs of one broken kernel show of the verdict.
type Fate int

// The fates. Inconclusive is not caught: a busy host may have been the reason.
const (
	Missed Fate = iota // every check of every run held: a blind spot
	Open               // not everything could be judged, and nothing was violated
	Caught             // a check was violated
)

// String is the fate's word: what must not be in capital letters.
func (f Fate) String() string { return [...]string{"MISSED", "open", "caught"}[f] }

// Names are the kernels, each once, in the order in which they were run.
func (k Kernels) Names() []string {
	var names []string
	for _, r := range k {
		if !slices.Contains(names, r.Kernel) {
			names = append(names, r.Kernel)
		}
	}
	return names
}

// FateOf is what became of a kernel.
func (k Kernels) FateOf(kernel string) Fate {
	fate := Missed
	for _, r := range k {
		if r.Kernel != kernel {
			continue
		}
		switch r.Result.Exit {
		case judge.CodeViolated:
			return Caught
		case judge.CodeHeld:
		default:
			fate = Open
		}
	}
	return fate
}

// WriteText writes, for each kernel, whether it was caught, and in each run by which checks.
func (k Kernels) WriteText(w io.Writer) error {
	var b strings.Builder
	caught := 0
	for _, kernel := range k.Names() {
		fate := k.FateOf(kernel)
		if fate == Caught {
			caught++
		}
		fmt.Fprintf(&b, "  %-6v  %s\n", fate, kernel)
		for _, r := range k {
			if r.Kernel == kernel {
				fmt.Fprintf(&b, "            %s: %s\n", r.Result.Fault, failing(r.Result))
			}
		}
	}
	fmt.Fprintf(&b, "%d of %d broken kernels caught\n", caught, len(k.Names()))
	_, err := io.WriteString(w, b.String())
	return err
}

// failing names the checks that were violated, and those that stayed open.
func failing(r report.Result) string {
	var parts []string
	for _, status := range []judge.Status{judge.Violated, judge.Inconclusive} {
		var names []string
		for _, c := range r.Checks {
			if c.Status == status {
				names = append(names, c.Name)
			}
		}
		if len(names) > 0 {
			parts = append(parts, status.String()+" "+strings.Join(names, ", "))
		}
	}
	if len(parts) == 0 {
		return "every check held"
	}
	return strings.Join(parts, "; ")
}

// WriteMatrix writes a line of CSV for each run, with the answer in the column of each check, which
// is empty where the fault does not ask it.
func (k Kernels) WriteMatrix(w io.Writer) error {
	var checks []string // as they are asked first
	for _, r := range k {
		for _, c := range r.Result.Checks {
			if !slices.Contains(checks, c.Name) {
				checks = append(checks, c.Name)
			}
		}
	}
	out := csv.NewWriter(w)
	out.Write(append([]string{"kernel", "fault", "exit"}, checks...))
	for _, r := range k {
		line := []string{r.Kernel, r.Result.Fault, fmt.Sprint(int(r.Result.Exit))}
		for _, name := range checks {
			cell := ""
			for _, c := range r.Result.Checks {
				if c.Name == name {
					cell = c.Status.String()
				}
			}
			line = append(line, cell)
		}
		out.Write(line)
	}
	out.Flush()
	return out.Error() // of any write
}
