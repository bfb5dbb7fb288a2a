package policy

import (
	"holdfast/mesh/detect"
	"holdfast/mesh/when"
)

// Raft is a follower's election timeout: drawn anew after every heartbeat of the leader, so that of
// several followers one is usually first. Its verdict is an election, which is safe to repeat;
// from the shortest timeout on it is suspicious.
//
// The paper's example is 150 to 300 ms. etcd draws from its election timeout up to twice that, in
// whole heartbeats, the double excluded; here it is in milliseconds.
type Raft struct {
	low, high when.Span
	drawn     when.Span
	random    uint64
	silence   silence
}

// NewRaft draws timeouts from low up to, but not including, high.
func NewRaft(low, high when.Span, seed uint64) *Raft {
	if low <= 0 || high <= low {
		panic("policy: want 0 < low < high")
	}
	p := &Raft{low: low, high: high, random: seed}
	p.draw()
	return p
}

func (p *Raft) draw() { p.drawn = p.low + when.Span(Draw(&p.random)%uint64(p.high-p.low)) }

// Draw takes the next number from a seed, by the splitmix64 generator. It is no secret.
func Draw(seed *uint64) uint64 {
	*seed += 0x9e3779b97f4a7c15
	z := *seed
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Take implements Policy.
func (p *Raft) Take(now when.Instant, e Evidence) {
	if isLife(e.Kind) {
		p.silence.heard(now)
		p.draw()
	}
}

// Judge implements Policy.
func (p *Raft) Judge(now when.Instant) Judgement {
	s := p.silence.at(now)
	j := Judgement{Level: share(s, p.drawn)}
	switch {
	case s >= p.drawn:
		j.Health = detect.Failed
	case s >= p.low:
		j.Health = detect.Suspect
	}
	return j
}

// Clone implements Policy.
func (p *Raft) Clone() Policy { c := *p; return &c }
