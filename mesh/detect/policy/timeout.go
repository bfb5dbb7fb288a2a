package policy

import (
	"holdfast/mesh/detect"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
)

// Fixed convicts after a fixed silence, and suspects nobody before: the simplest monitor.
type Fixed struct {
	timeout when.Span
	silence silence
}

// NewFixed makes a fixed timeout, which must be positive. The boundary is inclusive.
func NewFixed(timeout when.Span) *Fixed {
	if timeout <= 0 {
		panic("policy: a timeout must be positive")
	}
	return &Fixed{timeout: timeout}
}

// Take implements Policy.
func (p *Fixed) Take(now when.Instant, e Evidence) {
	if isLife(e.Kind) {
		p.silence.heard(now)
	}
}

// Judge implements Policy.
func (p *Fixed) Judge(now when.Instant) Judgement {
	s := p.silence.at(now)
	j := Judgement{Level: share(s, p.timeout)}
	if s >= p.timeout {
		j.Health = detect.Failed
	}
	return j
}

// Clone implements Policy.
func (p *Fixed) Clone() Policy { c := *p; return &c }

// Pair is ADR-0008's: suspect first, convict later, and take no time into account in which the
// watcher itself did not run (rule L5). It decides by detect.Of, like a node.
type Pair struct {
	timing  timing.Timing
	silence silence
	looked  bool
	last    when.Instant // of the latest call
}

// NewPair makes the pair of t.Suspect and t.Fail.
func NewPair(t timing.Timing) *Pair {
	if t.Suspect <= 0 || t.Fail <= t.Suspect {
		panic("policy: suspicion must come before failure")
	}
	return &Pair{timing: t}
}

// runs notes that the watcher runs at now, and excuses the peer for a time in which it did not.
func (p *Pair) runs(now when.Instant) {
	if gap := now.Sub(p.last); p.looked && gap > p.timing.Pause() && p.silence.begun {
		p.silence.last = min(p.silence.last.Add(gap), now)
	}
	p.looked, p.last = true, now
}

// Take implements Policy.
func (p *Pair) Take(now when.Instant, e Evidence) {
	p.runs(now)
	if isLife(e.Kind) {
		p.silence.heard(now)
	}
}

// Judge implements Policy.
func (p *Pair) Judge(now when.Instant) Judgement {
	p.runs(now)
	s := p.silence.at(now)
	return Judgement{Health: detect.Of(s, p.timing), Level: share(s, p.timing.Fail)}
}

// Clone implements Policy.
func (p *Pair) Clone() Policy { c := *p; return &c }
