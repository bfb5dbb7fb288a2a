// Package phi holds the two accrual failure detectors in wide use: Akka's, which takes the gaps
// between heartbeats for normally distributed, and Cassandra's, which takes them for exponentially
// distributed. Phi is the decimal logarithm, made positive, of the probability that a healthy
// peer's next heartbeat comes even later than now: at 1 a suspicion is wrong once in ten times, at
// 8 once in a hundred million, if the model is right.
//
// A level of suspicion is advice. In a node it is shown and moves nothing (GET /mesh/health); the
// verdict is package detect's. Sources: Hayashibara et al., "The phi accrual failure detector"
// (SRDS 2004); akka/akka, PhiAccrualFailureDetector.scala; apache/cassandra,
// gms/FailureDetector.java.
package phi

import (
	"math"

	"holdfast/mesh/when"
)

// Threshold is at which level both systems convict unless they are told otherwise.
const Threshold = 8

// Normal is phi for a silence under the normal model: all three in one unit, deviation positive. It
// is Akka's logistic approximation of the normal tail, written so that it neither overflows nor
// loses its digits: Akka's own is infinite from about 23 deviations on.
func Normal(silence, mean, deviation float64) float64 {
	y := (silence - mean) / deviation
	z := y * (1.5976 + 0.070566*y*y)
	// log(1+exp(z)) by way of the smaller exponential.
	return (max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))) / math.Ln10
}

// Exponential is phi for a silence under the exponential model: the silence in means, in decimal
// logarithms. mean is positive, in the unit of silence.
func Exponential(silence, mean float64) float64 { return silence / mean / math.Ln10 }

// ExponentialAt is the silence, in means, at which phi is the threshold: 18.4 at 8.
func ExponentialAt(threshold float64) float64 { return threshold * math.Ln10 }

// Window is the latest gaps between heartbeats, at most as many as it was made for. The sums are
// whole numbers, so that what leaves the window leaves nothing behind.
type Window struct {
	gaps    []when.Span
	next    int
	sum     int64
	squares int64 // of gaps of at most an hour, a million of them
}

// gapMax bounds a gap in the window, an hour: the sum of squares stays a whole number.
const gapMax = 3_600_000

// NewWindow makes a window for up to size gaps, 1 to 100,000.
func NewWindow(size int) Window {
	if size < 1 || size > 100_000 {
		panic("phi: a window of no or too many gaps")
	}
	return Window{gaps: make([]when.Span, 0, size)}
}

// Add takes a gap, at the place of the oldest one when the window is full. One below 0 or above an
// hour is taken as that.
func (w *Window) Add(gap when.Span) {
	gap = max(0, min(gap, gapMax))
	if len(w.gaps) < cap(w.gaps) {
		w.gaps = append(w.gaps, gap)
	} else {
		old := w.gaps[w.next]
		w.sum -= int64(old)
		w.squares -= int64(old) * int64(old)
		w.gaps[w.next] = gap
		w.next = (w.next + 1) % len(w.gaps)
	}
	w.sum += int64(gap)
	w.squares += int64(gap) * int64(gap)
}

// Len is how many gaps there are.
func (w *Window) Len() int { return len(w.gaps) }

// Mean is that of the gaps in milliseconds, 0 without one.
func (w *Window) Mean() float64 {
	if len(w.gaps) == 0 {
		return 0
	}
	return float64(w.sum) / float64(len(w.gaps))
}

// Deviation is the standard deviation of the gaps in milliseconds, of these themselves and not of
// what they are a sample of; 0 without one.
func (w *Window) Deviation() float64 {
	if len(w.gaps) == 0 {
		return 0
	}
	mean := w.Mean()
	return math.Sqrt(max(0, float64(w.squares)/float64(len(w.gaps))-mean*mean))
}

// clone is a copy with gaps of its own.
func (w *Window) clone() Window {
	c := *w
	c.gaps = append(make([]when.Span, 0, cap(w.gaps)), w.gaps...)
	return c
}
