package phi

import (
	"holdfast/mesh/detect"
	"holdfast/mesh/detect/policy"
	"holdfast/mesh/when"
)

// NormalConfig is what Akka's detector is made with.
type NormalConfig struct {
	Threshold float64
	Window    int       // gaps remembered
	Floor     when.Span // the deviation is never taken for less
	Pause     when.Span // added to the mean: a pause that is accepted
	First     when.Span // the heartbeat that is expected before any gap was seen
	Suspect   float64   // the level from which the peer is Suspect
}

// Akka is its own configuration (akka-cluster, reference.conf): a heartbeat a second. It has no
// level of suspicion below the threshold; half of it is what the lab shows.
var Akka = NormalConfig{Threshold: Threshold, Window: 1_000, Floor: 100, Pause: 3_000, First: 1_000,
	Suspect: Threshold / 2}

// NormalPolicy is the accrual detector under the normal model. As Akka's, it starts with two gaps
// around the expected one, a quarter of it apart from it each, and does not learn from the gap that
// a conviction ended.
type NormalPolicy struct {
	c      NormalConfig
	window Window
	begun  bool
	last   when.Instant
}

// NewNormal makes the policy. It panics on a configuration without threshold, floor or heartbeat.
func NewNormal(c NormalConfig) *NormalPolicy {
	if c.Threshold <= 0 || c.Floor <= 0 || c.First <= 0 || c.Pause < 0 {
		panic("phi: a threshold, a floor and a heartbeat must be positive")
	}
	p := &NormalPolicy{c: c, window: NewWindow(c.Window)}
	p.window.Add(c.First - c.First/4)
	p.window.Add(c.First + c.First/4)
	return p
}

// Take implements policy.Policy.
func (p *NormalPolicy) Take(now when.Instant, e policy.Evidence) {
	if e.Kind != policy.Heartbeat {
		return
	}
	if p.begun && p.level(now) < p.c.Threshold {
		p.window.Add(now.Sub(p.last))
	}
	p.begun, p.last = true, now
}

// level is phi at now, 0 before the first heartbeat.
func (p *NormalPolicy) level(now when.Instant) float64 {
	if !p.begun {
		return 0
	}
	deviation := max(p.window.Deviation(), float64(p.c.Floor))
	return Normal(float64(now.Sub(p.last)), p.window.Mean()+float64(p.c.Pause), deviation)
}

// Judge implements policy.Policy.
func (p *NormalPolicy) Judge(now when.Instant) policy.Judgement {
	return judge(p.level(now), p.c.Suspect, p.c.Threshold)
}

// Clone implements policy.Policy.
func (p *NormalPolicy) Clone() policy.Policy {
	c := *p
	c.window = p.window.clone()
	return &c
}

// ExponentialConfig is what Cassandra's detector is made with.
type ExponentialConfig struct {
	Threshold  float64
	Window     int       // gaps remembered
	First      when.Span // the gap that stands for the first one
	LongestGap when.Span // a longer one is not learnt from
	LocalPause when.Span // a longer time between two judgements is the watcher's own pause
	Suspect    float64   // the level from which the peer is Suspect
}

// Cassandra is its own configuration: gossip once a second. Its own debug log begins at 80 % of the
// threshold, which is what Suspect is here.
var Cassandra = ExponentialConfig{Threshold: Threshold, Window: 1_000, First: 2_000,
	LongestGap: 2_000, LocalPause: 5_000, Suspect: 0.8 * Threshold}

// ExponentialPolicy is the accrual detector under the exponential model, with the guard against the
// watcher's own pauses: after one it convicts nobody until it is as far back as it must be long.
type ExponentialPolicy struct {
	c      ExponentialConfig
	window Window
	begun  bool
	last   when.Instant
	judged bool
	looked when.Instant // when Judge was last called
	paused bool
	pause  when.Instant // when the latest pause was found
}

// NewExponential makes the policy. It panics on a configuration without threshold or first gap.
func NewExponential(c ExponentialConfig) *ExponentialPolicy {
	if c.Threshold <= 0 || c.First <= 0 || c.LocalPause <= 0 {
		panic("phi: a threshold, a first gap and a pause must be positive")
	}
	return &ExponentialPolicy{c: c, window: NewWindow(c.Window)}
}

// Take implements policy.Policy.
func (p *ExponentialPolicy) Take(now when.Instant, e policy.Evidence) {
	if e.Kind != policy.Heartbeat {
		return
	}
	gap := p.c.First
	if p.begun {
		gap = now.Sub(p.last)
	}
	if !p.begun || gap <= p.c.LongestGap {
		p.window.Add(gap)
	}
	p.begun, p.last = true, now
}

// Judge implements policy.Policy.
func (p *ExponentialPolicy) Judge(now when.Instant) policy.Judgement {
	gap := now.Sub(p.looked)
	first := !p.judged
	p.judged, p.looked = true, now
	if !first && gap > p.c.LocalPause {
		p.paused, p.pause = true, now
	}
	mean := p.window.Mean()
	if !p.begun || mean == 0 {
		return policy.Judgement{}
	}
	level := Exponential(float64(now.Sub(p.last)), mean)
	if p.paused && now.Sub(p.pause) < p.c.LocalPause {
		return policy.Judgement{Level: level}
	}
	return judge(level, p.c.Suspect, p.c.Threshold)
}

// Clone implements policy.Policy.
func (p *ExponentialPolicy) Clone() policy.Policy {
	c := *p
	c.window = p.window.clone()
	return &c
}

// judge turns a level into a verdict; both boundaries are inclusive.
func judge(level, suspect, threshold float64) policy.Judgement {
	j := policy.Judgement{Level: level}
	switch {
	case level >= threshold:
		j.Health = detect.Failed
	case level >= suspect:
		j.Health = detect.Suspect
	}
	return j
}
