package health

import (
	"math/bits"

	"holdfast/mesh/when"
)

const (
	// spanMax is the longest span with a bucket of its own, an hour; a longer one counts as that.
	spanMax = 3_600_000
	// Every power of two has so many buckets, so that a bucket is never wider than an eighth of what
	// is in it; below twice that, every millisecond has its own.
	parts     = 1 << partsBits
	partsBits = 3
	buckets   = 2*parts + (22-partsBits-1)*parts // spanMax has 22 bits
)

// Histogram counts spans of time, 0 to an hour, with an error of an eighth at most, in 640 bytes
// whatever is counted. The zero Histogram is empty. It is not for several goroutines.
type Histogram struct {
	counts [buckets]uint32 // a full one stays full
	n      uint64
	worst  when.Span
}

// bucketOf is the index of the bucket of a span within bounds.
func bucketOf(s when.Span) int {
	if s < 2*parts {
		return int(s)
	}
	shift := bits.Len64(uint64(s)) - partsBits - 1
	return 2*parts + (shift-1)*parts + int(s>>shift) - parts
}

// mostOf is the longest span of a bucket.
func mostOf(bucket int) when.Span {
	if bucket < 2*parts {
		return when.Span(bucket)
	}
	shift := (bucket-2*parts)/parts + 1
	first := when.Span((bucket-2*parts)%parts + parts)
	return (first+1)<<shift - 1
}

// Add counts a span. A negative one counts as 0.
func (h *Histogram) Add(s when.Span) {
	s = max(0, min(s, spanMax))
	if c := &h.counts[bucketOf(s)]; *c < 1<<32-1 {
		*c++
	}
	h.n++
	h.worst = max(h.worst, s)
}

// N is how many spans were counted.
func (h *Histogram) N() uint64 { return h.n }

// Worst is the longest, 0 without one.
func (h *Histogram) Worst() when.Span { return h.worst }

// Quantile is a span that at least the share q of all, 0 to 1, do not exceed: the upper end of the
// bucket, but no more than the longest span. It is 0 without one.
func (h *Histogram) Quantile(q float64) when.Span {
	need, seen := q*float64(h.n), uint64(0)
	for i, c := range h.counts {
		if seen += uint64(c); c > 0 && float64(seen) >= need {
			return min(mostOf(i), h.worst)
		}
	}
	return h.worst
}

// Bucket is a bucket that is not empty: N spans, none above Most.
type Bucket struct {
	Most when.Span
	N    uint64
}

// Buckets returns those that are not empty, the shortest first.
func (h *Histogram) Buckets() []Bucket {
	var all []Bucket
	for i, c := range h.counts {
		if c > 0 {
			all = append(all, Bucket{mostOf(i), uint64(c)})
		}
	}
	return all
}
