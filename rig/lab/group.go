package lab

import (
	"math/bits"
	"slices"

	"holdfast/mesh/detect"
	"holdfast/mesh/detect/policy"
	"holdfast/mesh/detect/swim"
	"holdfast/mesh/when"
)

const (
	// roundTrip is between two members of a group that run, in milliseconds.
	roundTrip when.Span = 1
	// gossip is the time between two rounds of gossip, memberlist's.
	gossip when.Span = 200
)

// mail is evidence under way to a member of a group, or a suspicion under way to the peer itself.
type mail struct {
	at       when.Instant
	to       int // the peer's number is that of no member
	evidence policy.Evidence
}

// group is the members of a cluster but the peer, which probe it and tell each other. Number 0 is
// the one whose path and whose pauses the trace tells of. The group takes the peer for what the
// worst of its members does: a conviction is gossip too.
type group struct {
	h           *hearing
	config      swim.Config
	members     []*swim.Detector
	mail        []mail
	incarnation uint64 // of the peer
	dead        bool   // the peer
}

func newGroup(c swim.Config, s Settings, h *hearing) *group {
	g := &group{h: h, config: c}
	seed := s.Seed
	for i := range c.Members - 1 {
		c.Self, c.Seed = i, policy.Draw(&seed)
		g.members = append(g.members, swim.New(c))
	}
	return g
}

// spread is how long a rumour takes to reach everybody: gossip to three at a time.
func (g *group) spread() when.Span {
	return gossip * when.Span(max(1, (bits.Len(uint(len(g.members)))+1)/2))
}

func (g *group) post(at when.Instant, to int, e policy.Evidence) {
	g.mail = append(g.mail, mail{at, to, e})
}

func (g *group) tick(now when.Instant, _ int) detect.Health {
	g.deliver(now, 0)
	return g.judge(now, 0)
}

func (g *group) away(now when.Instant) {
	g.deliver(now, 1)
	g.judge(now, 1)
}

// back has member 0 look at the clock before its mail.
func (g *group) back(now when.Instant, _ int) detect.Health {
	g.deliver(now, 1)
	health := g.judge(now, 0)
	return max(health, g.tick(now, 0))
}

// deliver hands out what has come for the members from a number on, and for the peer.
func (g *group) deliver(now when.Instant, from int) {
	later := g.mail[:0]
	var come []mail
	for _, m := range g.mail {
		if m.at <= now && m.to >= from {
			come = append(come, m)
		} else {
			later = append(later, m)
		}
	}
	g.mail = later
	slices.SortStableFunc(come, func(a, b mail) int { return int(a.at - b.at) })
	for _, m := range come {
		if m.to == len(g.members) {
			g.hears(now, m.evidence)
		} else {
			g.members[m.to].Take(now, m.evidence)
		}
	}
}

// hears is the peer, told that it is suspected: it says that it lives.
func (g *group) hears(now when.Instant, e policy.Evidence) {
	if g.dead || e.Incarnation < g.incarnation {
		return
	}
	g.incarnation++
	for i := range g.members {
		g.post(now.Add(g.spread()), i, policy.Evidence{Kind: policy.Refutation,
			Incarnation: g.incarnation})
	}
}

// judge lets the members from a number on look.
func (g *group) judge(now when.Instant, from int) detect.Health {
	worst := detect.Alive
	for i := from; i < len(g.members); i++ {
		d := g.members[i]
		j := d.Judge(now)
		worst = max(worst, j.Health)
		switch j.Ask {
		case policy.Direct:
			g.ask(now, i, j.Round, i == 0)
		case policy.Indirect:
			g.askOthers(now, i, j.Round)
		}
		if j.Tell {
			g.told(now, i, d.Incarnation())
		}
	}
	return worst
}

// ask asks the peer, on the path that the trace tells of or on another.
func (g *group) ask(now when.Instant, member int, round uint64, own bool) {
	at, direct := g.h.answers(now)
	switch {
	case g.dead || own && !direct:
		return
	case !direct:
		at = now
	}
	g.post(at.Add(roundTrip), member, policy.Evidence{Kind: policy.Ack, Round: round})
}

// askOthers asks helpers, who live and say so when they get no answer in time.
func (g *group) askOthers(now when.Instant, member int, round uint64) {
	helpers := min(g.config.Helpers, len(g.members)-1)
	at, direct := g.h.answers(now)
	if !direct {
		at = now
	}
	if !g.dead && at.Sub(now) < g.config.Timeout {
		g.post(at.Add(2*roundTrip), member, policy.Evidence{Kind: policy.Ack, Round: round})
		return
	}
	for range helpers {
		// Before the asking member's period is over: memberlist's helpers give up earlier than it.
		g.post(now.Add(g.config.Timeout*8/10), member,
			policy.Evidence{Kind: policy.Nack, Round: round})
	}
}

// told spreads a member's suspicion to the others and to the peer.
func (g *group) told(now when.Instant, from int, incarnation uint64) {
	e := policy.Evidence{Kind: policy.Suspicion, From: from, Incarnation: incarnation}
	for i := range g.members {
		if i != from {
			g.post(now.Add(g.spread()), i, e)
		}
	}
	at, direct := g.h.answers(now)
	if !direct && len(g.members) > 1 {
		at = now // by way of the others
	}
	g.post(max(at, now.Add(g.spread())), len(g.members), e)
}

func (g *group) crash(when.Instant) watcher {
	c := *g
	c.dead = true
	c.mail = slices.DeleteFunc(slices.Clone(g.mail),
		func(m mail) bool { return m.to == len(g.members) })
	c.members = nil
	for _, d := range g.members {
		c.members = append(c.members, d.Clone().(*swim.Detector))
	}
	return &c
}
