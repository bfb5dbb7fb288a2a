package mesh

import (
	"slices"

	"holdfast/mesh/id"
	"holdfast/mesh/lease"
	"holdfast/mesh/record"
	"holdfast/mesh/refusal"
	"holdfast/mesh/replay"
	"holdfast/mesh/route"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// A replicated commit at the object's home (spec/protocol.md, "Replicated commit"):
//
//	checked --> staged, sent to all others --> published: every member of the view holds it
//	                |            ^
//	                |            | a new view in which this node stayed the home: stamped with its
//	                |            | epoch, and sent again
//	                |            |
//	                +--> answered unknown-outcome at the deadline; staged and sent all the same
//	                |
//	                +--> dropped: a new view in which it did not stay the home. What the view's table
//	                     of records says about the object is what counts.
//
// No lease is looked at when it is published: the authority's acknowledgement is the fence. It has
// stored the record under an epoch that it has not ended since, and the record is part of every
// later table. A record that was sent is never discarded by anything but a table.
//
// There is one commit for an object at a time, a local one between its two checks too: both would
// make the same version. Others wait in a queue, and are judged from the beginning when their turn
// comes.
const (
	commitWithinMS = 15_000 // how long a client waits for a commit unless it says otherwise
	hopMS          = 500    // what each hop keeps for itself of the time that is left
	queueMax       = 16     // requests that wait for the commit before them
)

// commit is one replicated commit under way; the record is its object's Staged.
type commit struct {
	object id.Object
	q      wire.RouteReq
	from   from
	waits  bool // somebody waits for the answer
	until  when.Instant
	sent   when.Instant
	sends  int
	acked  []id.Node // others that hold the record under the current epoch
}

// queued is a request that waits for the commit before it.
type queued struct {
	q     wire.RouteReq
	from  from
	epoch id.Epoch // of whoever sent it
	until when.Instant
}

// commitOf returns the commit under way of an object, nil for none.
func (n *Node) commitOf(o id.Object) *commit {
	for i := range n.commits {
		if n.commits[i].object == o {
			return &n.commits[i]
		}
	}
	return nil
}

// others are the members of the view but this node.
func (n *Node) others() int { return len(n.view().Members) - 1 }

// durability is what a commit is carried out as. Alone, a node can promise no more than local. Less
// than what was asked for is never given; more is, where local would be unsafe: an object begins
// with a record that everybody has, so that all tables have the same rows; and while members still
// have to install a view, the table of records that it stands for must not run away from them.
func (n *Node) durability(q *wire.RouteReq, o *route.Object) wire.Durability {
	switch {
	case n.others() == 0:
		return wire.Local
	case q.Durability == wire.Replicated || n.never(o) || !n.settled():
		return wire.Replicated
	}
	return wire.Local
}

// joinsCommit reports whether a request is that of the commit under way, sent again: whoever waits
// now gets the answer.
func (n *Node) joinsCommit(who from, q *wire.RouteReq) bool {
	c := n.commitOf(q.Object)
	if c == nil || c.q.Request != q.Request {
		return false
	}
	if c.q.Digest() != q.Digest() {
		n.answerRefused(who, q, refusal.Replay)
		return true
	}
	c.from, c.waits, c.until = who, true, n.now.Add(when.Span(q.Within))
	return true
}

// committing reports whether a commit of an object is under way, or between its two checks.
func (n *Node) committing(o id.Object) bool {
	g := &n.staged
	return n.commitOf(o) != nil || g.ticket != 0 && g.q.Op == wire.Commit && g.q.Object == o
}

// enqueue lets a request wait for the commit before it, if there is one.
func (n *Node) enqueue(who from, epoch id.Epoch, q *wire.RouteReq) bool {
	if !n.committing(q.Object) || q.Op != wire.Commit {
		return false
	}
	for i := range n.queue {
		if w := &n.queue[i]; w.q.Request == q.Request && w.from.node == who.node {
			w.from = who // the same one again
			return true
		}
	}
	if len(n.queue) == queueMax {
		n.answerRefused(who, q, refusal.Full)
		return true
	}
	n.queue = append(n.queue, queued{*q, who, epoch, n.now.Add(when.Span(q.Within))})
	return true
}

// dequeue judges anew, in order, what waited for commits that are over. One of them may be held
// between its two checks then, and the rest goes on waiting for it.
func (n *Node) dequeue() {
	for i := 0; i < len(n.queue) && n.staged.ticket == 0; {
		w := n.queue[i]
		if n.committing(w.q.Object) {
			i++
			continue
		}
		n.queue = slices.Delete(n.queue, i, i+1)
		n.serve(w.from, w.epoch, &w.q)
	}
}

// replicate stages a checked commit and sends it to all others.
func (n *Node) replicate(who from, q *wire.RouteReq, o *route.Object) {
	if q.IfVersion != wire.AnyVersion && q.IfVersion != o.Record.Version {
		n.answerRefused(who, q, refusal.VersionConflict)
		return
	}
	n.commits = append(n.commits, commit{object: o.ID, q: *q, from: who, waits: true,
		until: n.now.Add(when.Span(q.Within))})
	c := &n.commits[len(n.commits)-1]
	n.stamp(c, o)
	n.distribute(c, o)
}

// stamp makes the staged record of c under the current epoch. The version is kept when it has been
// stamped before: under an epoch of its own a version is used once.
func (n *Node) stamp(c *commit, o *route.Object) {
	r := &o.Staged
	r.Epoch, r.Version = n.view().Epoch, o.Record.Version+1
	r.Request, r.RequestDigest, r.Value = c.q.Request, c.q.Digest(), c.q.Value
	r.Window = o.Record.Window
	r.Window.RememberAs(&c.q, r.RequestDigest, n.promise(r.Version))
	r.Seal(o.ID)
	o.StagedAt = n.instant()
	o.Held, o.Owed = o.Held[:0:0], n.now
	c.acked = nil
}

// promise is the reply to a commit that every member holds.
func (n *Node) promise(version uint64) replay.Reply {
	reply := replay.Reply{Version: version, Durability: wire.Replicated,
		Copies: uint8(len(n.view().Members))}
	if n.others() == 0 {
		reply.Durability = wire.Local
	}
	return reply
}

// distribute sends the staged record of c to whoever has not acknowledged it: a member to the
// authority, which passes it on, the authority to all others.
func (n *Node) distribute(c *commit, o *route.Object) {
	c.sent = n.now
	c.sends++
	m := o.Staged.Message(wire.Record{Mode: wire.Replicate, Object: o.ID, Home: n.self,
		Boot: n.c.Boot, AuthorityBoot: n.view().AuthorityBoot})
	for i := range n.members.All() {
		e := &n.members.All()[i]
		switch {
		case n.c.Role == Member && e.ID != n.view().Authority:
			continue
		case n.c.Role == Authority && (slices.Contains(c.acked, e.ID) || e.Viewed < n.view().Epoch):
			continue // what it lacks of the table comes first
		}
		if s := n.best(e.ID, e.Boot); s != nil {
			n.lend(s, m, o.Staged.Digest)
		}
	}
}

// acknowledged takes the news that a member of the view holds a record under the current epoch.
func (n *Node) acknowledged(m *wire.RecordAck) {
	c := n.commitOf(m.Object)
	o := n.objects.Find(m.Object)
	switch {
	case c == nil || o == nil || o.Staged.Digest != m.Digest || m.Epoch != n.view().Epoch:
		return // of a record that is published, or of another epoch
	case o.Staged.Epoch != m.Epoch || n.state != Joined || n.offered():
		return // this node has turned to another view
	case m.Node == n.self || !n.view().Speaks(m.Node, m.Boot) || slices.Contains(c.acked, m.Node):
		return
	}
	if c.acked = append(c.acked, m.Node); len(c.acked) == n.others() {
		n.publishStaged(o)
	}
}

// publishStaged publishes the staged record of a commit that every member of the view holds, and
// answers.
func (n *Node) publishStaged(o *route.Object) {
	i := slices.IndexFunc(n.commits, func(c commit) bool { return c.object == o.ID })
	c := n.commits[i]
	n.commits = slices.Delete(n.commits, i, i+1)
	reply := n.promise(o.Staged.Version)
	o.Staged.Window = o.Record.Window // with the reads of meanwhile
	o.Staged.Window.RememberAs(&c.q, o.Staged.RequestDigest, reply)
	o.Publish()
	o.Local = n.others() == 0
	n.said(o.ID)
	n.counted.commits++
	switch {
	case !c.waits:
	case c.q.Copies > reply.Copies:
		n.answerRefused(c.from, &c.q, refusal.UnknownOutcome) // it is done, with fewer copies
	default:
		n.answer(c.from, n.reply(&c.q, o, reply))
	}
	n.dequeue()
}

// hurryCommits has the commits under way sent again at the end of this step: somebody can take them
// now.
func (n *Node) hurryCommits() {
	for i := range n.commits {
		n.commits[i].sent = n.now.Add(-resendMS)
	}
}

// commitTime sends again what has not been acknowledged, publishes what nobody else has to hold any
// more, and answers those whose time is up.
func (n *Node) commitTime() {
	for i := len(n.commits) - 1; i >= 0; i-- {
		c := &n.commits[i]
		if c.waits && n.now >= c.until {
			c.waits = false
			n.answerRefused(c.from, &c.q, refusal.UnknownOutcome)
		}
		if n.state != Joined || n.offered() || n.halted != refusal.OK {
			continue
		}
		o := n.objects.Find(c.object)
		switch {
		case n.others() == 0 && n.mutable():
			n.publishStaged(o)
			i = min(i, len(n.commits)) // others may have gone, or have come from the queue
		case n.others() > 0 && n.now.Sub(c.sent) >= resendMS:
			n.distribute(c, o)
		}
	}
	n.dequeue() // what waited for a commit that was given up between its two checks
	for i := len(n.queue) - 1; i >= 0; i-- {
		if w := n.queue[i]; n.now >= w.until {
			n.queue = slices.Delete(n.queue, i, i+1)
			n.answerRefused(w.from, &w.q, refusal.Full)
		}
	}
}

// settleCommits goes on with the commits under way in a view just installed: those of objects that
// stayed here are stamped anew, the others end.
func (n *Node) settleCommits(stays func(*route.Object) bool) {
	for i := len(n.commits) - 1; i >= 0; i-- {
		c := &n.commits[i]
		o := n.objects.Find(c.object)
		if o != nil && o.Lease == route.Active && stays(o) {
			n.stamp(c, o)
			c.sent = n.now.Add(-resendMS) // it goes out at the end of this step
			continue
		}
		n.dropCommit(c.object)
	}
	for len(n.queue) > 0 {
		w := n.queue[0]
		n.queue = n.queue[1:]
		n.serve(w.from, w.epoch, &w.q) // an older epoch is refused as such
	}
}

// dropCommit ends a commit that is not this node's to finish any more: whether others hold the
// record, and the next home serves it, is not known here.
func (n *Node) dropCommit(o id.Object) {
	i := slices.IndexFunc(n.commits, func(c commit) bool { return c.object == o })
	if i < 0 {
		return
	}
	c := n.commits[i]
	n.commits = slices.Delete(n.commits, i, i+1)
	if c.waits {
		n.answerRefused(c.from, &c.q, refusal.UnknownOutcome)
	}
}

// dropCommits ends all commits, and refuses what waits for them: this node is in the view no
// longer. The staged records stay, as proof for an authority that has been restarted.
func (n *Node) dropCommits(w refusal.Word) {
	for len(n.commits) > 0 {
		n.dropCommit(n.commits[0].object)
	}
	for len(n.queue) > 0 {
		q := n.queue[0]
		n.queue = n.queue[1:]
		n.answerRefused(q.from, &q.q, w)
	}
}

// neverBegun ends the commit of a new object that the authority has no room for. Only when it has
// been sent one copy is it certain that nobody will store another.
func (n *Node) neverBegun(m *wire.RecordRefuse) {
	c, o := n.commitOf(m.Ack.Object), n.objects.Find(m.Ack.Object)
	if c == nil || c.sends > 1 || len(c.acked) > 0 || o.Staged.Digest != m.Ack.Digest ||
		!o.Record.IsZero() {
		return
	}
	o.Staged, o.StagedAt = record.Record{}, lease.Clocks{}
	who, q, waits := c.from, c.q, c.waits
	c.waits = false
	n.dropCommit(o.ID)
	if waits {
		n.answerRefused(who, &q, refusal.Full)
	}
	n.dequeue()
}
