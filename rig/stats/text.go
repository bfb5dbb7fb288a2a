package stats

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// String is the rate for people, such as "48 of 50 runs held: 96.0 % (95 % interval 86.5 to 98.9)".
func (r Rate) String() string {
	low, high := r.Interval()
	return fmt.Sprintf("%d of %d runs held: %.1f %% (95 %% interval %.1f to %.1f)",
		r.Held, r.Runs, 100*r.Share(), 100*low, 100*high)
}

// WriteText writes what the runs show for people.
func WriteText(w io.Writer, faults []Fault) error {
	var b strings.Builder
	for i, f := range faults {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s: %v\n", f.Name, f.Rate)
		f.times(&b)
		f.failures(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// times writes a row for each check that measures one.
func (f *Fault) times(b *strings.Builder) {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	some := false
	for _, c := range f.Checks {
		t := c.Times
		if t == nil {
			continue
		}
		if !some {
			fmt.Fprintln(table, "  seconds\truns\tmin\tp50\tp95\tmax\tbounds\tleast slack\tseed of it\t")
			some = true
		}
		fmt.Fprintf(table, "  %s\t%d\t%s\t%s\t%s\t%s\t%s to %s\t%s\t%d\t\n", c.Name, t.Count,
			sec(t.Min), sec(t.P50), sec(t.P95), sec(t.Max), sec(t.Least), sec(t.Most), sec(t.Slack),
			t.Seed)
	}
	table.Flush() // into memory
}

// failures writes what did not hold, and in which runs.
func (f *Fault) failures(b *strings.Builder) {
	for _, c := range f.Checks {
		if c.Rate.Held < c.Rate.Runs {
			fmt.Fprintf(b, "  %s held in %d of %d\n", c.Name, c.Rate.Held, c.Rate.Runs)
		}
	}
	for _, x := range f.Failed {
		fmt.Fprintf(b, "  seed %d: exit %d", x.Seed, x.Exit)
		if x.Reason != "" {
			fmt.Fprintf(b, ", %s", x.Reason)
		}
		if len(x.Checks) > 0 {
			fmt.Fprintf(b, "; %s", strings.Join(x.Checks, ", "))
		}
		b.WriteString("\n")
	}
}

func sec(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
