package web

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"time"

	"holdfast/rig/judge"
	"holdfast/rig/report"
	"holdfast/rig/report/page"
)

// latencies is what latencies.tmpl shows.
type latencies struct {
	Runs  int
	Plots []template.HTML
	Rows  []measure // of this run alone
}

// measure is one time of this run.
type measure struct {
	Name, Value, Bound string
	Gauge              template.HTML
}

// runMost is how many runs are plotted: the newest ones.
const runMost = 100

// runNames is how many runs have their numbers on the axis, each one; of more some have.
const runNames = 12

// timed is one measured time of one run.
type timed struct {
	name        string
	note        string
	value       time.Duration
	least, most time.Duration
	bad         bool
}

// times are all measured times of a run: first the latencies, then the margins of its checks.
func times(r report.Result) []timed {
	var all []timed
	for _, l := range r.Latencies {
		all = append(all, timed{name: l.Name, note: notes[l.Name], value: l.Value, most: l.Most,
			bad: l.Most > 0 && l.Value > l.Most})
	}
	for _, c := range r.Checks {
		if m := c.Margin; m != nil {
			all = append(all, timed{c.Name, m.What, m.Value, m.Least, m.Most,
				c.Status == judge.Violated})
		}
	}
	return all
}

var notes = map[string]string{
	judge.Detection: "from the fault to the authority's word that the node has failed",
	judge.Rehome:    "from the fault to the view that gives its objects another home",
	judge.Rejoin:    "from the end of the fault to the new admission; the bound is the rig's patience",
}

func newLatencies(in Input) *latencies {
	runs := repeated(in)
	l := &latencies{Runs: len(runs)}
	for _, t := range times(in.Result) {
		if len(runs) > 1 {
			l.Plots = append(l.Plots, plot(t, runs, in.Result))
			continue
		}
		m := measure{Name: t.name, Value: precise(t.value), Bound: "none"}
		if t.most != 0 || t.least != 0 {
			m.Bound = fmt.Sprintf("%s to %s", precise(t.least), precise(t.most))
			tone := page.Good
			if t.bad {
				tone = page.Bad
			}
			m.Gauge = page.Gauge{Least: t.least.Seconds(), Most: t.most.Seconds(),
				Value: t.value.Seconds(), Tone: tone, Title: t.note}.HTML()
		}
		l.Rows = append(l.Rows, m)
	}
	return l
}

// repeated are the runs of this fault, this one among them, by time.
func repeated(in Input) []report.Result {
	runs := []report.Result{in.Result}
	for _, o := range in.Others {
		same := o.Wall.Equal(in.Result.Wall) && o.Seed == in.Result.Seed
		if o.Fault == in.Result.Fault && !same {
			runs = append(runs, o)
		}
	}
	slices.SortStableFunc(runs, func(a, b report.Result) int {
		return cmp.Or(a.Wall.Compare(b.Wall), cmp.Compare(a.Seed, b.Seed))
	})
	return runs[max(0, len(runs)-runMost):]
}

// plot draws a time of this run in all runs.
func plot(t timed, runs []report.Result, this report.Result) template.HTML {
	first := 1.0 // the place of the first run
	p := page.Plot{Title: t.name, Note: t.note, Y: page.Axis{Label: "seconds"},
		X: page.Axis{Label: fmt.Sprintf("run, of %d", len(runs)),
			Scale: &page.Scale{From: first - 0.5, To: first + float64(len(runs)) - 0.5}}}
	if len(runs) <= runNames {
		first, p.X.Scale = 0, nil
		for i := range runs {
			p.X.Ticks = append(p.X.Ticks, fmt.Sprint(i+1))
		}
	}
	earlier := page.Series{Name: "other runs", Lines: true}
	now := page.Series{Name: "this run"}
	for i, r := range runs {
		for _, u := range times(r) {
			if u.name != t.name {
				continue
			}
			point := page.Point{X: first + float64(i), Y: u.value.Seconds(), Bad: u.bad,
				Title: fmt.Sprintf("seed %d: %s", r.Seed, precise(u.value))}
			earlier.Points = append(earlier.Points, point)
			if r.Wall.Equal(this.Wall) && r.Seed == this.Seed {
				now.Points = append(now.Points, point)
			}
		}
	}
	p.Series = []page.Series{earlier, now}
	if t.most != 0 {
		p.Marks = append(p.Marks, page.Mark{Y: t.most.Seconds(), Name: "at most " + precise(t.most)})
	}
	if t.least != 0 {
		p.Marks = append(p.Marks, page.Mark{Y: t.least.Seconds(), Name: "at least " + precise(t.least)})
	}
	return p.HTML()
}
