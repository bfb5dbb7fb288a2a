package web

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"holdfast/rig/journal"
	"holdfast/rig/report/timeline"
)

// lineMost is how many lines of a run's consoles are shown.
const lineMost = 4000

// consoles is what consoles.tmpl shows.
type consoles struct {
	Nodes   []string
	Rows    []row
	Columns template.CSS
}

// row is a line of a console, or something that the rig did, which goes through all columns.
type row struct {
	N       int
	At, X   string
	Node    string // "" for the rig
	Column  int    // of the node, from 0
	Class   string
	Text    string
	LeftOut int // lines that are left out at this place; the rest is empty
}

func newConsoles(t *timeline.Timeline, p *proof) *consoles {
	c := new(consoles)
	for _, n := range t.Nodes {
		c.Nodes = append(c.Nodes, n.Name)
	}
	c.Columns = template.CSS(fmt.Sprintf("--nodes:%d", max(1, len(c.Nodes))))
	for _, r := range t.Run.Records {
		if row, ok := c.row(t, r); ok {
			c.Rows = append(c.Rows, row)
		}
	}
	slices.SortStableFunc(c.Rows, func(a, b row) int {
		return int(t.Run.Records[a.N-1].At - t.Run.Records[b.N-1].At)
	})
	c.shorten(p)
	return c
}

// row makes the row of a record that has one.
func (c *consoles) row(t *timeline.Timeline, r journal.Record) (row, bool) {
	x := row{N: r.N, At: fmt.Sprintf("%.3f", r.At.Sub(0).Seconds()), X: place(t, r.At), Node: r.Node}
	switch r.Kind {
	case journal.KindConsole:
		x.Column = slices.Index(c.Nodes, r.Node)
		x.Class = classOf(r.Line)
		x.Text = clip(visible(t.Names.Replace(r.Line)))
	case journal.KindAction, journal.KindBoot, journal.KindExit, journal.KindTrouble, journal.KindEnd:
		e := (&proof{t: t}).record(r)
		x.Node, x.Class, x.Text = "", "rig", e.What+": "+e.Text
		if r.Kind == journal.KindTrouble {
			x.Class += " bad"
		}
	default:
		return x, false
	}
	return x, true
}

// classOf colours the lines that tell of what a run is about.
func classOf(line string) string {
	for _, c := range []struct{ prefix, class string }{
		{"panic:", "bad"}, {"mesh-fail: recovered", "good"},
		{"mesh-fail: authority state=restored", "good"},
		{"mesh-fail: disabled", ""}, {"mesh-fail:", "open"}, {"mesh-join: confirmed", "good"},
		{"mesh-view:", "view"}, {"mesh-", "quiet"}, {"mesh=", "open"},
	} {
		if strings.HasPrefix(line, c.prefix) {
			return c.class
		}
	}
	return "other"
}

// shorten leaves out the middle of very many rows, but for what proves a check.
func (c *consoles) shorten(p *proof) {
	if len(c.Rows) <= lineMost {
		return
	}
	from, to := lineMost/2, len(c.Rows)-lineMost/2
	kept := c.Rows[:from:from]
	out := 0
	flush := func() {
		if out > 0 {
			kept = append(kept, row{LeftOut: out})
			out = 0
		}
	}
	for _, r := range c.Rows[from:to] {
		if p.cited[r.N] {
			flush()
			kept = append(kept, r)
			continue
		}
		out++
	}
	flush()
	c.Rows = append(kept, c.Rows[to:]...)
}
