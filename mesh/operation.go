package mesh

import (
	"slices"

	"holdfast/mesh/evidence"
	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/replay"
	"holdfast/mesh/route"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// An operation is what this node does as somebody's client: it routes a request to the object's
// home and ends with one `mesh-route: result` row.
//
//	start -> here         this node is the home
//	      -> sent         to the home's session; a session that ends sends it again on the next one
//	      -> refused      the mesh cannot reach the home: no-authority, no-route
//	sent  -> done         the reply's word
//	      -> sent again   once, after moved
//	      -> timed out    unknown-outcome for a commit, no-route for a read
//
// A refusal says that the request which it answers was not carried out, and nothing of the one that
// went out on a session that has ended: that may have been, by a boot that is gone. So a commit
// that was sent again without an answer in between, and is refused then, ends as unknown-outcome.
const (
	opsMax      = 16
	opTimeoutMS = 5_000 // of a read; a commit has commitWithinMS
	movesMax    = 1     // MOVED answers that are followed
)

type op struct {
	serial  uint64 // names it here; its request may be another node's (step 7)
	ticket  Ticket
	step    int    // of the lab, 0 for a client's request
	name    string // of the object, when the client gave it
	q       wire.RouteReq
	target  id.Node
	session Session // that it was last sent on, 0 when it waits for one
	until   when.Instant

	attempts, moved, sends, timeouts int64

	open  bool // the latest one sent has not been answered
	doubt bool // nor has one before it

	rows []evidence.Line // of operations with the same ticket that have ended before this one
}

// start begins operations, which share a ticket, and returns false when too many are under way. All
// are in the table before the first attempt: the answer waits for the last one.
func (n *Node) start(ps ...op) bool {
	if len(n.ops)+len(ps) > opsMax {
		return false
	}
	first := n.serial + 1
	for _, p := range ps {
		n.counted.routes++
		p.target = n.locate(p.q.Object)
		n.begun(p)
	}
	for serial := first; serial < first+uint64(len(ps)); serial++ {
		n.try(&n.ops[n.indexOf(serial)])
	}
	return true
}

// indexOf is where the operation of that serial is, -1 when it has ended.
func (n *Node) indexOf(serial uint64) int {
	return slices.IndexFunc(n.ops, func(p op) bool { return p.serial == serial })
}

// clientRequest routes a client's operation.
func (n *Node) clientRequest(in Request) {
	q := wire.RouteReq{Request: in.Identity, FirstEpoch: in.FirstEpoch,
		Object: id.ObjectOf(in.Name), Op: in.Op, Class: in.Class, Durability: in.Durability,
		IfVersion: in.IfVersion, Copies: in.Copies, Value: in.Value, Capability: in.Capability}
	if in.Verified {
		n.remember(in.Capability) // a public-key operation would hold up everything else
	}
	q.Within = within(in)
	if q.Request.Seq == 0 {
		q.Request = n.request()
	}
	if q.FirstEpoch == 0 {
		q.FirstEpoch = max(1, n.view().Epoch)
	}
	if q.Op == wire.Stat {
		q.Durability, q.IfVersion, q.Copies, q.Value = wire.None, wire.AnyVersion, 0, nil
	}
	var w refusal.Word
	switch {
	case len(q.Value) > wire.ValueMax:
		w = refusal.TooLarge
	case !wire.Valid(&q):
		w = refusal.Malformed // else a client could make this node send what nobody may
	case n.start(op{ticket: in.Ticket, name: in.Name, q: q}):
		return
	default:
		w = refusal.Full
	}
	n.counted.refused++
	n.out.add(Answer{Ticket: in.Ticket, Status: Done,
		Reply: wire.RouteRep{Request: q.Request, Word: w}})
}

// within is how long a client waits for its answer, in milliseconds.
func within(in Request) uint32 {
	switch {
	case in.Within > 0:
		return uint32(min(in.Within, wire.WithinMax))
	case in.Op == wire.Commit:
		return commitWithinMS
	}
	return opTimeoutMS
}

// locate returns where requests for an object are sent: along the cached route or, for an object
// that this node does not know, to its home by the view; nowhere without routing.
func (n *Node) locate(o id.Object) id.Node {
	known := n.objects.Find(o)
	switch {
	case !n.c.Route:
		return id.Node{}
	case known != nil && !known.Route.IsZero():
		return known.Route
	}
	return n.homeOf(o)
}

// homeOf returns the home of an object by the view; this node itself while there is none.
func (n *Node) homeOf(o id.Object) id.Node {
	if n.view().Epoch == 0 {
		return n.self
	}
	return home.Of(o, n.view().IDs())
}

// begun adds an operation to the table, which has room for it.
func (n *Node) begun(p op) *op {
	n.serial++
	p.serial, p.until = n.serial, n.now.Add(when.Span(p.q.Within))
	n.ops = append(n.ops, p)
	return &n.ops[len(n.ops)-1]
}

// request names the next request of this node.
func (n *Node) request() wire.Request {
	n.seq++
	return wire.Request{Client: id.Client(n.self), Boot: n.c.Boot, Seq: n.seq}
}

// try makes an attempt: here, or by sending to the target. A node outside the view is never a
// target: the routes are rebuilt from the view that leaves it out.
func (n *Node) try(p *op) {
	p.attempts++
	if n.c.Role == Authority && n.state == Joining {
		n.fail(p, n.noView())
		return
	}
	if p.q.Op == wire.Stat && p.q.Class == wire.StaleOK && n.view().Epoch != 0 {
		n.askStale(p)
		return
	}
	if p.target == n.self && n.view().Epoch != 0 {
		n.serve(from{op: p.serial, node: n.self}, n.view().Epoch, &p.q)
		return
	}
	if w := n.reachable(); w != refusal.OK {
		n.fail(p, w)
		return
	}
	n.transmit(p)
}

// reachable returns why no remote home can be used at all, if so: an isolated member does not know
// where objects are homed by now (ADR-0008 section 6).
func (n *Node) reachable() refusal.Word {
	switch {
	case !n.c.Route:
		return refusal.Disabled
	case n.state == Joining || n.member.lost:
		return refusal.NoAuthority
	}
	return refusal.OK
}

// transmit sends the request on the best session to its target; with none it waits for one.
func (n *Node) transmit(p *op) {
	m, ok := n.view().Find(p.target)
	if !ok {
		n.fail(p, refusal.NoRoute)
		return
	}
	s := n.towards(m)
	if s == nil {
		p.session = 0
		return
	}
	p.session = s.id
	if p.sends > 0 && p.q.Op == wire.Stat {
		p.q.Request = n.request() // its home answers a repeated stat with replay
	}
	p.sends++
	p.doubt, p.open = p.doubt || p.open, true
	n.counted.sends++
	if p.q.Op == wire.Commit {
		n.authority.committed = true // perhaps: the answer may never come
	}
	q := p.q
	q.Within = less(uint32(max(1, p.until.Sub(n.now))))
	n.sendTo(s, p.target, &q)
}

// towards is the best session on the way to a member of the view, nil when there is none now.
func (n *Node) towards(m view.Member) *session {
	if n.c.Role == Member {
		m, _ = n.view().Find(n.view().Authority) // it passes on what is for others
	}
	return n.best(m.ID, m.Boot)
}

// requeueOps makes what went out on a session that has ended wait for another one.
func (n *Node) requeueOps(ended Session) {
	for i := range n.ops {
		if p := &n.ops[i]; p.session == ended && p.session != 0 {
			p.session = 0
		}
	}
}

// expireOps sends what waits for a session, and ends what has waited too long.
func (n *Node) expireOps() {
	for i := len(n.ops) - 1; i >= 0; i-- {
		p := &n.ops[i]
		switch {
		case n.now >= p.until:
			n.timeOut(p)
		case p.session == 0 && p.target != n.self:
			n.transmit(p)
		}
	}
}

// settleOps ends what was sent to nodes that a view just installed leaves out: they will not answer
// any more, and nobody else will answer for them. When this node is the home now, and remembers the
// request from the record that it has inherited, it was done.
func (n *Node) settleOps() {
	for i := len(n.ops) - 1; i >= 0; i-- {
		if i >= len(n.ops) {
			continue // ended with another one
		}
		p := &n.ops[i]
		switch o := n.objects.Find(p.q.Object); {
		case p.sends == 0 || n.view().Has(p.target):
		case p.q.Op != wire.Commit:
			n.fail(p, refusal.NoRoute)
		case o != nil && o.Lease == route.Active:
			verdict, _, reply := o.Record.Window.Check(&p.q, o.Since)
			if verdict != replay.Repeat {
				n.fail(p, refusal.UnknownOutcome)
				continue
			}
			n.finish(p, n.reply(&p.q, o, reply))
		default:
			n.fail(p, refusal.UnknownOutcome)
		}
	}
}

func (n *Node) timeOut(p *op) {
	p.timeouts++
	n.counted.timeouts++
	if p.q.Op == wire.Commit && (p.sends > 0 || p.target == n.self) { // it may be under way here
		n.fail(p, refusal.UnknownOutcome)
		return
	}
	n.fail(p, refusal.NoRoute)
}

// fail ends an operation with a word of this node's own.
func (n *Node) fail(p *op, w refusal.Word) {
	n.counted.refused++
	rep := &wire.RouteRep{Request: p.q.Request, Word: w, Home: p.target, Class: p.q.Class}
	if o := n.objects.Find(p.q.Object); o != nil {
		rep.HomeEpoch = o.RouteEpoch
	}
	n.finish(p, rep)
}

// replied takes the answer to an operation. One that has ended takes none.
func (n *Node) replied(serial uint64, rep *wire.RouteRep) {
	i := n.indexOf(serial)
	if i < 0 {
		return
	}
	p := &n.ops[i]
	p.open = false
	if rep.Word == refusal.Moved && p.moved < movesMax && n.view().Has(rep.Home) {
		p.moved++
		n.counted.moved++
		p.target = rep.Home
		if o := n.objects.Find(p.q.Object); o != nil {
			o.Route, o.RouteEpoch = rep.Home, rep.HomeEpoch
		}
		n.try(p)
		return
	}
	n.finish(p, rep)
}

// routeRep takes another node's answer. One to an earlier attempt is nobody's.
func (n *Node) routeRep(home id.Node, m *wire.RouteRep) {
	for i := range n.ops {
		if p := &n.ops[i]; p.target == home && p.sends > 0 && p.q.Request == m.Request {
			n.replied(p.serial, m)
			return
		}
	}
}

// finish prints the result row and gives it to whoever waits for it.
func (n *Node) finish(p *op, rep *wire.RouteRep) {
	if p.q.Op == wire.Commit && (p.open || p.doubt) && rep.Word != refusal.OK {
		unknown := *rep
		unknown.Word = refusal.UnknownOutcome
		rep = &unknown
	}
	row := n.resultRow(p, rep)
	if p.step != 0 {
		n.out.add(Print{row}) // a client's own results are its answer's: there are too many to keep
	}
	rows := append(p.rows, row)
	i := n.indexOf(p.serial)
	ticket := p.ticket
	n.ops = slices.Delete(n.ops, i, i+1)
	if ticket == 0 {
		return
	}
	for i := range n.ops {
		if n.ops[i].ticket == ticket {
			n.ops[i].rows = rows
			return
		}
	}
	n.out.add(Answer{Ticket: ticket, Status: Done, Lines: rows, Reply: *rep})
}

func (n *Node) resultRow(p *op, rep *wire.RouteRep) evidence.Line {
	row := evidence.Begin("mesh-route", "result")
	if p.step == 0 {
		row = row.None("step")
	} else {
		row = row.Int("step", int64(p.step))
	}
	return row.Request("request", p.q.Request).Object("object", p.q.Object).
		Str("op", p.q.Op.String()).Word("status", rep.Word).Node("home", rep.Home).
		Epoch("epoch", n.view().Epoch).Epoch("home_epoch", rep.HomeEpoch).
		Uint("version", rep.Version).Int("attempts", p.attempts).Int("moved", p.moved).
		Int("sends", p.sends).Int("timeouts", p.timeouts).Str("class", p.q.Class.String()).
		Str("durability", rep.Durability.String()).Int("copies", int64(rep.Copies)).At(n.now).Line()
}
