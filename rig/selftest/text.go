package selftest

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"holdfast/rig/judge"
)

// Survivors are the rows of what was not caught.
func (t Table) Survivors() []Row {
	return slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool { return r.Wrong == "" })
}

// WriteText writes, for each damage, what noticed it; and for each check how many damages it did.
// The check that is there for a damage stands first.
func (t Table) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d damages caught\n",
		t.Fault, len(t.Rows)-len(t.Survivors()), len(t.Rows))
	for _, r := range t.Rows {
		state := "caught"
		if r.Wrong != "" {
			state = "MISSED"
		}
		fmt.Fprintf(&b, "  %s  %s: %s\n", state, r.Damage, r.by())
		if r.Wrong != "" {
			fmt.Fprintf(&b, "          %s\n", r.Wrong)
		}
	}
	b.WriteString("\n  check, and how many damages make it fail\n")
	for _, c := range t.Checks {
		fmt.Fprintf(&b, "  %4d  %s\n", t.noticedBy(c), c)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// by says who noticed.
func (r Row) by() string {
	if r.Want == judge.Held {
		return r.Check + " lets it be, as it must"
	}
	others := slices.DeleteFunc(slices.Clone(r.Noticed), func(c string) bool { return c == r.Check })
	text := fmt.Sprintf("%s is %v", r.Check, r.Got)
	if len(others) > 0 {
		text += "; also " + strings.Join(others, ", ")
	}
	return text
}

func (t Table) noticedBy(check string) int {
	n := 0
	for _, r := range t.Rows {
		if slices.Contains(r.Noticed, check) {
			n++
		}
	}
	return n
}

// WriteMatrix writes a line of CSV for each damage, with 1 in the column of each check that
// noticed.
func (t Table) WriteMatrix(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write(append([]string{"fault", "damage", "caught"}, t.Checks...))
	for _, r := range t.Rows {
		line := []string{r.Fault, r.Damage, mark(r.Wrong == "")}
		for _, c := range t.Checks {
			line = append(line, mark(slices.Contains(r.Noticed, c)))
		}
		out.Write(line)
	}
	out.Flush()
	return out.Error() // of any write
}

func mark(yes bool) string {
	if yes {
		return "1"
	}
	return "0"
}
