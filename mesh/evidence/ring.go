package evidence

// RingSize is how many lines a Ring keeps.
const RingSize = 256

// Ring keeps the newest RingSize lines, numbered from 1. The zero Ring is empty.
type Ring struct {
	lines [RingSize]Line
	last  uint64 // number of the newest line
}

// Append adds a line and returns its number.
func (r *Ring) Append(l Line) uint64 {
	r.last++
	r.lines[r.last%RingSize] = l
	return r.last
}

// Numbered is a line with its number.
type Numbered struct {
	N    uint64
	Line Line
}

// After returns the lines that are kept with a number above n, oldest first.
func (r *Ring) After(n uint64) []Numbered {
	first := n
	if r.last > RingSize {
		first = max(first, r.last-RingSize)
	}
	var out []Numbered
	for i := first + 1; i <= r.last && i > first; i++ {
		out = append(out, Numbered{i, r.lines[i%RingSize]})
	}
	return out
}
