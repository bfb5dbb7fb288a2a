// Package trace holds what the detector lab replays: the gaps between the heartbeats of one peer as
// one watcher saw them, read from a file, taken from the journal of a run, or made from a seed. It
// owns the file's form and the generators. It must never judge a gap.
//
// # The file
//
// CSV, one gap a line, in the order in which they were seen. A line that begins with # is a
// comment.
//
//	# from n1 to n0, kernels in QEMU, a quiet host
//	interval,100
//	100
//	102,peer
//	2900,peer
//
// interval is the time between two heartbeats that was meant, in whole milliseconds; it stands
// before the first gap, or is missing: then it is the median of the gaps. A gap is in milliseconds
// with at most three decimals, rounded to whole ones, 0 to an hour. After it may stand what made it
// long:
//
//	peer   the peer did not run, or nobody knows (what a gap without a cause is taken for)
//	path   what it sent was lost on the way to this watcher; others could have heard it
//	self   the watcher did not run
package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"holdfast/mesh/when"
)

// Cause is what made a gap as long as it is.
type Cause uint8

// The causes.
const (
	Peer Cause = iota
	Path
	Self
)

var causes = []string{"peer", "path", "self"}

func (c Cause) String() string { return causes[c] }

// Gap is the time between two heartbeats.
type Gap struct {
	Length when.Span
	Cause  Cause
}

// Trace is what one watcher saw of one peer.
type Trace struct {
	Name     string
	About    string // a sentence
	Interval when.Span
	Gaps     []Gap
}

// The bounds of a trace.
const (
	GapMax  = 3_600_000  // milliseconds
	GapsMax = 10_000_000 // in a file
)

// Length is the time that the trace covers.
func (t *Trace) Length() when.Span {
	var sum when.Span
	for _, g := range t.Gaps {
		sum += g.Length
	}
	return sum
}

// Worst is the longest gap that was not the watcher's own doing, 0 without one.
func (t *Trace) Worst() when.Span {
	var worst when.Span
	for _, g := range t.Gaps {
		if g.Cause != Self {
			worst = max(worst, g.Length)
		}
	}
	return worst
}

// median is the middle gap.
func (t *Trace) median() when.Span {
	lengths := make([]when.Span, len(t.Gaps))
	for i, g := range t.Gaps {
		lengths[i] = g.Length
	}
	slices.Sort(lengths)
	return lengths[len(lengths)/2]
}

// Read reads a trace. An error names the line.
func Read(from io.Reader) (*Trace, error) {
	r := csv.NewReader(from)
	r.Comment, r.FieldsPerRecord, r.ReuseRecord = '#', -1, true
	t := &Trace{}
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("trace: %w", err)
		}
		if err := t.row(fields); err != nil {
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("trace: line %d: %w", line, err)
		}
	}
	if len(t.Gaps) == 0 {
		return nil, errors.New("trace: no gap")
	}
	if t.Interval == 0 {
		if t.Interval = t.median(); t.Interval == 0 {
			return nil, errors.New("trace: no interval, and the median of the gaps is 0")
		}
	}
	return t, nil
}

// row takes one line.
func (t *Trace) row(fields []string) error {
	if fields[0] == "interval" {
		return t.interval(fields)
	}
	if len(fields) > 2 {
		return fmt.Errorf("%d fields, want a gap and perhaps its cause", len(fields))
	}
	if len(t.Gaps) == GapsMax {
		return fmt.Errorf("more than %d gaps", GapsMax)
	}
	length, err := millis(fields[0])
	if err != nil {
		return err
	}
	g := Gap{Length: length}
	if len(fields) == 2 {
		i := slices.Index(causes, fields[1])
		if i < 0 {
			return fmt.Errorf("cause %q, want one of %s", fields[1], strings.Join(causes, ", "))
		}
		g.Cause = Cause(i)
	}
	t.Gaps = append(t.Gaps, g)
	return nil
}

func (t *Trace) interval(fields []string) error {
	switch {
	case len(fields) != 2:
		return errors.New("want interval,<milliseconds>")
	case t.Interval != 0:
		return errors.New("a second interval")
	case len(t.Gaps) > 0:
		return errors.New("the interval stands before the first gap")
	}
	n, err := strconv.ParseUint(fields[1], 10, 32)
	if err != nil || n < 1 || n > GapMax {
		return fmt.Errorf("interval %q, want whole milliseconds from 1 to %d", fields[1], GapMax)
	}
	t.Interval = when.Span(n)
	return nil
}

// millis reads a gap: digits, perhaps a point and one to three digits more.
func millis(s string) (when.Span, error) {
	whole, decimals, point := strings.Cut(s, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if !digits(whole) || point && (!digits(decimals) || len(decimals) > 3) {
		return 0, fmt.Errorf("gap %q, want milliseconds with at most three decimals", s)
	}
	n, err := strconv.ParseUint(whole, 10, 32)
	if err != nil || n > GapMax {
		return 0, fmt.Errorf("gap %q, want at most %d ms", s, GapMax)
	}
	if point && decimals[0] >= '5' {
		n++
	}
	return when.Span(min(n, GapMax)), nil
}

// Write writes the trace as Read reads it, About as a comment.
func (t *Trace) Write(to io.Writer) error {
	var b strings.Builder
	for line := range strings.Lines(t.About) {
		fmt.Fprintf(&b, "# %s\n", strings.TrimRight(line, "\r\n"))
	}
	fmt.Fprintf(&b, "interval,%d\n", t.Interval)
	for _, g := range t.Gaps {
		b.WriteString(strconv.FormatInt(int64(g.Length), 10))
		if g.Cause != Peer {
			b.WriteString("," + g.Cause.String())
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(to, b.String())
	return err
}
