package evidence

import (
	"strconv"
	"strings"
)

// RingSize is how many lines a Ring keeps.
const RingSize = 256

// Ring keeps the newest RingSize lines, numbered from 1. The zero Ring is empty.
type Ring struct {
	lines [RingSize]Line
	last  uint64 // number of the newest line
}

// Append adds a line and returns its number. The oldest line makes room when the ring is full.
func (r *Ring) Append(l Line) uint64 {
	r.last++
	r.lines[r.last%RingSize] = l
	return r.last
}

// After returns the lines with a number above n that are still kept, oldest first.
func (r *Ring) After(n uint64) []Numbered {
	first := max(n, r.last-min(r.last, RingSize))
	if first >= r.last {
		return nil
	}
	out := make([]Numbered, 0, r.last-first)
	for i := first + 1; i <= r.last; i++ {
		out = append(out, Numbered{i, r.lines[i%RingSize]})
	}
	return out
}

// Numbered is a line with its number in the ring: a line of GET /mesh/log.
type Numbered struct {
	N    uint64
	Line Line
}

// String returns the number, a space and the line.
func (n Numbered) String() string { return strconv.FormatUint(n.N, 10) + " " + n.Line.String() }

// ParseNumbered reads what Numbered.String writes. The error for the line is Parse's.
func ParseNumbered(s string) (Numbered, error) {
	number, text, _ := strings.Cut(s, " ")
	n, err := parseUint(number)
	if err != nil || n == 0 {
		return Numbered{}, &Error{s, "want a number from 1 before the line"}
	}
	l, err := Parse(text)
	return Numbered{n, l}, err
}
