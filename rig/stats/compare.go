package stats

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Pair is one fault in two sets of runs.
type Pair struct {
	Name          string
	Before, After *Fault // nil when the set has no run of it
}

// Match pairs the faults of two sets: those of the first in their order, then the new ones.
func Match(before, after []Fault) []Pair {
	var pairs []Pair
	find := func(faults []Fault, name string) *Fault {
		i := slices.IndexFunc(faults, func(f Fault) bool { return f.Name == name })
		if i < 0 {
			return nil
		}
		return &faults[i]
	}
	for i, f := range before {
		pairs = append(pairs, Pair{f.Name, &before[i], find(after, f.Name)})
	}
	for i, f := range after {
		if find(before, f.Name) == nil {
			pairs = append(pairs, Pair{f.Name, nil, &after[i]})
		}
	}
	return pairs
}

// Worse names the checks which held in every run of the first set and not in every one of the
// second. Times that differ are no such thing: their bounds say what is wrong.
func (p Pair) Worse() []string {
	if p.Before == nil || p.After == nil {
		return nil
	}
	var names []string
	for _, c := range p.After.Checks {
		was := p.Before.find(c.Name)
		if was != nil && was.Rate.Held == was.Rate.Runs && c.Rate.Held < c.Rate.Runs {
			names = append(names, c.Name)
		}
	}
	return names
}

func (f *Fault) find(name string) *Check {
	for i := range f.Checks {
		if f.Checks[i].Name == name {
			return &f.Checks[i]
		}
	}
	return nil
}

// WriteComparison writes how two sets of runs stand to each other.
func WriteComparison(w io.Writer, pairs []Pair) error {
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			b.WriteString("\n")
		}
		switch {
		case p.After == nil:
			fmt.Fprintf(&b, "%s: only in the first\n", p.Name)
			continue
		case p.Before == nil:
			fmt.Fprintf(&b, "%s: only in the second\n", p.Name)
			continue
		}
		fmt.Fprintf(&b, "%s\n  first   %v\n  second  %v\n", p.Name, p.Before.Rate, p.After.Rate)
		p.times(&b)
		for _, name := range p.Worse() {
			now := p.After.find(name).Rate
			fmt.Fprintf(&b, "  worse: %s held in every run of the first, and in %d of %d of the second\n",
				name, now.Held, now.Runs)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// times writes a row for each check that measures a time in both sets.
func (p Pair) times(b *strings.Builder) {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	some := false
	for _, c := range p.After.Checks {
		was := p.Before.find(c.Name)
		if was == nil || was.Times == nil || c.Times == nil {
			continue
		}
		if !some {
			fmt.Fprintln(table, "  seconds\tp50\t\tp95\t\tmax\t\tleast slack\t\tmost allowed\t")
			some = true
		}
		x, y := was.Times, c.Times
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", c.Name, sec(x.P50), sec(y.P50),
			sec(x.P95), sec(y.P95), sec(x.Max), sec(y.Max), sec(x.Slack), sec(y.Slack), sec(y.Most))
	}
	table.Flush() // into memory
}
