// Package report writes a verdict down: result.json for programs and a page of text for people. It
// owns both forms. It must never judge, and what it says of a run is all in the run's verdict and
// journal.
package report

import (
	"encoding/json"
	"errors"
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
	Own     bool            `json:"scenario,omitempty"` // Fault is of a file of the user's
	Seed    uint64          `json:"seed"`
	Wall    time.Time       `json:"wall"`
	Seconds float64         `json:"seconds"` // how long the run took
	Exit    judge.Code      `json:"exit"`
	Meaning string          `json:"meaning"` // of Exit
	Outcome journal.Outcome `json:"outcome"` // "" when the rig was killed
	Reason  string          `json:"reason,omitempty"`
	Image   string          `json:"image_sha256"`
	QEMU    string          `json:"qemu"`
	RAM     string          `json:"ram"`
	Checks  []judge.Result  `json:"checks"`
	Tails   []Tail          `json:"tails,omitempty"` // of a run that ended early
	// Latencies are what the system took, for comparing runs.
	Latencies []judge.Latency `json:"latencies,omitempty"`
}

// Tail is the newest console lines of a node. Ids of nodes and objects are replaced by names.
type Tail struct {
	Node  string `json:"node"`
	Lines []Line `json:"lines"`
}

// Line is one console line.
type Line struct {
	At   journal.Time `json:"us"`
	Text string       `json:"text"`
}

// tailMost is how many lines a Tail has at most.
const tailMost = 10

// Of makes the result of a judged run.
func Of(r *judge.Run, v judge.Verdict) Result {
	result := Result{
		Schema: Schema, Fault: r.Info.Fault, Own: r.Info.Scenario != "",
		Seed: r.Info.Seed, Wall: r.Info.Wall,
		Seconds: r.EndAt.Sub(0).Seconds(),
		Exit:    v.Code, Meaning: v.Code.String(),
		Outcome: v.End.Outcome, Reason: v.End.Reason,
		Image: r.Info.SHA256, QEMU: r.Info.QEMU, RAM: r.Info.RAM,
		Checks: v.Results, Latencies: r.Latencies(),
	}
	if result.early() {
		result.Tails = tails(r)
	}
	switch v.End.Outcome {
	case journal.Interrupted:
		if v.Code == judge.CodeTrouble {
			result.Meaning = result.Reason
		}
	case "":
		result.Reason = "its journal has no end: the rig was killed, or could not write"
	}
	return result
}

