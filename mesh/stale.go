package mesh

import (
	"slices"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/replay"
	"holdfast/mesh/route"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// A stale-ok read is answered by whichever node is asked, from its own copy: with the newest record
// that it knows to be published, and the age of that knowledge. A copy of which nothing is in doubt
// was the newest at the instant up to which this node knows that it was in the view: nothing is
// published that it does not hold. With a record in doubt, at the instant when that came.
//
// Homes tell the others what they have published at most once a second, and once for each record.

// readStale answers a stale-ok read here.
func (n *Node) readStale(p *op) {
	q := &p.q
	w := n.capable(q, n.self, n.view().Epoch)
	o := n.objects.Find(q.Object)
	switch {
	case w != refusal.OK:
	case n.halted != refusal.OK:
		w = n.halted
	case n.c.Role == Member && n.member.lease.Sent() == 0:
		w = refusal.NotCurrent // it has never been in a view, as far as it knows
	case o == nil || n.never(o):
		w = refusal.NoObject
	}
	if w != refusal.OK {
		n.answerRefused(from{op: p.serial, node: n.self}, q, w)
		return
	}
	rep := n.reply(q, o, replay.Reply{Version: o.Record.Version, Durability: wire.None})
	rep.Home, rep.HomeEpoch = o.Route, o.RouteEpoch
	rep.AgeMS = uint32(min(n.ageOf(o), when.Span(1)<<32-1))
	n.answer(from{op: p.serial, node: n.self}, rep)
}

// ageOf is for how long the published record here may have been out of date.
func (n *Node) ageOf(o *route.Object) when.Span {
	known := n.now
	if n.c.Role == Member {
		known = n.member.lease.Sent()
	}
	if !o.Staged.IsZero() && o.Lease == route.NoLease {
		known = min(known, o.StagedAt)
	}
	return max(0, n.now.Sub(known))
}

// said notes that the others are still to be told what has been published of an object.
func (n *Node) said(o id.Object) {
	if !slices.Contains(n.unsaid, o) && n.others() > 0 {
		n.unsaid = append(n.unsaid, o)
	}
}

// sayPublished tells the others what has been published here since the last time.
func (n *Node) sayPublished() {
	if len(n.unsaid) == 0 || n.state != Joined || !n.saying.due(n.now) {
		return
	}
	slices.SortFunc(n.unsaid, compareObjects)
	m := &wire.Published{}
	for _, id := range n.unsaid {
		if o := n.objects.Find(id); o != nil && o.Lease == route.Active && !o.Record.IsZero() {
			m.Rows = append(m.Rows, wire.PublishedRow{Object: id, Epoch: o.Record.Epoch,
				Version: o.Record.Version})
		}
	}
	n.unsaid = n.unsaid[:0:0]
	if len(m.Rows) > 0 {
		n.toOthers(m, n.self)
	}
}

// toOthers sends a message to every member of the view but this node and one more; a member's goes
// to the authority.
func (n *Node) toOthers(m wire.Message, but id.Node) {
	for i := range n.members.All() {
		e := &n.members.All()[i]
		if e.ID == but || n.c.Role == Member && e.ID != n.view().Authority {
			continue
		}
		if s := n.best(e.ID, e.Boot); s != nil {
			n.send(s, m)
		}
	}
}

// published takes the news of a home, at a member through the authority: what it has published is
// in doubt no longer.
func (n *Node) published(s *session, m *wire.Published) {
	for i := range m.Rows {
		r := &m.Rows[i]
		o := n.objects.Find(r.Object)
		if o == nil || o.Lease != route.NoLease || n.c.Role == Authority && n.holder(o) != s.peer {
			continue
		}
		if r.Epoch > o.Staged.Epoch || r.Epoch == o.Staged.Epoch && r.Version >= o.Staged.Version {
			o.Publish()
		}
	}
	if n.c.Role == Authority {
		n.toOthers(m, s.peer)
	}
}
