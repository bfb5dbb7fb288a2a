package node

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"holdfast/kernel/node/web"
	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/refusal"
	"holdfast/mesh/when"
)

// site is the node's pages (evidence.md, "HTTP").
func (n *Node) site() web.Site {
	s := web.Site{
		Mesh: n.meshPage, Stats: n.statsPage, Metrics: n.metricsPage, Log: n.logPage,
		Epitaph: n.epitaphPage, Profile: n.profiler(),
	}
	if n.loop == nil {
		s.Mesh, s.NoMesh = n.singlePage, n.noMesh
		return s
	}
	s.Homes, s.Route, s.Health = n.homesPage, n.routePage, n.healthPage
	s.Step, s.Object = n.labStep, n.object
	s.Tape = noTape
	if n.loop.tape != nil {
		s.Tape = n.loop.tape.page
	}
	return s
}

// page is the answer that consists of these lines.
type page struct{ strings.Builder }

func (p *page) add(l evidence.Line) {
	p.WriteString(l.String())
	p.WriteByte('\n')
}

func (p *page) answer() web.Answer { return web.Page(p.String()) }

// gone answers a look that did not come about: the node, or the client, is ending.
func gone() web.Answer { return web.Word(refusal.NotReady, "the node does not answer") }

func (n *Node) meshPage(ctx context.Context) web.Answer {
	var s mesh.Status
	var at when.Instant
	if !n.loop.look(ctx, func(c core, now when.Instant) { s, at = c.Status(now), now }) {
		return gone()
	}
	var p page
	l := evidence.StatusLine("node").Node("id", s.Node).Str("role", s.Role.String()).
		Str("mesh", s.State.String()).Epoch("epoch", s.Epoch)
	if s.Epoch == 0 {
		l = l.None("digest")
	} else {
		l = l.Digest("digest", s.Digest)
	}
	p.add(l.Bool("mutable", s.Mutable).Instant("now_ms", at))
	for _, m := range s.Members {
		p.add(evidence.StatusLine("member").Node("id", m.ID).Str("state", m.Health).
			Int("age_ms", m.AgeMS).Epoch("incarnation", m.Incarnation))
	}
	p.add(n.timesRow())
	return p.answer()
}

// timesRow is the times by which this node is in its mesh, and what keeps an old home from
// committing.
func (n *Node) timesRow() evidence.Line {
	t := n.mesh.Timing
	return evidence.StatusLine("times").Span("heartbeat_ms", t.Heartbeat).
		Span("suspect_ms", t.Suspect).Span("fail_ms", t.Fail).Span("lease_ms", t.WriteLease).
		Str("fence", t.FencedBy())
}

// singlePage is GET /mesh of a node without a mesh.
func (n *Node) singlePage(context.Context) web.Answer {
	var p page
	p.add(evidence.StatusLine("node").Node("id", n.id).None("role").Str("mesh", "single").
		None("epoch").None("digest").Bool("mutable", false).Instant("now_ms", n.machine.Clock()))
	return p.answer()
}

// noMesh answers whatever only a mesh has.
func (n *Node) noMesh() web.Answer {
	why := evidence.Single + " reason=" + n.single
	if n.singleNote != "" {
		why += ", " + n.singleNote
	}
	return web.Word(refusal.Disabled, why)
}

func (n *Node) homesPage(ctx context.Context) web.Answer {
	var homes []mesh.HomeStatus
	if !n.loop.look(ctx, func(c core, now when.Instant) { homes = c.Homes(now) }) {
		return gone()
	}
	var p page
	for _, h := range homes {
		l := evidence.StatusLine("").Object("object", h.Object)
		if h.Name == "" {
			l = l.None("name")
		} else {
			l = l.Str("name", h.Name)
		}
		p.add(l.Node("home", h.Home).Epoch("home_epoch", h.HomeEpoch).Str("lease", h.Lease).
			Int("read_ms", h.ReadMS).Int("write_ms", h.WriteMS).Uint("version", h.Version).
			Int("copies", int64(h.Copies)))
	}
	return p.answer()
}

