package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// widest is the length of the longest of these texts.
func widest(ms []mutant, text func(*mutant) string) int {
	most := 0
	for i := range ms {
		most = max(most, len(text(&ms[i])))
	}
	return most
}

// summary is a row in a few words: who caught the mutant first, and who else.
func (r *row) summary(levels []level) string {
	if r.err != nil {
		return r.err.Error()
	}
	text := ""
	for i, l := range levels {
		switch res := r.results[i]; {
		case res.verdict == caught && text == "":
			text = "caught by " + l.name + " (" + res.by + ")"
		case res.verdict == caught:
			text += ", " + l.name
		}
	}
	if text == "" {
		text = "SURVIVED"
	}
	for i, l := range levels {
		if res := r.results[i]; res.verdict == late || res.verdict == broken {
			text += fmt.Sprintf("; %s is %v: %s", l.name, res.verdict, res.by)
		}
	}
	return text
}

// allCaught reports whether no mutant got away.
func allCaught(rows []row) bool {
	for i := range rows {
		if rows[i].err != nil || !rows[i].caught() {
			return false
		}
	}
	return true
}

const totalsName = "caught of those run"

// report prints the table of mutants and levels, the totals, and those that got away.
func report(to io.Writer, levels []level, rows []row, took time.Duration) {
	ms := make([]mutant, len(rows))
	for i := range rows {
		ms[i] = *rows[i].mutant
	}
	name := max(widest(ms, (*mutant).title), len(totalsName))
	rule := max(widest(ms, (*mutant).label), len("rule"))
	line := func(first, second string, cells []string, last string) {
		text := fmt.Sprintf("%-*s  %-*s", name, first, rule, second)
		for i, c := range cells {
			text += fmt.Sprintf("  %-*s", max(len("caught"), len(levels[i].name)), c)
		}
		fmt.Fprintln(to, strings.TrimRight(text+"  "+last, " "))
	}
	heads := make([]string, len(levels))
	for i, l := range levels {
		heads[i] = l.name
	}
	line("mutant", "rule", heads, "first caught by")
	for i := range rows {
		r := &rows[i]
		cells, by := make([]string, len(levels)), "nothing"
		for k := range r.results {
			cells[k] = r.results[k].verdict.String()
		}
		switch first := r.first(); {
		case r.err != nil:
			by = "not tried: see below"
		case first >= 0:
			by = r.results[first].by
		}
		line(r.mutant.name, r.mutant.rule, cells, by)
	}
	line(totalsName, "", totals(levels, rows), "")
	verdicts(to, levels, rows)
	fmt.Fprintf(to, "took %v\n", took.Round(time.Second))
}

// totals are, for each level, how many it has caught of how many it was tried on.
func totals(levels []level, rows []row) []string {
	cells := make([]string, len(levels))
	for i := range levels {
		n, of := 0, 0
		for k := range rows {
			switch rows[k].results[i].verdict {
			case caught:
				n++
				of++
			case survived, late, broken:
				of++
			}
		}
		cells[i] = fmt.Sprintf("%d/%d", n, of)
	}
	return cells
}

// verdicts says how many were caught, and names the others.
func verdicts(to io.Writer, levels []level, rows []row) {
	n := 0
	var others []string
	for i := range rows {
		if r := &rows[i]; r.err == nil && r.caught() {
			n++
		} else {
			others = append(others, "  "+r.mutant.name+": "+r.summary(levels))
		}
	}
	fmt.Fprintf(to, "\n%d of %d mutants caught", n, len(rows))
	if len(others) > 0 {
		fmt.Fprintf(to, "; not caught:\n%s", strings.Join(others, "\n"))
	}
	fmt.Fprintln(to)
}
