package node

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/kernel/node/web"
	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/evidence"
	"holdfast/mesh/refusal"
	"holdfast/mesh/when"
)

// stepWait is how long a lab step may take: longer than the protocol lets one, shorter than the
// request.
const stepWait = 5500 * time.Millisecond

// site is the node's pages (evidence.md, "HTTP").
func (n *Node) site() web.Site {
	s := web.Site{
		Mesh: n.meshPage, Homes: n.homesPage, Route: n.routePage,
		Stats: n.statsPage, Log: n.logPage, Step: n.labStep,
	}
	if n.loop == nil {
		s.Mesh = n.singlePage
		s.Homes, s.Route = n.noMesh, n.noMesh
		s.Step = func(ctx context.Context, _ int, _ []byte) web.Answer { return n.noMesh(ctx) }
	}
	return s
}

// page is the answer that consists of these lines.
type page struct{ strings.Builder }

func (p *page) add(l evidence.Line) {
	p.WriteString(l.String())
	p.WriteByte('\n')
}

func (p *page) answer() web.Answer { return web.Answer{Status: http.StatusOK, Body: p.String()} }

// gone answers a request that the node's end, or the client's, has overtaken.
func gone() web.Answer { return web.Refuse(http.StatusServiceUnavailable, "the node is ending") }

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
	return p.answer()
}

// singlePage is GET /mesh of a node without a mesh.
func (n *Node) singlePage(context.Context) web.Answer {
	var p page
	p.add(evidence.StatusLine("node").Node("id", n.id).None("role").Str("mesh", "single").
		None("epoch").None("digest").Bool("mutable", false).Instant("now_ms", n.machine.Clock()))
	return p.answer()
}

// noMesh answers whatever only a mesh has.
func (n *Node) noMesh(context.Context) web.Answer {
	return web.Refuse(http.StatusNotFound,
		refusal.Disabled.String()+": "+evidence.Single+" reason="+n.single)
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
	add := func(name string, v uint64) {
		p.WriteString(name)
		p.WriteByte('=')
		p.WriteString(strconv.FormatUint(v, 10))
		p.WriteByte('\n')
	}
	add("now_ms", uint64(n.machine.Clock()))
	add("console_lost", n.log.Lost())
	add("http_refused", n.web.Refused())
	if n.loop != nil {
		add("link_overrate", n.links.Overrate())
		add("loop_steps", n.loop.stats.steps.Load())
		add("loop_ticks", n.loop.stats.ticks.Load())
		add("loop_late_ticks", n.loop.stats.lateTick.Load())
		add("loop_late_max_ms", uint64(n.loop.stats.lateMax.Load()))
	}
	if n.machine.Figures != nil {
		n.machine.Figures(add)
	}
	return p.answer()
}

// labStep carries out a lab step and waits for its end.
func (n *Node) labStep(ctx context.Context, number int, capability []byte) web.Answer {
	if !validCapability(capability) {
		return web.Refuse(http.StatusBadRequest, "malformed: the capability has a wrong length")
	}
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	e := labStep{number, capability, make(chan mesh.Answer, 1)}
	if !n.loop.post(ctx, e) {
		return gone()
	}
	select {
	case a, ok := <-e.reply:
		if !ok {
			return web.Refuse(http.StatusServiceUnavailable, refusal.Full.String())
		}
		return stepAnswer(a)
	case <-n.loop.ended:
		return gone()
	case <-ctx.Done():
		return web.Refuse(http.StatusGatewayTimeout, refusal.UnknownOutcome.String())
	}
}

// validCapability lets an empty one pass: step 7 takes none, and the others refuse it by its name.
func validCapability(c []byte) bool { return len(c) == 0 || len(c) == capability.Size }

// stepAnswer turns the protocol's answer into HTTP's.
func stepAnswer(a mesh.Answer) web.Answer {
	switch a.Status {
	case mesh.Done:
		var p page
		for _, row := range a.Lines {
			p.add(row)
		}
		return p.answer()
	case mesh.LabOff:
		return web.Refuse(http.StatusForbidden, refusal.Disabled.String()+": mesh.lab is not set")
	case mesh.UnknownStep:
		return web.Refuse(http.StatusNotFound, "not found: no such step")
	case mesh.WrongRole:
		return web.Refuse(http.StatusConflict, "conflict: this step is for a node of the other role")
	case mesh.WrongOrder:
		return web.Refuse(http.StatusConflict, "conflict: not now, or no object fits")
	case mesh.Unfinished:
		return web.Refuse(http.StatusGatewayTimeout, "unknown-outcome: begun, and not over in time")
	}
	panic("node: unknown answer")
}
