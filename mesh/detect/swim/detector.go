package swim

import (
	"holdfast/mesh/detect"
	"holdfast/mesh/detect/policy"
	"holdfast/mesh/when"
)

// Config is what a member probes with.
type Config struct {
	Members int       // of the cluster, the watcher and the peer included; at least 2
	Self    int       // the watcher's number, for its confirmations
	Period  when.Span // one member is probed each
	Timeout when.Span // after which helpers are asked, less than Period
	Helpers int       // asked at most
	Mult    int       // of the least suspicion
	MaxMult int       // of the longest one; used with Lifeguard
	Aware   int       // by how much a watcher that fails stretches its periods at most
	Guard   bool      // Lifeguard: confirmations and awareness
	Seed    uint64    // for the order in which the others are probed
}

// LAN is memberlist's configuration for a local network, in a cluster of n. All of it is Lifeguard.
func LAN(n int) Config {
	return Config{Members: n, Period: 1_000, Timeout: 500, Helpers: 3, Mult: 4, MaxMult: 6, Aware: 8,
		Guard: true}
}

// Detector is one member's judgement about one peer.
type Detector struct {
	c    Config
	seed uint64

	health      detect.Health
	incarnation uint64
	suspicion   suspicion
	aware       Awareness

	begun bool
	place int // of the peer in this pass through the shuffled others
	turn  int // periods before the peer is probed
	end   when.Instant
	round uint64
	probe probe
	tell  bool // a probe has failed, and the others have not been told
}

// probe is what has become of the current probe of the peer.
type probe struct {
	under    bool // a probe of the peer is under way in this period
	answered bool
	indirect bool // helpers have been asked
	helpAt   when.Instant
	nacks    int
}

// New makes a detector.
func New(c Config) *Detector {
	if c.Members < 2 || c.Period <= 0 || c.Timeout <= 0 || c.Timeout >= c.Period || c.Mult < 1 {
		panic("swim: a configuration that cannot probe")
	}
	return &Detector{c: c, seed: c.Seed, aware: NewAwareness(c.Aware)}
}

// Incarnation is the latest one of the peer that the watcher knows of.
func (d *Detector) Incarnation() uint64 { return d.incarnation }

// Take implements policy.Policy. Heartbeats mean nothing here.
func (d *Detector) Take(now when.Instant, e policy.Evidence) {
	switch e.Kind {
	case policy.Ack:
		if d.probe.under && e.Round == d.round {
			d.probe.answered = true
		}
	case policy.Nack:
		if d.probe.under && e.Round == d.round {
			d.probe.nacks++
		}
	case policy.Suspicion:
		d.told(now, e)
	case policy.Refutation:
		if e.Incarnation > d.incarnation {
			d.incarnation, d.health = e.Incarnation, detect.Alive
		}
	}
}

// told takes a suspicion, another's or the watcher's own.
func (d *Detector) told(now when.Instant, e policy.Evidence) {
	if e.Incarnation < d.incarnation {
		return
	}
	switch d.health {
	case detect.Suspect:
		d.suspicion.confirm(e.From)
	case detect.Alive:
		least := MinSuspicion(d.c.Mult, d.c.Members, d.c.Period)
		s := suspicion{start: now, least: least, most: least, from: []int{e.From}}
		if d.c.Guard {
			s.most = MaxSuspicion(d.c.MaxMult, least)
			s.k = ConfirmationsWanted(d.c.Mult, d.c.Members)
		}
		d.health, d.suspicion = detect.Suspect, s
	}
}

// Judge implements policy.Policy.
func (d *Detector) Judge(now when.Instant) policy.Judgement {
	ask := d.period(now)
	if d.health == detect.Suspect && d.suspicion.over(now) {
		d.health = detect.Failed
	}
	level := 0.0
	switch d.health {
	case detect.Suspect:
		elapsed := now.Sub(d.suspicion.start)
		left := Remaining(len(d.suspicion.from)-1, d.suspicion.k, elapsed,
			d.suspicion.least, d.suspicion.most)
		level = float64(elapsed) / float64(max(1, elapsed+left))
	case detect.Failed:
		level = 1
	}
	tell := d.tell
	d.tell = false
	return policy.Judgement{Health: d.health, Level: level, Ask: ask, Round: d.round, Tell: tell}
}

// period moves the protocol period on and returns what is to be asked.
func (d *Detector) period(now when.Instant) policy.Ask {
	if !d.begun {
		d.begun, d.end, d.place = true, now, d.draw()
		d.turn = d.place
	}
	if now >= d.end {
		if d.probe.under {
			d.concluded(now)
		}
		d.probe = probe{}
		d.end = now.Add(d.scale(d.c.Period))
		if d.turn > 0 {
			d.turn--
			return policy.Nothing
		}
		// The rest of this pass, then up to the peer's place in the next.
		rest := d.c.Members - 2 - d.place
		d.place = d.draw()
		d.turn = rest + d.place
		d.round++
		d.probe = probe{under: true, helpAt: now.Add(d.scale(d.c.Timeout))}
		return policy.Direct
	}
	p := &d.probe
	if p.under && !p.answered && !p.indirect && now >= p.helpAt && d.helpers() > 0 {
		p.indirect = true
		return policy.Indirect
	}
	return policy.Nothing
}

// draw is the peer's place in a pass.
func (d *Detector) draw() int { return int(policy.Draw(&d.seed) % uint64(d.c.Members-1)) }

// helpers is how many members can be asked for help.
func (d *Detector) helpers() int { return min(d.c.Helpers, d.c.Members-2) }

// concluded is the end of the period in which the peer was probed.
func (d *Detector) concluded(now when.Instant) {
	if d.probe.answered {
		d.aware.Apply(-1)
		return
	}
	if missing := d.helpers() - d.probe.nacks; d.helpers() > 0 {
		d.aware.Apply(max(0, missing))
	} else {
		d.aware.Apply(1)
	}
	d.tell = true
	d.told(now, policy.Evidence{Kind: policy.Suspicion, From: d.c.Self, Incarnation: d.incarnation})
}

// scale is a time limit of this watcher.
func (d *Detector) scale(s when.Span) when.Span {
	if !d.c.Guard {
		return s
	}
	return d.aware.Scale(s)
}

// Clone implements policy.Policy.
func (d *Detector) Clone() policy.Policy {
	c := *d
	c.suspicion.from = append([]int(nil), d.suspicion.from...)
	return &c
}
