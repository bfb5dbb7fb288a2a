// Package health is what a node shows of how regularly it hears of its peers, and of how punctual
// it is itself (GET /mesh/health): for each peer the gaps between its frames and a level of
// suspicion under two models, and the lateness of the node's own ticks. It is what timing constants
// are chosen by (bin/rig lab).
//
// It advises whoever looks and nobody else. It must never decide anything: it has no reference to
// the protocol, which does not know of it; no verdict, lease or epoch depends on it.
//
// Memory is fixed: a table of PeersMax peers, a histogram and a window of gaps for each. A peer is
// a node, whatever boot of it or session speaks. It counts as silent while there is no session,
// too; while this node itself does not run, no time passes for it.
package health

import (
	"math"

	"holdfast/mesh/detect/phi"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
)

const (
	// PeersMax is how many peers are remembered; the one that was heard of least lately gives way.
	PeersMax = 8
	// window is how many gaps the models are fitted to.
	window = 256
	// floorMS is the least deviation of the normal model, Akka's. Its accepted pause is none here.
	floorMS = 100
)

// peer is what is known of one.
type peer struct {
	id     id.Node
	last   when.Instant
	gaps   Histogram
	window phi.Window
}

// Monitor is what one node has noticed. It is not for several goroutines.
type Monitor struct {
	Outage when.Span // a gap that is not shorter is an outage; set before the first frame

	peers []*peer
	ticks Histogram
}

// Heard notes a frame of a peer at now, a reading of the node's counter. An outage is counted, and
// not learnt from: it is not what is usual. What phi says is no reason not to learn from a gap: a
// model that has seen a busy minute would take every quiet one for an outage, and never learn
// better.
func (m *Monitor) Heard(now when.Instant, node id.Node) {
	p := m.find(node)
	if p == nil {
		m.remember(&peer{id: node, last: now, window: phi.NewWindow(window)})
		return
	}
	gap := max(0, now.Sub(p.last))
	if gap < m.Outage {
		p.window.Add(gap)
	}
	p.gaps.Add(gap)
	p.last = now
}

// Ticked notes that a tick of the node came that late. A lateness above pause was a pause of the
// node itself, and is not held against anybody.
func (m *Monitor) Ticked(late, pause when.Span) {
	m.ticks.Add(late)
	if late <= pause {
		return
	}
	for _, p := range m.peers {
		p.last = p.last.Add(late)
	}
}

func (m *Monitor) find(node id.Node) *peer {
	for _, p := range m.peers {
		if p.id == node {
			return p
		}
	}
	return nil
}

// remember takes a new peer in.
func (m *Monitor) remember(p *peer) {
	if len(m.peers) < PeersMax {
		m.peers = append(m.peers, p)
		return
	}
	oldest := 0
	for i := range m.peers {
		if m.peers[i].last < m.peers[oldest].last {
			oldest = i
		}
	}
	m.peers[oldest] = p
}

// phi is how suspicious the peer's silence is at now, under the normal and the exponential model: 0
// while no gap has been seen.
func (p *peer) phi(now when.Instant) (normal, exponential float64) {
	if p.window.Len() == 0 {
		return 0, 0
	}
	silence, mean := float64(max(0, now.Sub(p.last))), max(1, p.window.Mean())
	return phi.Normal(silence, mean, max(floorMS, p.window.Deviation())),
		phi.Exponential(silence, mean)
}

// Rows are the lines of GET /mesh/health at now.
func (m *Monitor) Rows(now when.Instant) []evidence.Line {
	t := &m.ticks
	rows := []evidence.Line{evidence.StatusLine("tick").Uint("n", t.N()).
		Span("p50_ms", t.Quantile(0.5)).Span("p99_ms", t.Quantile(0.99)).Span("worst_ms", t.Worst())}
	for _, b := range t.Buckets() {
		rows = append(rows, evidence.StatusLine("bucket").None("id").Span("most_ms", b.Most).
			Uint("n", b.N))
	}
	for _, p := range m.peers {
		normal, exponential := p.phi(now)
		g := &p.gaps
		rows = append(rows, evidence.StatusLine("peer").Node("id", p.id).Uint("n", g.N()).
			Span("silent_ms", max(0, now.Sub(p.last))).
			Uint("mean_us", thousandths(p.window.Mean())).
			Uint("deviation_us", thousandths(p.window.Deviation())).
			Span("p50_ms", g.Quantile(0.5)).Span("p99_ms", g.Quantile(0.99)).
			Span("worst_ms", g.Worst()).
			Uint("phi_normal_milli", thousandths(normal)).
			Uint("phi_exponential_milli", thousandths(exponential)))
		for _, b := range g.Buckets() {
			rows = append(rows, evidence.StatusLine("bucket").Node("id", p.id).
				Span("most_ms", b.Most).Uint("n", b.N))
		}
	}
	return rows
}

// thousandths is v in thousandths, bounded: phi under the normal model has no end.
func thousandths(v float64) uint64 {
	const most = 1e12
	return uint64(math.Round(min(v*1_000, most)))
}