// healthPage is how regular the peers and this node are.
func (n *Node) healthPage(ctx context.Context) web.Answer {
	var p page
	if !n.loop.look(ctx, func(_ core, now when.Instant) {
		for _, row := range n.loop.health.Rows(now) {
			p.add(row)
		}
	}) {
		return gone()
	}
	p.add(n.timesRow())
	return p.answer()
}

// routePage is the rows about routes: what holds now, and the fences and results of the log.
func (n *Node) routePage(ctx context.Context) web.Answer {
	var authority, counters evidence.Line
	ok := n.loop.look(ctx, func(c core, now when.Instant) {
		authority, counters = c.AuthorityRow(now), c.CountersRow(now)
	})
	if !ok {
		return gone()
	}
	var p page
	p.add(authority)
	rows := n.log.After(0)
	for _, word := range []string{"fence", "result"} {
		for _, row := range rows {
			if row.Line.Is("mesh-route", word) {
				p.add(row.Line)
			}
		}
	}
	p.add(counters)
	return p.answer()
}

func (n *Node) logPage(after uint64) web.Answer {
	var p page
	for _, row := range n.log.After(after) {
		p.WriteString(strconv.FormatUint(row.N, 10))
		p.WriteByte(' ')
		p.add(row.Line)
	}
	return p.answer()
}

// statsPage is the node's own figures, one a line.
func (n *Node) statsPage() web.Answer {
	var p page
	n.figures(func(f Figure) {
		p.WriteString(f.Name)
		p.WriteByte('=')
		p.WriteString(strconv.FormatUint(f.Value, 10))
		p.WriteByte('\n')
	})
	return p.answer()
}

// noTape answers for the tape of a node that keeps none.
func noTape(uint64) web.Answer {
	return web.Refuse(http.StatusNotFound,
		"not found: no tape is kept: neither mesh.lab nor mesh.acks is tape")
}

func (n *Node) epitaphPage() web.Answer {
	if n.machine.Epitaph == "" {
		return web.Refuse(http.StatusNotFound, "not found: the boot before this one did not crash")
	}
	return web.Page(n.machine.Epitaph)
}

// figures is what the node and its machine count.
func (n *Node) figures(add func(Figure)) {
	total := func(name, help string, v uint64) { add(Figure{Name: name, Help: help, Value: v}) }
	gauge := func(name, help string, v uint64) {
		add(Figure{Name: name, Help: help, Gauge: true, Value: v})
	}
	gauge("now_ms", "Milliseconds since boot.", uint64(n.machine.Clock()))
	total("console_lost", "Lines for which the console's queue had no room.", n.log.Lost())
	if n.web != nil {
		total("http_refused", "Connections turned away because there were too many.", n.web.Refused())
		total("http_waited", "Requests that waited for a turn of their client's address.",
			n.web.Waited())
	}
	if n.loop != nil {
		n.loopFigures(total, gauge)
	}
	if n.machine.Figures != nil {
		n.machine.Figures(add)
	}
}

// loopFigures is what the loop and the links count.
func (n *Node) loopFigures(total, gauge func(name, help string, v uint64)) {
	s := &n.loop.stats
	total("link_handshakes", "Connections that got as far as a handshake.", n.links.Begun())
	total("link_overrate", "Connections not taken because too many were offered.", n.links.Overrate())
	total("link_refused", "Connections that did not become a session.", s.refused.Load())
	total("loop_steps", "Steps of the protocol.", s.steps.Load())
	total("loop_ticks", "Ticks of the protocol.", s.ticks.Load())
	total("loop_late_ticks", "Ticks more than 20 ms late.", s.lateTick.Load())
	gauge("loop_late_max_ms", "The latest tick, in milliseconds.", uint64(s.lateMax.Load()))
	total("second_clock_unread", "Readings of the second clock that failed.", s.unread.Load())
	mutable := uint64(0)
	if s.mutable.Load() {
		mutable = 1
	}
	gauge("mutable", "Whether the node may commit, as of the latest tick.", mutable)
	gauge("write_lease_ms", "Milliseconds left of the write lease, as of the latest tick.",
		uint64(s.lease.Load()))
}
