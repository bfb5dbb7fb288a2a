// Package report writes a verdict down: result.json for programs and a page of text for people. It
// owns both forms. It must never judge, and what it says of a run is all in the run's verdict and
// journal.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

// File is the artefact that has the Result.
const File = "result.json"

// Schema numbers the form of File.
const Schema = 1

// Result is the content of File.
type Result struct {
	Schema  int             `json:"schema"`
	Fault   string          `json:"fault"`
	Seed    uint64          `json:"seed"`
	Wall    time.Time       `json:"wall"`
	Seconds float64         `json:"seconds"` // how long the run took
	Exit    judge.Code      `json:"exit"`
	Meaning string          `json:"meaning"` // of Exit
	Outcome journal.Outcome `json:"outcome"`
	Reason  string          `json:"reason,omitempty"`
	Image   string          `json:"image_sha256"`
	QEMU    string          `json:"qemu"`
	RAM     string          `json:"ram"`
	Checks  []judge.Result  `json:"checks"`
}

// Of makes the result of a judged run.
func Of(r *judge.Run, v judge.Verdict) Result {
	return Result{
		Schema: Schema, Fault: r.Info.Fault, Seed: r.Info.Seed, Wall: r.Info.Wall,
		Seconds: r.EndAt.Sub(0).Seconds(),
		Exit:    v.Code, Meaning: v.Code.String(),
		Outcome: v.End.Outcome, Reason: v.End.Reason,
		Image: r.Info.SHA256, QEMU: r.Info.QEMU, RAM: r.Info.RAM,
		Checks: v.Results,
	}
}

// WriteJSON writes the result as File has it.
func (r Result) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Style is how the text is set.
type Style struct {
	Color bool // for a terminal that shows it
	Quiet bool // only what did not hold
}

// The colours (ECMA-48, SGR).
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (s Style) paint(code, text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s Style) status(status judge.Status, text string) string {
	switch status {
	case judge.Held:
		return s.paint(green, text)
	case judge.Violated:
		return s.paint(red, text)
	}
	return s.paint(yellow, text)
}

// WriteText writes the result for people: a line a check, what was proven, where the artefacts are
// and what the exit code means. folder is "" when they were not kept.
func (r Result) WriteText(w io.Writer, proof, folder string, style Style) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  seed %d, %.1f s\n\n", style.paint(bold, r.Fault), r.Seed, r.Seconds)
	width := 0
	for _, c := range r.Checks {
		width = max(width, len(c.Name))
	}
	held := 0
	for _, c := range r.Checks {
		if c.Status == judge.Held {
			held++
			if style.Quiet {
				continue
			}
		}
		r.line(&b, c, width, style)
	}
	fmt.Fprintf(&b, "\n  %d of %d checks held.", held, len(r.Checks))
	if r.Exit == judge.CodeHeld && proof != "" {
		fmt.Fprintf(&b, " Shown: %s.", proof)
	}
	b.WriteString("\n")
	if r.Reason != "" {
		fmt.Fprintf(&b, "  The run ended early (%s): %s\n", r.Outcome, r.Reason)
	}
	if folder != "" {
		fmt.Fprintf(&b, "  Artefacts: %s (consoles, wire.pcapng, events.jsonl, %s)\n", folder, File)
	}
	exit := fmt.Sprintf("exit %d: %s", r.Exit, r.Meaning)
	fmt.Fprintf(&b, "  %s\n", style.status(statusOf(r.Exit), exit))
	_, err := io.WriteString(w, b.String())
	return err
}

func statusOf(c judge.Code) judge.Status {
	switch c {
	case judge.CodeHeld:
		return judge.Held
	case judge.CodeViolated:
		return judge.Violated
	}
	return judge.Inconclusive
}

// line writes one check: status, name and what was found; with the claim and the records when that
// is not what was wanted.
func (r Result) line(b *strings.Builder, c judge.Result, width int, style Style) {
	const statusWidth = len("inconclusive")
	status := fmt.Sprintf("%-*s", statusWidth, c.Status)
	fmt.Fprintf(b, "  %s  %-*s  %s", style.status(c.Status, status), width, c.Name, c.Detail)
	if c.Margin != nil {
		b.WriteString(style.paint(dim, margin(*c.Margin)))
	}
	b.WriteString("\n")
	// In a run that ended early most is open for that one reason, which stands below.
	early := r.Outcome != journal.Complete
	if c.Status == judge.Held || c.Status == judge.Inconclusive && early {
		return
	}
	indent := strings.Repeat(" ", 2+statusWidth+2)
	fmt.Fprintf(b, "%swanted (%s): %s\n", indent, c.Source, c.Claim)
	if len(c.Evidence) > 0 {
		fmt.Fprintf(b, "%srecords %s of %s\n", indent, list(c.Evidence), "events.jsonl")
	}
}

// margin says what was left of a bound.
func margin(m judge.Margin) string {
	text := fmt.Sprintf(", bounds %.3f to %.3f s, slack %.3f s",
		m.Least.Seconds(), m.Most.Seconds(), m.Slack.Seconds())
	if m.Unsharp > 0 {
		text += fmt.Sprintf(", known to %.3f s", m.Unsharp.Seconds())
	}
	return text
}

// list writes record numbers, the first few of many.
func list(numbers []int) string {
	const most = 12
	var parts []string
	for i, n := range numbers {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(numbers)-most))
			break
		}
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, " ")
}
