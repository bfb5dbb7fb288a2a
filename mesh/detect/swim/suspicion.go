// Package swim is the failure detector of SWIM as memberlist runs it, seen from one member that
// watches one peer: a direct probe, k indirect ones, a suspicion that the peer can refute with a
// higher incarnation, and the extensions of Lifeguard, which can be left out: a watcher that
// distrusts itself, and a suspicion that others' confirmations shorten.
//
//	       probe failed, or told           suspicion over
//	Alive -----------------------> Suspect --------------> Failed
//	  ^                              |                       |
//	  +---- refuted by a higher incarnation than suspected --+
//
// Gossip is not here: what others say comes as evidence. Sources: Das, Gupta, Motivala, "SWIM" (DSN
// 2002); Dadgar, Phillips, Currey, "Lifeguard" (2018); hashicorp/memberlist, config.go, state.go,
// suspicion.go, util.go, awareness.go.
package swim

import (
	"math"
	"slices"

	"holdfast/mesh/when"
)

// MinSuspicion is memberlist's least time from suspicion to conviction in a cluster of n members.
// The logarithm is taken to three decimals.
func MinSuspicion(mult, n int, period when.Span) when.Span {
	scale := max(1, math.Log10(max(1, float64(n))))
	return when.Span(mult) * when.Span(scale*1_000) * period / 1_000
}

// MaxSuspicion is memberlist's longest one, without any confirmation.
func MaxSuspicion(maxMult int, least when.Span) when.Span { return when.Span(maxMult) * least }

// ConfirmationsWanted is how many confirmations shorten a suspicion to the least: mult - 2, and
// none where there are not as many members to give them, who then are not waited for either.
func ConfirmationsWanted(mult, n int) int {
	if k := mult - 2; k > 0 && n-2 >= k {
		return k
	}
	return 0
}

// Remaining is how much of a suspicion is left after elapsed, with n of k confirmations; it is
// negative when it was over before. Without any to wait for it is the least time.
func Remaining(n, k int, elapsed, least, most when.Span) when.Span {
	if k < 1 {
		return least - elapsed
	}
	part := math.Log(float64(n)+1) / math.Log(float64(k)+1)
	total := when.Span(math.Floor(float64(most) - part*float64(most-least)))
	return max(total, least) - elapsed
}

// FirstDetection is the expected number of periods, the one of the detection included, after which
// the first of the n-1 others probes a crashed member of n, when each probes one at random in each.
// It is 1 for two members and rises with n to its limit, e/(e-1).
func FirstDetection(n int) float64 {
	others := float64(n - 1)
	return 1 / (1 - math.Pow(1-1/others, others))
}

// suspicion is the time that a suspect has to refute.
type suspicion struct {
	start       when.Instant
	least, most when.Span
	k           int
	from        []int // who has said so, the first one included
}

// confirm counts another member's word, once.
func (s *suspicion) confirm(from int) {
	if len(s.from)-1 < s.k && !slices.Contains(s.from, from) {
		s.from = append(s.from, from)
	}
}

func (s *suspicion) over(now when.Instant) bool {
	return Remaining(len(s.from)-1, s.k, now.Sub(s.start), s.least, s.most) <= 0
}

// Awareness is how little a member trusts itself: 0 is best. Its time limits are multiplied by
// one more than the score.
type Awareness struct {
	limit int // the score stays below
	score int
}

// NewAwareness makes an awareness that multiplies by at most limit, from 1.
func NewAwareness(limit int) Awareness { return Awareness{limit: max(1, limit)} }

// Apply moves the score, within its bounds.
func (a *Awareness) Apply(delta int) { a.score = max(0, min(a.score+delta, a.limit-1)) }

// Score is the score.
func (a *Awareness) Score() int { return a.score }

// Scale is a time limit as it is to be applied.
func (a *Awareness) Scale(s when.Span) when.Span { return s * when.Span(a.score+1) }
