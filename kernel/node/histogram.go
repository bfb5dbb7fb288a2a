package node

import (
	"sync/atomic"

	"holdfast/mesh/when"
)

// histogram counts spans of time by how long they are. One goroutine observes, others read; a
// reading may miss the latest observation in one of its numbers.
type histogram struct {
	bounds []when.Span // ascending: a bucket holds what is at most its bound, and above the one before
	counts []atomic.Uint64
	over   atomic.Uint64 // above the last bound
	sum    atomic.Uint64 // of all spans
}

func newHistogram(bounds ...when.Span) *histogram {
	return &histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds))}
}

// observe counts a span, which is not negative.
func (h *histogram) observe(d when.Span) {
	h.sum.Add(uint64(d))
	for i, bound := range h.bounds {
		if d <= bound {
			h.counts[i].Add(1)
			return
		}
	}
	h.over.Add(1)
}

// buckets is how many spans were at most as long as each bound, which is in seconds here, with all
// of them last.
func (h *histogram) buckets() (bounds []float64, cumulative []uint64, sum float64) {
	n := uint64(0)
	for i, bound := range h.bounds {
		n += h.counts[i].Load()
		bounds = append(bounds, seconds(bound))
		cumulative = append(cumulative, n)
	}
	return bounds, append(cumulative, n+h.over.Load()), seconds(when.Span(h.sum.Load()))
}

func seconds(d when.Span) float64 { return float64(d) / float64(when.Second) }
