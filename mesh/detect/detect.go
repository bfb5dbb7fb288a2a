// Package detect is the failure detector: a stateless policy that turns a silence into a state of
// health (ADR-0008 section 1). It has no clock, no table and no consequences: suspecting and acting
// are different decisions, and acting is the authority's (package mesh).
//
//	last accepted frame at T
//	  T + suspect -> Suspect   still in the view, still routable
//	  T + fail    -> Failed    to be removed by the authority
//
// Both boundaries are inclusive.
package detect

import (
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
)

// Health is what a node thinks of a member.
type Health uint8

// The states, in the order in which silence leads through them.
const (
	Alive Health = iota
	Suspect
	Failed
)

func (h Health) String() string { return [...]string{"alive", "suspect", "failed"}[h] }

// Of returns the health of a member that has been silent for that long. A negative silence, a frame
// from the future, is none.
func Of(silence when.Span, t timing.Timing) Health {
	switch {
	case silence >= t.Fail:
		return Failed
	case silence >= t.Suspect:
		return Suspect
	}
	return Alive
}
