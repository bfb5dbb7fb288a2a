package report

import (
	"fmt"
	"io"
	"strings"

	"holdfast/rig/judge"
)

// TAP writes results in the Test Anything Protocol, version 14: a line a check, numbered through
// all runs, and the plan at the end, when it is known. An inconclusive check is not ok.
type TAP struct {
	w     io.Writer
	count int
}

// NewTAP begins a stream of results.
func NewTAP(w io.Writer) (*TAP, error) {
	_, err := io.WriteString(w, "TAP version 14\n")
	return &TAP{w: w}, err
}

// Write adds a run's result.
func (t *TAP) Write(r Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: seed %d, %.1f s, exit %d: %s\n",
		r.Fault, r.Seed, r.Seconds, r.Exit, r.Meaning)
	for _, c := range r.Checks {
		t.count++
		ok := "ok"
		if c.Status != judge.Held {
			ok = "not ok"
		}
		fmt.Fprintf(&b, "%s %d - %s: %s\n", ok, t.count, r.Fault, c.Name)
		if c.Status == judge.Held {
			continue
		}
		fmt.Fprintf(&b, "  ---\n  severity: %s\n  message: %q\n  wanted: %q\n  source: %q\n"+
			"  records: %s\n  ...\n", c.Status, c.Detail, c.Claim, c.Source,
			strings.Join(strings.Fields(fmt.Sprint(c.Evidence)), ", "))
	}
	for line := range strings.Lines(r.tailText()) {
		b.WriteString("# " + line)
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

// Close ends the stream with its plan.
func (t *TAP) Close() error {
	_, err := fmt.Fprintf(t.w, "1..%d\n", t.count)
	return err
}
