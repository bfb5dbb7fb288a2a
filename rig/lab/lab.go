// Package lab compares failure detectors: it replays the gaps of a trace to each of them, lets the
// peer crash at many instants, and counts how long a crash goes unnoticed and how often a living
// peer is suspected or convicted. It owns the replay, the figures, the table and the drawing, and
// the proposal of timing constants. It judges no node and no run.
//
// Everything is computed: the same traces, settings and seed give the same figures on any machine.
//
// # How a trace becomes a world
//
// A trace tells when the watcher heard of the peer. A policy that sends less often than the trace's
// heartbeat gets the heartbeats nearest to its own interval; one that would have to send more often
// is left out. For a policy that asks, a gap that is longer than the interval by some time means,
// by its cause, that for so long before the gap's end
//
//	peer   the peer did not run: it answers when the time is over, whoever asks
//	path   what this watcher and the peer send each other is lost: others reach the peer
//	self   this watcher did not run: it looks at the clock first when it does, and then at its mail
//
// A watcher that runs looks every ten milliseconds.
package lab

import (
	"slices"
	"time"

	"holdfast/mesh/detect"
	"holdfast/mesh/detect/policy"
	"holdfast/mesh/when"
	"holdfast/rig/lab/trace"
)

const (
	dayMS = 86_400_000
	// tickMS is how often a watcher looks.
	tickMS when.Span = 10
	// patienceMS is how long after a crash the conviction is waited for.
	patienceMS when.Span = 900_000
	// flapMS: a peer that is marked down again within this time of its last return flaps.
	flapMS when.Span = 60_000
)

// Settings are what a comparison is made with.
type Settings struct {
	Seed    uint64
	Crashes int // played for each policy and trace
	Members int // of the cluster of those policies that ask
}

// Result is what one policy did with one trace.
type Result struct {
	Policy string
	Trace  string
	Left   string // why the policy was left out; what follows is zero then

	P50, P99, Max when.Span // from a crash to the conviction
	Mean          when.Span
	Missed        int // crashes of which nobody was convicted within the patience

	Suspicions, Convictions, Flaps float64 // a day, all of them false

	Messages float64 // that a node sends in a second for one watcher
	Cost     float64 // a day, by Prices
	Pareto   bool
}

// watcher is what is compared: one policy, or the members of a group.
type watcher interface {
	// tick lets it look. beats are the heartbeats that have come since the last tick.
	tick(now when.Instant, beats int) detect.Health
	// away is a tick in which this watcher does not run; the others of its group do.
	away(now when.Instant)
	// back is a tick after a time in which this watcher did not run: it looks before it takes
	// what has come meanwhile.
	back(now when.Instant, beats int) detect.Health
	// crash is a copy whose peer has just crashed.
	crash(now when.Instant) watcher
}

// single is a policy that waits for heartbeats.
type single struct{ policy policy.Policy }

func (s single) tick(now when.Instant, beats int) detect.Health {
	for range beats {
		s.policy.Take(now, policy.Evidence{Kind: policy.Heartbeat})
	}
	return s.policy.Judge(now).Health
}

func (s single) away(when.Instant) {}

func (s single) back(now when.Instant, beats int) detect.Health {
	health := s.policy.Judge(now).Health
	return max(health, s.tick(now, beats))
}

func (s single) crash(when.Instant) watcher { return single{s.policy.Clone()} }

// Compare replays the trace to one contender.
func Compare(c Contender, t *trace.Trace, s Settings) Result {
	r := Result{Policy: c.Name, Trace: t.Name, Messages: c.messages(s)}
	if c.Interval < t.Interval {
		r.Left = "needs a heartbeat every " + text(c.Interval)
		return r
	}
	h := hear(t, c.Interval)
	p := play{h: h, w: c.start(s, h), settings: s, look: max(tickMS, c.look)}
	p.run()
	days := float64(p.now) / dayMS
	r.Suspicions = float64(p.suspicions) / days
	r.Convictions = float64(p.convictions) / days
	r.Flaps = float64(p.flaps) / days
	r.Missed = p.missed
	if n := len(p.found); n > 0 {
		slices.Sort(p.found)
		r.P50, r.P99, r.Max = p.found[(n-1)/2], p.found[(n-1)*99/100], p.found[n-1]
		for _, d := range p.found {
			r.Mean += d
		}
		r.Mean /= when.Span(n)
	}
	return r
}

// play is one policy's way through one trace.
type play struct {
	h        *hearing
	w        watcher
	settings Settings
	look     when.Span // how often the watcher does
	now      when.Instant

	health      detect.Health
	returned    bool
	at          when.Instant // of the latest return
	suspicions  int
	convictions int
	flaps       int

	found  []when.Span // from crash to conviction
	missed int
}

// run plays the whole trace, and a crash now and then beside it. The first tenth is not counted:
// policies that learn do so there.
func (p *play) run() {
	start := when.Instant(p.h.end / 10)
	random := p.settings.Seed
	span := when.Span(p.h.end-start) / when.Span(max(1, p.settings.Crashes))
	crash := start.Add(when.Span(policy.Draw(&random) % uint64(max(1, span))))
	left := p.settings.Crashes
	heard, away := 0, false
	for p.now < p.h.end {
		p.now = p.now.Add(p.look)
		if p.h.stopped(p.now) {
			away = true
			p.w.away(p.now)
			continue
		}
		beats := p.h.arrived(p.now) - heard
		heard += beats
		var health detect.Health
		if away {
			health = p.w.back(p.now, beats)
		} else {
			health = p.w.tick(p.now, beats)
		}
		away = false
		p.note(health)
		for left > 0 && p.now >= crash && p.now < p.h.end {
			left--
			p.die(health)
			done := when.Span(p.settings.Crashes - left)
			crash = start.Add(span*done + when.Span(policy.Draw(&random)%uint64(max(1, span))))
		}
	}
}

// note counts what a living peer is taken for.
func (p *play) note(health detect.Health) {
	before := p.health
	p.health = health
	if before == detect.Alive && health != detect.Alive {
		p.suspicions++
		if p.returned && p.now.Sub(p.at) < flapMS {
			p.flaps++
		}
	}
	if before != detect.Failed && health == detect.Failed {
		p.convictions++
	}
	if before != detect.Alive && health == detect.Alive {
		p.returned, p.at = true, p.now
	}
}

// die lets the peer crash now and waits for the conviction. A peer that is convicted already, for
// nothing, would be found at once; it is not counted.
func (p *play) die(health detect.Health) {
	if health == detect.Failed {
		return
	}
	w := p.w.crash(p.now)
	for now := p.now; now < p.now.Add(patienceMS); {
		now = now.Add(p.look)
		if w.tick(now, 0) == detect.Failed {
			p.found = append(p.found, now.Sub(p.now))
			return
		}
	}
	p.missed++
}

// text is a length of time for people.
func text(s when.Span) string { return (time.Duration(s) * time.Millisecond).String() }
