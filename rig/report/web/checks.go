package web

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/report"
	"holdfast/rig/report/page"
	"holdfast/rig/report/timeline"
)

// proof knows which records prove which checks.
type proof struct {
	t     *timeline.Timeline
	cited map[int]bool
}

func newProof(t *timeline.Timeline, checks []judge.Result) *proof {
	p := &proof{t: t, cited: make(map[int]bool)}
	for _, c := range checks {
		for _, n := range c.Evidence {
			p.cited[n] = true
		}
	}
	return p
}

// checks is what checks.tmpl shows.
type checks struct {
	All     []check
	NotHeld int
}

type check struct {
	ID     string
	Tone   page.Tone
	Status string
	Result judge.Result
	Detail string
	Slack  string // "" for none
	Bounds string
	Gauge  template.HTML
	Proof  []evidence
	More   int // records that are not listed
}

// evidence is a record that proves a check.
type evidence struct {
	N          int
	At, X      string
	What, Text string
}

// proofMost is how many records of a check are listed. A check over all traffic can cite hundreds.
const proofMost = 60

func newChecks(p *proof, r report.Result) *checks {
	list := new(checks)
	for i, result := range r.Checks {
		c := check{ID: fmt.Sprintf("check-%d", i+1), Tone: toneOf(result.Status),
			Status: result.Status.String(), Result: result,
			Detail: visible(p.t.Names.Replace(result.Detail))}
		if result.Status != judge.Held {
			list.NotHeld++
		}
		if m := result.Margin; m != nil {
			c.Slack, c.Bounds, c.Gauge = slack(m), bounds(m), gauge(m, c.Tone)
		}
		for _, n := range result.Evidence {
			if len(c.Proof) == proofMost {
				c.More++
				continue
			}
			if n >= 1 && n <= len(p.t.Run.Records) {
				c.Proof = append(c.Proof, p.record(p.t.Run.Records[n-1]))
			}
		}
		list.All = append(list.All, c)
	}
	return list
}

func slack(m *judge.Margin) string {
	if m.Slack < 0 {
		return fmt.Sprintf("%s late", precise(-m.Slack))
	}
	return fmt.Sprintf("slack %s", precise(m.Slack))
}

// bounds says a measured time and what it has to lie between.
func bounds(m *judge.Margin) string {
	text := fmt.Sprintf("%s %s; must lie between %s and %s", m.What, precise(m.Value),
		precise(m.Least), precise(m.Most))
	if m.Unsharp > 0 {
		text += fmt.Sprintf("; known to %s", precise(m.Unsharp))
	}
	return text
}

func gauge(m *judge.Margin, tone page.Tone) template.HTML {
	return page.Gauge{Least: m.Least.Seconds(), Most: m.Most.Seconds(), Value: m.Value.Seconds(),
		Unsharp: m.Unsharp.Seconds(), Tone: tone, Title: bounds(m)}.HTML()
}

// precise is a time in seconds, to the millisecond.
func precise(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// record says what a record is.
func (p *proof) record(r journal.Record) evidence {
	e := evidence{N: r.N, At: r.At.String(), X: place(p.t, r.At)}
	switch r.Kind {
	case journal.KindConsole:
		e.What, e.Text = r.Node+" prints", r.Line
	case journal.KindFrame:
		e.What = fmt.Sprintf("frame %s to %s", r.Node, r.Frame.To)
		e.Text = fmt.Sprintf("%d bytes, %s", r.Frame.Payload, r.Frame.Verdict)
	case journal.KindHTTP:
		e.What = fmt.Sprintf("%s answers", r.Node)
		first, _, more := strings.Cut(strings.TrimSpace(r.HTTP.Body), "\n")
		if more {
			first += " …"
		}
		e.Text = fmt.Sprintf("%s %s: %d %s %s", r.HTTP.Method, r.HTTP.Path, r.HTTP.Status, first,
			r.HTTP.Error)
	case journal.KindAction:
		e.What = "the rig"
		e.Text = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Action.Name, r.Node, r.Action.Peer,
			r.Action.Detail))
	case journal.KindBoot:
		e.What, e.Text = "the rig", fmt.Sprintf("starts %s, boot %d", r.Node, r.Boot)
	case journal.KindEvent:
		e.What, e.Text = "QEMU of "+r.Node, r.Event.Name+" "+r.Event.Data
	case journal.KindExit:
		e.What, e.Text = "QEMU of "+r.Node, r.Exit.Text
	case journal.KindTrouble:
		e.What, e.Text = "trouble", r.Trouble
	case journal.KindStep:
		e.What, e.Text = "step", r.Step.Name+" "+r.Step.Result
	case journal.KindEnd:
		e.What, e.Text = "end", string(r.End.Outcome)+" "+r.End.Reason
	default:
		e.What = string(r.Kind)
	}
	e.Text = clip(visible(p.t.Names.Replace(e.Text)))
	return e
}

// textMost is how much of one line is shown, in characters: evidence has 512 bytes at most.
const textMost = 600

func clip(s string) string {
	runes := []rune(s)
	if len(runes) <= textMost {
		return s
	}
	return fmt.Sprintf("%s … and %d characters more", string(runes[:textMost]), len(runes)-textMost)
}
