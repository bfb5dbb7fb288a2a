package relay

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Rule says what happens to the frames of one direction. The zero Rule passes everything. The
// chances lie between 0, never, and 1, always, and are drawn in the order of the fields, for each
// frame that Match selects.
type Rule struct {
	Match func(frame []byte) bool // the frames meant, the others pass; nil means all

	Drop     float64 // chance that the frame is lost
	Corrupt  float64 // chance that one bit is inverted, behind the Ethernet header
	Truncate float64 // chance that the end is cut off, anywhere behind the Ethernet header
	Repeat   float64 // chance that the frame arrives twice

	Hold bool // keep the frames until Path.Release or Path.Discard

	Rate   int           // bytes a second that the direction carries; 0 is no limit
	Delay  time.Duration // time on the way, behind Rate
	Jitter time.Duration // up to so much longer, evenly spread; lets frames overtake each other
	Hurry  float64       // chance that a frame skips Rate, Delay and Jitter, and so overtakes
}

// Block is the rule of a cut direction.
var Block = Rule{Drop: 1}

// check refuses a rule that means nothing.
func (r *Rule) check() error {
	for _, c := range []struct {
		name  string
		value float64
	}{
		{"Drop", r.Drop}, {"Corrupt", r.Corrupt}, {"Truncate", r.Truncate}, {"Repeat", r.Repeat},
		{"Hurry", r.Hurry},
	} {
		if !(c.value >= 0 && c.value <= 1) { // written so that it refuses NaN, too
			return fmt.Errorf("relay: rule's %s is %v, want a chance from 0 to 1", c.name, c.value)
		}
	}
	timed := r.Rate != 0 || r.Delay != 0 || r.Jitter != 0
	switch {
	case r.Rate < 0 || r.Delay < 0 || r.Jitter < 0:
		return errors.New("relay: rule's Rate, Delay or Jitter is negative")
	case r.Hold && timed:
		return errors.New("relay: a rule either holds frames or delays them")
	case r.Hurry > 0 && !timed:
		return errors.New("relay: rule's Hurry without a delay to skip")
	}
	return nil
}

// fate is what a rule decided for one frame.
type fate struct {
	frame  []byte // the frame that goes on: the one given, or a changed copy
	change Change
	drop   bool
	hold   bool
	wait   bool // goes through Rate, Delay and Jitter
	jitter time.Duration
}

// apply decides on a frame of at least headerLen bytes, which it does not change.
func (r *Rule) apply(frame []byte, chance *rand.Rand) fate {
	f := fate{frame: frame}
	if r.Match != nil && !r.Match(frame) {
		return f
	}
	hit := func(p float64) bool { return p > 0 && chance.Float64() < p }
	if hit(r.Drop) {
		f.drop = true
		return f
	}
	body := len(frame) - headerLen
	if hit(r.Corrupt) && body > 0 {
		bit := chance.IntN(8 * body)
		f.frame = slices.Clone(f.frame)
		f.frame[headerLen+bit/8] ^= 1 << (bit % 8)
		f.change |= Corrupted
	}
	if hit(r.Truncate) && body > 0 {
		f.frame = f.frame[:headerLen+chance.IntN(body)]
		f.change |= Truncated
	}
	if hit(r.Repeat) {
		f.change |= Repeated
	}
	f.hold = r.Hold
	if r.Rate == 0 && r.Delay == 0 && r.Jitter == 0 {
		return f
	}
	if r.Jitter > 0 {
		f.jitter = time.Duration(chance.Int64N(int64(r.Jitter) + 1))
	}
	f.wait = !hit(r.Hurry)
	if !f.wait {
		f.change |= Hurried
	}
	return f
}
