package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// Status is what a check concluded.
type Status uint8

// The statuses.
const (
	Inconclusive Status = iota // nothing to judge, or not enough
	Held
	Violated
)

var statusNames = [...]string{"inconclusive", "held", "violated"}

func (s Status) String() string { return statusNames[s] }

// MarshalText makes the status a word in JSON.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Status) UnmarshalText(text []byte) error {
	i := slices.Index(statusNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("judge: no status %q", text)
	}
	*s = Status(i)
	return nil
}

// Check is one question to a run.
type Check struct {
	Name   string // a few words joined by hyphens, unique within a fault
	Source string // where the rule stands, such as "ADR 1" or "spec 8"
	Claim  string // what has to be so, a sentence

	ask func(*inquiry)
}

// Result is a check's answer.
type Result struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	Claim  string `json:"claim"`
	Status Status `json:"status"`
	Detail string `json:"detail"` // what was found, or what is wrong or missing
	// Evidence is the numbers of the journal's records that show it, ascending.
	Evidence []int   `json:"evidence"`
	Margin   *Margin `json:"margin,omitempty"`
}

// Margin is how a measured time stands to its bounds. With several it is the tightest.
type Margin struct {
	What    string        `json:"what"`
	Value   time.Duration `json:"value_ns"`
	Least   time.Duration `json:"least_ns"`
	Most    time.Duration `json:"most_ns"`
	Slack   time.Duration `json:"slack_ns"`             // Most - Value, negative when late
	Unsharp time.Duration `json:"unsharp_ns,omitempty"` // how inexactly Value is known
}

// Ask answers the check's question for a run.
func (c Check) Ask(r *Run) Result {
	q := &inquiry{run: r}
	c.ask(q)
	return q.result(c)
}

// inquiry is a check at work: it collects what is found.
type inquiry struct {
	run      *Run
	cited    []int
	wrong    []string // each one alone violates
	unknown  []string // each one alone leaves it open
	found    []string
	tightest *Margin
}

func (q *inquiry) cite(records ...int) { q.cited = append(q.cited, records...) }

func (q *inquiry) violated(format string, args ...any) {
	q.wrong = append(q.wrong, fmt.Sprintf(format, args...))
}

func (q *inquiry) missing(format string, args ...any) {
	q.unknown = append(q.unknown, fmt.Sprintf(format, args...))
}

func (q *inquiry) fact(format string, args ...any) {
	q.found = append(q.found, fmt.Sprintf(format, args...))
}

// margin notes a measured time and judges it: it violates when even the end of its uncertainty that
// speaks for the system lies outside the bounds, and leaves the question open when only the other
// end does. value is the latest that it can be, unsharp how much earlier it may have been.
func (q *inquiry) margin(what string, value, unsharp, least, most time.Duration) {
	m := &Margin{what, value, least, most, most - value, unsharp}
	if q.tightest == nil || m.Slack < q.tightest.Slack {
		q.tightest = m
	}
	switch {
	case value < least:
		q.violated("%s %s, %s too early", what, seconds(value), seconds(least-value))
	case value-unsharp > most:
		q.violated("%s %s, %s too late", what, seconds(value), seconds(value-most))
	case value > most:
		q.missing("%s %s, give or take %s, is not surely within %s",
			what, seconds(value), seconds(unsharp), seconds(most))
	default:
		q.fact("%s %s", what, seconds(value))
	}
}

// seconds writes a time in seconds with milliseconds, as people compare the bounds.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// want checks fields of a line of evidence, each given as "key=value".
func (q *inquiry) want(where string, l evidence.Line, fields ...string) {
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		if got, ok := l.Get(key); !ok {
			q.violated("%s has no %s", where, key)
		} else if got != value {
			q.violated("%s has %s=%s, not %s", where, key, q.short(got), q.short(value))
		}
	}
}

// short writes a value for people: nodes and objects by name, other long ones abbreviated.
func (q *inquiry) short(value string) string {
	var parts []string
	for part := range strings.SplitSeq(value, ",") {
		parts = append(parts, q.shortOne(part))
	}
	return strings.Join(parts, ",")
}

func (q *inquiry) shortOne(value string) string {
	for _, n := range q.run.Info.Nodes {
		if n.ID == value {
			return n.Name
		}
	}
	if o, err := id.ParseObject(value); err == nil && q.run.names[o] != "" {
		return q.run.names[o]
	}
	if len(value) >= 32 {
		return value[:8] + ".."
	}
	return value
}

// only returns the one row of a node that starts so and has the given field. None leaves the
// question open, more than one violates.
func (q *inquiry) only(node, field, prefix string, words ...string) (Row, bool) {
	key, value, _ := strings.Cut(field, "=")
	var found []Row
	for _, row := range q.run.rows(node, prefix, words...) {
		if got, _ := row.Get(key); got == value {
			found = append(found, row)
			q.cite(row.N)
		}
	}
	head := prefix + ": " + strings.Join(words, " ")
	switch {
	case len(found) == 0:
		q.missing("%s printed no %q with %s=%s", node, head, key, q.short(value))
		return Row{}, false
	case len(found) > 1:
		q.violated("%s printed %q with %s=%s %d times", node, head, key, q.short(value), len(found))
	}
	return found[0], true
}

// none violates when a node printed such a row; an empty node means any. It holds only if the run
// was watched to its end.
func (q *inquiry) none(node, prefix string, words ...string) {
	for _, row := range q.run.rows(node, prefix, words...) {
		q.cite(row.N)
		q.violated("%s printed: %s", row.Node, row.Line.String())
	}
}

// watched makes the inquiry rest on the whole run: a question about what must not happen is open
// when the run ended before it was complete. It reports whether it did.
func (q *inquiry) watched() bool {
	if q.run.End.Outcome != journal.Complete {
		q.missing("the run did not come to its end")
		return false
	}
	q.cite(len(q.run.Records))
	return true
}

// result draws the conclusion.
func (q *inquiry) result(c Check) Result {
	r := Result{Name: c.Name, Source: c.Source, Claim: c.Claim, Margin: q.tightest}
	slices.Sort(q.cited)
	r.Evidence = slices.Compact(q.cited)
	if r.Evidence == nil {
		r.Evidence = []int{}
	}
	switch {
	case len(q.wrong) > 0:
		r.Status, r.Detail = Violated, strings.Join(q.wrong, "; ")
	case len(q.unknown) > 0:
		r.Status, r.Detail = Inconclusive, strings.Join(q.unknown, "; ")
	case len(q.cited) == 0:
		r.Status, r.Detail = Inconclusive, "nothing to judge"
	case len(q.found) == 0:
		r.Status, r.Detail = Held, c.Claim
	default:
		r.Status, r.Detail = Held, strings.Join(q.found, "; ")
	}
	return r
}