// tails returns the newest lines of each node, with names for ids.
func tails(r *judge.Run) []Tail {
	var names []string
	for _, n := range r.Info.Nodes {
		names = append(names, n.ID, n.Name)
	}
	for _, o := range r.Info.Objects {
		names = append(names, o.ID, o.Name)
	}
	named := strings.NewReplacer(names...)
	var all []Tail
	for _, n := range r.Info.Nodes {
		t := Tail{Node: n.Name}
		for _, record := range r.Records {
			if record.Kind == journal.KindConsole && record.Node == n.Name {
				t.Lines = append(t.Lines, Line{record.At, named.Replace(record.Line)})
			}
		}
		if len(t.Lines) > 0 {
			t.Lines = t.Lines[max(0, len(t.Lines)-tailMost):]
			all = append(all, t)
		}
	}
	return all
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

// WriteLine writes the result as one line of JSON, for many of them in a file.
func (r Result) WriteLine(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Read reads results: those of File, or lines of them.
func Read(r io.Reader) ([]Result, error) {
	var results []Result
	for decoder := json.NewDecoder(r); ; {
		var result Result
		err := decoder.Decode(&result)
		switch {
		case errors.Is(err, io.EOF):
			return results, nil
		case err != nil:
			return nil, fmt.Errorf("report: result %d: %w", len(results)+1, err)
		case result.Schema != Schema:
			return nil, fmt.Errorf("report: result %d has schema %d, this program reads %d",
				len(results)+1, result.Schema, Schema)
		}
		results = append(results, result)
	}
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

// WriteText writes the result for people: a line a check, what was shown, where the artefacts are
// and what the exit code means. proof is the sentence for a run in which everything held; folder is
// "" when the artefacts were not kept.
func (r Result) WriteText(w io.Writer, proof, folder string, style Style) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  seed %d, %.1f s\n", style.paint(bold, r.Fault), r.Seed, r.Seconds)
	r.checks(&b, style)
	if r.Exit == judge.CodeHeld {
		fmt.Fprintf(&b, "\n  Shown: %s.\n", proof)
	} else {
		b.WriteString("\n")
	}
	if r.early() {
		fmt.Fprintf(&b, "  The run ended early: %s\n", r.Reason)
		r.lastWords(&b, style)
	}
	if folder != "" {
		fmt.Fprintf(&b, "  Artefacts: %s (%s, %s, %s, %s, consoles, wire.pcapng)\n",
			folder, "report.html", File, "events.jsonl", JUnitFile)
	}
	held := 0
	for _, c := range r.Checks {
		if c.Status == judge.Held {
			held++
		}
	}
	exit := fmt.Sprintf("exit %d: %s; %d of %d checks held", r.Exit, r.Meaning, held, len(r.Checks))
	if r.Exit == judge.CodeHeld {
		exit = fmt.Sprintf("exit %d: all %d checks held", r.Exit, held)
	}
	fmt.Fprintf(&b, "  %s\n", style.status(r.Exit.Status(), exit))
	_, err := io.WriteString(w, b.String())
	return err
}

// columns are the widths of the text's first three.
type columns struct{ status, name, source int }

// checks writes a line for each check that is to be shown.
func (r Result) checks(b *strings.Builder, style Style) {
	var shown []judge.Result
	var unreached []string
	var width columns
	for _, c := range r.Checks {
		if style.Quiet && c.Status == judge.Held {
			continue
		}
		if r.early() && c.Status == judge.Inconclusive && len(c.Evidence) == 0 {
			unreached = append(unreached, c.Name)
			continue
		}
		shown = append(shown, c)
		width.status = max(width.status, len(c.Status.String()))
		width.name = max(width.name, len(c.Name))
		width.source = max(width.source, len(c.Source))
	}
	if len(shown) > 0 {
		b.WriteString("\n")
	}
	for _, c := range shown {
		r.line(b, c, width, style)
	}
	if len(unreached) > 0 {
		fmt.Fprintf(b, "\n  Not reached: %s.\n", strings.Join(unreached, ", "))
	}
}

// early says whether the run ended before all its steps were done. Then most of what is open is
// open for that one reason.
func (r Result) early() bool { return r.Outcome != journal.Complete }

// line writes one check: status, name, where its rule stands and what was found; with the claim and
// the records when that is not what was wanted.
func (r Result) line(b *strings.Builder, c judge.Result, width columns, style Style) {
	fmt.Fprintf(b, "  %s  %-*s  %s  %s",
		style.status(c.Status, fmt.Sprintf("%-*s", width.status, c.Status)), width.name, c.Name,
		style.paint(dim, fmt.Sprintf("%-*s", width.source, c.Source)), c.Detail)
	if c.Margin != nil {
		b.WriteString(style.paint(dim, margin(*c.Margin)))
	}
	b.WriteString("\n")
	if c.Status == judge.Held || c.Status == judge.Inconclusive && r.early() {
		return
	}
	indent := strings.Repeat(" ", len("  ")+width.status+len("  "))
	fmt.Fprintf(b, "%swanted: %s\n", indent, c.Claim)
	if len(c.Evidence) > 0 {
		fmt.Fprintf(b, "%sevents.jsonl records %s\n", indent, list(c.Evidence))
	}
}

// margin says what was left of a bound.
func margin(m judge.Margin) string {
	text := fmt.Sprintf(" (%.3f to %.3f s, slack %.3f s",
		m.Least.Seconds(), m.Most.Seconds(), m.Slack.Seconds())
	if m.Unsharp > 0 {
		text += fmt.Sprintf(", known to %.3f s", m.Unsharp.Seconds())
	}
	return text + ")"
}

// lastWords writes the newest console lines of each node.
func (r Result) lastWords(b *strings.Builder, style Style) {
	for _, t := range r.Tails {
		fmt.Fprintf(b, "  Last lines of %s:\n", t.Node)
		for _, l := range t.Lines {
			fmt.Fprintf(b, "    %s %s\n", style.paint(dim, fmt.Sprintf("%9s", l.At)), l.Text)
		}
	}
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
