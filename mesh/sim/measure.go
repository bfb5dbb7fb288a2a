package sim

import (
	"strconv"
	"strings"
)

// Measures is what worlds show besides the verdict.
type Measures struct {
	Detection Histogram // from a member's death to its removal
	Rejoin    Histogram // from a member's boot to its first right to commit
	Recovery  Histogram // from the end of all trouble until the mesh is whole
	Slack     Histogram // from when a home's right ran out by its clocks to the next one's beginning
	HandOver  Histogram // the same, when a view or a pause ended the right
}

// Add adds other measures.
func (m *Measures) Add(o *Measures) {
	m.Detection.add(&o.Detection)
	m.Rejoin.add(&o.Rejoin)
	m.Recovery.add(&o.Recovery)
	m.Slack.add(&o.Slack)
	m.HandOver.add(&o.HandOver)
}

func (m *Measures) able(x *machine) {
	if !x.root() && x.w.trouble != never {
		m.Rejoin.note(x.w.now - x.booted)
	}
}

// Histogram counts lengths of time, in buckets that double: the first is below a millisecond, the
// last has no end.
type Histogram struct {
	Buckets     [19]int64
	N           int64
	Least, Most Time
}

func (h *Histogram) note(d Time) {
	if h.N == 0 || d < h.Least {
		h.Least = d
	}
	h.Most = max(h.Most, d)
	h.N++
	i := 0
	for i < len(h.Buckets)-1 && d >= Millisecond<<i {
		i++
	}
	h.Buckets[i]++
}

func (h *Histogram) add(o *Histogram) {
	if o.N == 0 {
		return
	}
	if h.N == 0 || o.Least < h.Least {
		h.Least = o.Least
	}
	h.Most = max(h.Most, o.Most)
	h.N += o.N
	for i := range h.Buckets {
		h.Buckets[i] += o.Buckets[i]
	}
}

// Table tells the extremes, and for each bucket that is not empty how many are in it, each on a
// line that is indented.
func (h *Histogram) Table(indent string) string {
	if h.N == 0 {
		return indent + "never\n"
	}
	s := indent + strconv.FormatInt(h.N, 10) + " times, least " + seconds(h.Least) + ", most " +
		seconds(h.Most) + "\n"
	for i, n := range h.Buckets {
		if n == 0 {
			continue
		}
		name := "below " + seconds(Millisecond<<i)
		if i == len(h.Buckets)-1 {
			name = "more"
		}
		share := strconv.FormatFloat(100*float64(n)/float64(h.N), 'f', 2, 64) + " %"
		s += indent + pad(16, name) + pad(10, strconv.FormatInt(n, 10)) + pad(10, share) + "\n"
	}
	return s
}

// pad sets s to the right of a column.
func pad(width int, s string) string { return strings.Repeat(" ", max(1, width-len(s))) + s }
