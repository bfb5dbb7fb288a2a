// Package web draws a judged run as report.html: one file, without anything from outside, in which
// the verdict, the run's space-time diagram, the consoles and the latencies of repeated runs stand
// beside each other. It owns what the page shows and how it moves; colours, charts and the file's
// safety are package page's.
//
// It must never judge, and it must not trust what a guest printed: text reaches the page through
// html/template only, with control characters made visible.
//
// # The picture
//
// Time goes from left to right. Everything in the diagram has x as a percentage of the run, so that
// zooming only widens it: a page needs no drawing by script and is whole without one. What carries
// data-n is a record of the journal; the script lights the records that prove a check, steps
// through them, and tells of one what data-t says.
//
// Bounds: a run of some thousand frames is drawn frame by frame; more are gathered into arrows that
// stand for several (frameMost). Of a console that printed more than lineMost lines the middle is
// left out, but for lines that prove a check.
package web

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"unicode"

	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/report"
	"holdfast/rig/report/page"
	"holdfast/rig/report/timeline"
)

// File is the artefact's name.
const File = "report.html"

// Input is what a report shows.
type Input struct {
	Run    *judge.Run
	Result report.Result
	About  string // the fault, in a sentence
	Proof  string // what has been shown when every check held
	// Others are further runs of the same fault, in any order; the run itself may be among them.
	Others []report.Result
}

//go:embed *.tmpl web.css web.js
var files embed.FS

var templates = template.Must(template.New("").ParseFS(files, "*.tmpl"))

// Write makes the page.
func Write(w io.Writer, in Input) error {
	t := timeline.Of(in.Run)
	style, err1 := files.ReadFile("web.css")
	script, err2 := files.ReadFile("web.js")
	if err1 != nil || err2 != nil {
		panic("web: its own files are missing")
	}
	proof := newProof(t, in.Result.Checks)
	doc := page.Document{
		Title: fmt.Sprintf("%s, seed %d", in.Result.Fault, in.Result.Seed),
		Tone:  toneOf(in.Result.Exit.Status()), Word: word(in.Result),
		Lead: lead(in), Facts: facts(in),
		Style: string(style), Script: string(script),
	}
	for _, s := range []struct {
		section page.Section
		name    string
		data    any
	}{
		{page.Section{ID: "diagram", Title: "What happened"}, "diagram.tmpl", newDiagram(t)},
		{page.Section{ID: "checks", Title: "Checks", Note: "A check opens to the records that " +
			"prove it, and lights them in the diagram and in the consoles."},
			"checks.tmpl", newChecks(proof, in.Result)},
		{page.Section{ID: "consoles", Title: "Consoles", Note: "Each line at the time when the rig " +
			"had read it. Names stand for the ids of nodes and objects."},
			"consoles.tmpl", newConsoles(t, proof)},
		{page.Section{ID: "latencies", Title: "Latencies", Note: "By the rig's clock, against " +
			"their bounds."}, "latencies.tmpl", newLatencies(in)},
	} {
		var b strings.Builder
		if err := templates.ExecuteTemplate(&b, s.name, s.data); err != nil {
			return fmt.Errorf("web: %w", err)
		}
		s.section.HTML = template.HTML(b.String())
		doc.Sections = append(doc.Sections, s.section)
	}
	return doc.Write(w)
}

// toneOf is the colour of a check's status.
func toneOf(s judge.Status) page.Tone {
	switch s {
	case judge.Held:
		return page.Good
	case judge.Violated:
		return page.Bad
	}
	return page.Open
}

// word is a run's verdict in a few words.
func word(r report.Result) string {
	if r.Exit == judge.CodeHeld {
		return fmt.Sprintf("all %d checks held", len(r.Checks))
	}
	held := 0
	for _, c := range r.Checks {
		if c.Status == judge.Held {
			held++
		}
	}
	name := map[judge.Code]string{judge.CodeViolated: "violated",
		judge.CodeInconclusive: "inconclusive", judge.CodeTrouble: "trouble"}[r.Exit]
	return fmt.Sprintf("%s: %d of %d checks held", name, held, len(r.Checks))
}

// lead says what was done and what it showed.
func lead(in Input) string {
	text := sentence(in.About)
	switch r := in.Result; {
	case r.Exit == judge.CodeHeld:
		text += sentence("Shown: " + in.Proof)
	case r.Outcome != journal.Complete:
		text += sentence("The run ended early: " + r.Reason)
	default:
		var names []string
		for _, c := range r.Checks {
			if c.Status != judge.Held {
				names = append(names, c.Name)
			}
		}
		text += sentence("Not held: " + strings.Join(names, ", "))
	}
	return strings.TrimSpace(text)
}

// sentence makes a sentence of a clause.
func sentence(text string) string {
	text = visible(strings.TrimSuffix(strings.TrimSpace(text), "."))
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + ". "
}

func facts(in Input) []page.Fact {
	r := in.Result
	facts := []page.Fact{
		{Name: "Exit code", Value: fmt.Sprintf("%d, %s", r.Exit, r.Meaning)},
		{Name: "Took", Value: fmt.Sprintf("%.1f s", r.Seconds)},
		{Name: "Began", Value: r.Wall.UTC().Format("2006-01-02 15:04:05 UTC")},
		{Name: "Machines", Value: fmt.Sprintf("%d of %s, QEMU %s",
			len(in.Run.Info.Nodes), r.RAM, r.QEMU)},
		{Name: "Mesh", Value: mesh(in.Run.Times())},
		{Name: "Image (SHA-256)", Value: prefix(r.Image, 16)},
	}
	return append(facts, page.Fact{Name: "Records", Value: fmt.Sprint(len(in.Run.Records))})
}

// mesh is a mesh's timing for people.
func mesh(t timing.Timing) string {
	text := "suspect " + seconds(t.Suspect) + ", failed " + seconds(t.Fail)
	if t.AcksAll {
		return text + ", no lease: all acknowledge"
	}
	return text + ", lease " + seconds(t.WriteLease)
}

func seconds(s when.Span) string { return strconv.FormatFloat(float64(s)/1e3, 'f', -1, 64) + " s" }

func prefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}

// visible makes what a terminal or a browser would act on, and nobody would see, readable: control
// characters, and those that turn the direction of writing.
func visible(s string) string {
	odd := func(r rune) bool {
		return r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
	}
	if strings.IndexFunc(s, odd) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !odd(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// place is where an instant lies in the diagram, as a percentage of the run.
func place(t *timeline.Timeline, at journal.Time) string {
	return page.Scale{From: 0, To: float64(max(1, t.End))}.Percent(float64(at))
}

// width is how wide a stretch of time is there.
func width(t *timeline.Timeline, from, to journal.Time) string {
	return page.Scale{From: 0, To: float64(max(1, t.End))}.Percent(float64(max(0, to-from)))
}
