// Package policy is the interface behind which the failure detectors of other systems can be
// compared, and the ones that need no statistics: a fixed timeout, the pair of timeouts that
// Holdfast ships with, Raft's randomised election timeout, and Kubernetes' chain. Packages phi and
// swim beside it have the others. Package rig/lab runs them all on the same heartbeats.
//
// A policy watches one peer. Evidence goes in, suspicion and a verdict come out; both carry the
// instant, so that a policy has no clock. It draws nothing but from the seed that it is given: the
// same evidence at the same instants gives the same verdicts. It sends nothing: a policy that asks
// says what to ask, and whoever drives it does so.
//
// No node is governed by this package: the shipped detector is package detect, and a verdict here
// has no consequences (internal/tidy checks that the protocol does not import it).
package policy

import (
	"holdfast/mesh/detect"
	"holdfast/mesh/when"
)

// Kind says what a piece of evidence is.
type Kind uint8

// The kinds of evidence.
const (
	Heartbeat  Kind = iota // something came from the peer, unasked
	Ack                    // the peer answered the question of Round, directly or through a helper
	Nack                   // a helper lives, and did not get the answer for Round either
	Suspicion              // From suspects the peer of Incarnation
	Refutation             // the peer says, as Incarnation, that it is alive
)

// Evidence is one thing that the watcher has learnt about the peer, or about itself.
type Evidence struct {
	Kind        Kind
	Round       uint64 // of Ack and Nack: the Judgement.Round that asked
	From        int    // of Suspicion: the number of the member that says so
	Incarnation uint64 // of Suspicion and Refutation
}

// Ask is what a policy wants to be asked.
type Ask uint8

// What can be asked.
const (
	Nothing  Ask = iota
	Direct       // one question to the peer
	Indirect     // the same through helpers, as many as the policy was made with
)

// Judgement is what a policy makes of the evidence so far.
type Judgement struct {
	// Health is Failed while the policy would convict. A policy takes that back when the peer is
	// heard again; whether anybody may is not its business.
	Health detect.Health
	// Level is how suspicious the silence is, on the policy's own scale, never negative: phi where
	// there is one, else the silence in parts of the time that convicts.
	Level float64
	// Ask is to be carried out now. Round names it.
	Ask   Ask
	Round uint64
	// Tell is to be told to the other members now: this one suspects the peer by itself.
	Tell bool
}

// Policy is a failure detector's judgement about one peer. Instants must not go back.
type Policy interface {
	// Take takes evidence that came at now.
	Take(now when.Instant, e Evidence)
	// Judge says what the evidence means at now. It is to be called at least as often as the policy
	// is meant to notice things.
	Judge(now when.Instant) Judgement
	// Clone is a copy that shares nothing with the policy.
	Clone() Policy
}

// silence is what the policies of this package have of the peer. Before the first evidence the peer
// counts as heard at the first instant that the policy learns of.
type silence struct {
	begun bool
	last  when.Instant
}

func (s *silence) heard(now when.Instant) { s.begun, s.last = true, now }

func (s *silence) at(now when.Instant) when.Span {
	if !s.begun {
		s.heard(now)
	}
	return now.Sub(s.last)
}

// isLife reports whether the evidence says that the peer lives.
func isLife(k Kind) bool { return k == Heartbeat || k == Ack || k == Refutation }

func share(silence, limit when.Span) float64 { return max(0, float64(silence)/float64(limit)) }
