package lab

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/mesh/when"
	"holdfast/rig/lab/trace"
)

// Run compares the contenders on the traces, on all cores.
func Run(contenders []Contender, traces []*trace.Trace, s Settings, prices Prices) *Table {
	t := &Table{Settings: s, Prices: prices}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, tr := range traces {
		t.Traces = append(t.Traces, Part{Name: tr.Name, About: tr.About, Gaps: len(tr.Gaps),
			Length: tr.Length(), Worst: tr.Worst(), Results: make([]Result, len(contenders))})
	}
	for i, tr := range traces {
		for j, c := range contenders {
			group.Go(func() error {
				t.Traces[i].Results[j] = Compare(c, tr, s)
				return nil
			})
		}
	}
	_ = group.Wait() // none of them fails
	for i := range t.Traces {
		t.Traces[i].price(prices, s.Crashes)
	}
	return t
}

// WriteText writes the comparison for a terminal.
func (t *Table) WriteText(to io.Writer) error {
	fmt.Fprintf(to, "seed %d; %d crashes a row; rates are a day's; cost: %s a second unnoticed, "+
		"%s a false conviction, %s crashes a day\n", t.Settings.Seed, t.Settings.Crashes,
		number(t.Prices.Second), number(t.Prices.Conviction), number(t.Prices.Crashes))
	for _, p := range t.Traces {
		fmt.Fprintf(to, "\n%s: %s\n  %d gaps in %s, the longest %s; once in it is %s a day\n", p.Name,
			p.About, p.Gaps, text(p.Length/when.Second*when.Second), text(p.Worst), number(p.once()))
		w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "  \tp50\tp99\tmax\tmissed\tsuspected\tconvicted\tflaps\tmsg/s\tcost\t")
		for _, r := range p.Results {
			if r.Left == "" {
				fmt.Fprintln(w, r.row())
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
		for _, r := range p.Results {
			if r.Left != "" {
				fmt.Fprintf(to, "  left out: %s, %s\n", r.Policy, r.Left)
			}
		}
	}
	_, err := fmt.Fprintln(to, "\n* no other row of the trace is better in p99, false convictions "+
		"or messages without being worse in another of them")
	return err
}

// once is how often a day what was seen once happens, as far as this trace can tell.
func (p Part) once() float64 { return dayMS / float64(max(1, p.Length)) }

// row is a result in columns.
func (r Result) row() string {
	mark := " "
	if r.Pareto {
		mark = "*"
	}
	row := mark + " " + r.Policy
	for _, s := range []string{r.time(r.P50), r.time(r.P99), r.time(r.Max), strconv.Itoa(r.Missed),
		number(r.Suspicions), number(r.Convictions), number(r.Flaps), number(r.Messages),
		number(r.Cost)} {
		row += "\t" + s
	}
	return row + "\t"
}

// time is a time to detection, for people.
func (r Result) time(s when.Span) string {
	if s == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f s", (time.Duration(s) * time.Millisecond).Seconds())
}

// number is short and exact enough: three digits that count.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
