package mesh

import (
	"slices"

	"holdfast/mesh/id"
	"holdfast/mesh/lease"
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
// Both clocks are read after the request has come, for a machine that was frozen does not know by
// its counter how old it is. Homes tell the others what they have published at most once a second,
// and once for each record.

// askStale checks a stale-ok read of this node's own client; the answer waits for the clocks.
func (n *Node) askStale(p *op) {
	q, who := &p.q, from{op: p.serial, node: n.self}
	w := n.capable(q, n.self, n.view().Epoch)
	switch {
	case w != refusal.OK:
	case n.halted != refusal.OK:
		w = n.halted
	case n.member.torn:
		w = refusal.NotCurrent // it holds no table
	case n.staged.ticket != 0:
		w = refusal.Full // the adapter has not answered the last Recheck
	}
	if w != refusal.OK {
		n.answerRefused(who, q, w)
		return
	}
	n.ticket++
	n.staged = staged{n.ticket, *q, who, n.view().Epoch, n.pauses}
	n.out.add(Recheck{n.ticket})
}

// readStale answers a stale-ok read with what this node holds.
func (n *Node) readStale(g *staged) {
	o := n.objects.Find(g.q.Object)
	age, known := n.ageOf(o)
	switch {
	case !known:
		n.answerRefused(g.from, &g.q, refusal.NotCurrent)
		return
	case o == nil || n.never(o):
		n.answerRefused(g.from, &g.q, refusal.NoObject)
		return
	}
	rep := n.reply(&g.q, o, replay.Reply{Version: o.Record.Version, Durability: wire.None})
	rep.Home, rep.HomeEpoch = o.Route, o.RouteEpoch
	rep.AgeMS = uint32(min(age, when.Span(1)<<32-1))
	n.answer(g.from, rep)
}

// ageOf is for how long the published record here may have been out of date, if that is known.
func (n *Node) ageOf(o *route.Object) (age when.Span, known bool) {
	if n.c.Role == Member {
		age, known = n.member.lease.Age(n.clocks())
	} else {
		known = n.state == Joined
	}
	if o != nil && !o.Staged.IsZero() && o.Lease != route.Active {
		age = max(age, n.since(o.StagedAt))
		known = known && (!n.c.Both || n.second != when.NoSecond)
	}
	return age, known
}

// instant is now, by the counter and by what the second clock last answered, which may be earlier.
func (n *Node) instant() lease.Clocks { return lease.Clocks{Counter: n.now, Second: n.both.Second} }

// since is how long ago an instant was, by the clock that says the longest time: a freeze that is
// too short to be a pause is missing in the counter. A part of a millisecond counts, for 0 is
// without doubt, and so does one of a second.
func (n *Node) since(at lease.Clocks) when.Span {
	age := n.now.Sub(at.Counter) + 1
	if n.second != when.NoSecond && at.Second != when.NoSecond {
		age = max(age, n.second.Sub(at.Second)+when.Second)
	}
	return age
}

// said notes that the others are still to be told what has been published of an object.
func (n *Node) said(o id.Object) {
	if !slices.Contains(n.unsaid, o) && n.others() > 0 {
		n.unsaid = append(n.unsaid, o)
	}
}

// sayAgain has the others told again what is published, as far as this node is the one to say it: a
// session that has ended may have taken the news with it. The authority passes on what it knows.
func (n *Node) sayAgain() {
	for i := range n.objects.All() {
		o := &n.objects.All()[i]
		if !o.Record.IsZero() && (o.Lease == route.Active || n.c.Role == Authority) {
			n.said(o.ID)
		}
	}
}

// age makes staged records older by a time in which the counter stood still.
func (n *Node) age(d when.Span) {
	for i := range n.objects.All() {
		if o := &n.objects.All()[i]; !o.Staged.IsZero() {
			o.StagedAt.Counter = o.StagedAt.Counter.Add(-d)
		}
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
		o := n.objects.Find(id)
		if o != nil && !o.Record.IsZero() && (o.Lease == route.Active || n.c.Role == Authority) {
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
		if o == nil || o.Lease == route.Active || n.c.Role == Authority && n.holder(o) != s.peer {
			continue
		}
		if r.Epoch > o.Staged.Epoch || r.Epoch == o.Staged.Epoch && r.Version >= o.Staged.Version {
			o.Publish()
		}
	}
	if n.c.Role == Authority {
		n.authority.committed = true
		n.toOthers(m, s.peer)
	}
}
