package relay

import (
	"math/rand/v2"
	"time"
)

// Path is one direction: from one port to another. Relay.Path returns it.
type Path struct {
	from, to *Port

	// What follows is guarded by the relay's lock.
	rule    Rule
	chance  *rand.Rand
	held    []parcel
	waiting int       // frames of this path in the relay's timetable
	busy    time.Time // when the last frame under Rule.Rate is through
	counts  Counts
}

// Set replaces the path's rule. Frames that are held or delayed already stay so.
func (p *Path) Set(rule Rule) error {
	if err := rule.check(); err != nil {
		return err
	}
	p.set(rule)
	return nil
}

func (p *Path) set(rule Rule) {
	p.from.relay.mu.Lock()
	defer p.from.relay.mu.Unlock()
	p.rule = rule
	p.busy = time.Time{}
}

// Release sends the n oldest held frames on, all of them when n is negative, past the rule and in
// the order they came. It returns how many there were.
func (p *Path) Release(n int) int { return p.settleHeld(n, (*Path).pass) }

// Discard drops every held and every delayed frame, and returns how many there were.
func (p *Path) Discard() int {
	n := p.settleHeld(-1, func(*Path, []byte, Change) Verdict { return Dropped })
	r := p.from.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return n
	}
	for _, x := range r.due {
		if x.path == p && !x.gone {
			x.gone = true
			p.waiting--
			r.settle(x, Dropped, time.Now())
			n++
		}
	}
	return n
}

// settleHeld takes the n oldest held frames, or all, and has each one's second verdict made.
func (p *Path) settleHeld(n int, verdict func(*Path, []byte, Change) Verdict) int {
	r := p.from.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	if n < 0 || n > len(p.held) {
		n = len(p.held)
	}
	if r.closed {
		return 0
	}
	for i := range p.held[:n] {
		x := &p.held[i]
		r.settle(x, verdict(p, x.frame, x.change), time.Now())
	}
	p.held = append([]parcel(nil), p.held[n:]...)
	return n
}

// Waiting returns how many frames are held and how many delayed now.
func (p *Path) Waiting() (held, delayed int) {
	p.from.relay.mu.Lock()
	defer p.from.relay.mu.Unlock()
	return len(p.held), p.waiting
}

// Counts returns the verdicts so far. A frame with a second verdict counts under both.
func (p *Path) Counts() Counts {
	p.from.relay.mu.Lock()
	defer p.from.relay.mu.Unlock()
	return p.counts
}

// pass puts a frame into the destination's queue, twice if the rule said so. It does not wait. The
// relay's lock is held.
func (p *Path) pass(frame []byte, change Change) Verdict {
	v := p.to.enqueue(parcel{path: p, frame: frame})
	if v == Forwarded && change&Repeated != 0 && p.to.enqueue(parcel{path: p, frame: frame}) == Full {
		p.counts[Full]++ // the copy's verdict; it has no record of its own
	}
	return v
}
