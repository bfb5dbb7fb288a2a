package mesh

import (
	"bytes"
	"slices"

	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/mesh/member"
	"holdfast/mesh/record"
	"holdfast/mesh/refusal"
	"holdfast/mesh/route"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// A view stands for a table of records: what the authority holds when it signs it. Whoever installs
// the view holds that table, so that a certificate is proof of the records too, and any survivor
// can become the home of anything (spec/protocol.md, "View change", steps 3 and 4).
//
//	authority                              member, or joiner
//	View{certificate, table}  --------->   holds the table: installs, ViewAck
//	                                       does not: hands over what it alone has (HandOver),
//	                          <---------   ViewReq
//	Record{state} ...         --------->   replaces its own, RecordAck
//	View again, the table as it is by now
//
// The offered view is not installed meanwhile, but the old one is over: the lease is gone, nothing
// of it is published, and commits under way wait. Kept objects are those of which the member stays
// the home without a gap: their records are its own, and the table leaves them out.
//
// A joiner that is not in the view yet learns the table in the same way, with JoinState in the
// place of View. Its own old records are replaced, whatever they are.

// offer is a view that a member has been offered and does not hold the table of yet.
type offer struct {
	session Session // 0: none
	cert    view.Certificate
	table   wire.Table
	kept    []id.Object
	asked   int
}

// offered reports whether this member has been offered a view that it has not installed.
func (n *Node) offered() bool { return n.member.offer.session != 0 }

// tableBut sums up this node's records, but those that skip says.
func (n *Node) tableBut(skip func(*route.Object) bool) wire.Table {
	var sum record.Sum
	for _, i := range n.objects.Sorted() {
		o := &n.objects.All()[i]
		if r := o.Newest(); !r.IsZero() && (skip == nil || !skip(o)) {
			sum.Add(o.ID, r)
		}
	}
	return sum.Table()
}

// stays reports whether a member stays the home of an object without a gap, as far as this
// authority has seen the member follow the views.
func stays(o *route.Object, m *view.Member, viewed id.Epoch) bool {
	return o.Home == m.ID && o.HomeSince <= viewed && o.Incarnation == m.Incarnation
}

// viewFor is the current view as it is offered to a member that acknowledged the view of epoch
// viewed last.
func (n *Node) viewFor(m *view.Member, viewed id.Epoch) *wire.View {
	v := &wire.View{Certificate: n.cert.Append(nil)}
	for _, i := range n.objects.Sorted() {
		if o := &n.objects.All()[i]; stays(o, m, viewed) {
			v.Kept = append(v.Kept, o.ID)
		}
	}
	v.Table = n.tableBut(func(o *route.Object) bool { return stays(o, m, viewed) })
	return v
}

// takeOffer takes an offered view, first from its frame and then whenever something about it has
// changed: it is installed when this node holds its table.
func (n *Node) takeOffer(s *session, c view.Certificate, table wire.Table, kept []id.Object) {
	o := &n.member.offer
	again := o.session == s.id && o.cert.View.Epoch == c.View.Epoch
	asked := 0
	if again {
		asked = o.asked
	}
	*o = offer{s.id, c, table, kept, asked}
	n.member.lease.Zero()
	n.pursue()
}

// pursue goes on with the offered view.
func (n *Node) pursue() {
	o := &n.member.offer
	s := n.find(o.session)
	if s == nil {
		return // it will be offered again
	}
	if n.handOver(s) {
		return // the table will be another one
	}
	if n.tableBut(n.keepsIn(o)) == o.table {
		n.enter(s, o.cert, o.kept)
		return
	}
	all := o.asked > 0
	if all {
		n.dropUnkept(o)
	}
	o.asked++
	n.send(s, &wire.ViewReq{All: all})
}

// keepsIn tells which rows the table of an offer leaves out: those kept, and the new object of a
// commit under way that only this node knows and goes on being the home of.
func (n *Node) keepsIn(o *offer) func(*route.Object) bool {
	return func(row *route.Object) bool {
		if _, kept := slices.BinarySearchFunc(o.kept, row.ID, compareObjects); kept {
			return true
		}
		return n.begins(row) && home.Of(row.ID, o.cert.View.IDs()) == n.self
	}
}

// begins reports whether an object has no record yet but the one of a commit under way here.
func (n *Node) begins(o *route.Object) bool {
	return o.Record.IsZero() && n.commitOf(o.ID) != nil
}

func compareObjects(a, b id.Object) int { return bytes.Compare(a[:], b[:]) }

// dropUnkept drops the records that the offered table should say more about, when it turned out
// after everything had been sent that this node has others.
func (n *Node) dropUnkept(o *offer) {
	n.tear()
	keeps := n.keepsIn(o)
	for i := range n.objects.All() {
		if row := &n.objects.All()[i]; !keeps(row) {
			n.dropCommit(row.ID)
			row.Replace(new(record.Record))
		}
	}
}

// handOver sends the authority the local commits of objects that this node is about to lose, and
// reports whether there are any of which the authority has not said what it does with them.
func (n *Node) handOver(s *session) bool {
	o := &n.member.offer
	if n.state != Joined {
		return false
	}
	keeps, waits := n.keepsIn(o), false
	for i := range n.objects.All() {
		row := &n.objects.All()[i]
		if row.Local && row.Lease != route.NoLease && !keeps(row) {
			waits = true
			n.lend(s, row.Record.Message(wire.Record{Mode: wire.HandOver, Object: row.ID,
				Home: n.self, Boot: n.c.Boot, AuthorityBoot: n.view().AuthorityBoot}), row.Record.Digest)
		}
	}
	return waits
}

// handOn goes on when the authority has said what it does with a record that was handed over, or
// that proves what this node holds.
func (n *Node) handOn(s *session, m *wire.RecordAck) {
	if n.state == Joining {
		if s.proving && !slices.Contains(s.proved, m.Digest) {
			s.proved = append(s.proved, m.Digest)
		}
		n.giveProof(s)
		return
	}
	o := n.objects.Find(m.Object)
	if !n.offered() || o == nil || !o.Local || o.Record.Digest != m.Digest || m.Node != s.peer {
		return
	}
	o.Local = false
	n.pursue()
}

// stateRecord takes a row of the authority's table: one that this node has asked for, or one that
// was handed over to the authority for the object's new home, which has had no lease yet.
func (n *Node) stateRecord(s *session, epoch id.Epoch, m *wire.Record,
	r *record.Record) refusal.Word {
	switch {
	case n.state == Joining && s.learning != 0 || n.offered() && n.member.offer.session == s.id:
		o := n.rowFor(m.Object)
		if o == nil {
			return refusal.Full
		}
		if n.offered() && n.keepsIn(&n.member.offer)(o) {
			return refusal.Conflict // its own is the one that counts
		}
		n.dropCommit(o.ID)
		o.Replace(r)
	case n.state != Joined || epoch != n.view().Epoch || m.AuthorityBoot != n.view().AuthorityBoot:
		return refusal.StaleEpoch
	default:
		o := n.rowFor(m.Object)
		if o == nil {
			return refusal.Full
		}
		if o.Lease != route.NoLease && n.member.echo != 0 {
			return refusal.Conflict // it has been served since
		}
		if r.After(o.Newest()) {
			o.Replace(r)
		}
	}
	return refusal.OK
}

// joinState takes what a learner is to hold before it is admitted.
func (n *Node) joinState(s *session, m *wire.JoinState) {
	if n.state != Joining || m.Nonce == 0 || m.Nonce != s.joining {
		return
	}
	if m.Want {
		s.proving = true
		n.giveProof(s)
		return
	}
	own := n.tableBut(nil)
	switch {
	case own == m.Table, s.learning == m.Nonce && own.Records >= m.Table.Records:
		// Either it holds the table, or it was sent all of it, and commits have gone on meanwhile.
		s.learning = m.Nonce
		n.send(s, &wire.JoinReady{Nonce: m.Nonce, Table: own})
		return
	case s.learning != m.Nonce:
		n.forgetRecords()
	}
	n.send(s, &wire.ViewReq{All: s.learning == m.Nonce})
	s.learning = m.Nonce
}

// tear notes that this node is about to drop records that its certificate stands for. It goes on
// having them for an authority that loses its memory before it has sent the others.
func (n *Node) tear() {
	if !n.member.torn {
		n.member.torn, n.member.former = true, n.held()
	}
}

// forgetRecords drops every record: those of a joiner never win.
func (n *Node) forgetRecords() {
	n.tear()
	for i := range n.objects.All() {
		n.objects.All()[i].Replace(new(record.Record))
	}
}

// The authority's side: a session is synchronized when its peer has asked for records. Nobody is
// asked what he holds: what has been acknowledged is known.

// viewReq takes the question of a member, or of a learner, for the records that it lacks.
func (n *Node) viewReq(s *session, m *wire.ViewReq) {
	e := n.members.Find(s.peer)
	in := e != nil && e.Boot == s.boot
	if !in && s.admission.stage != stageLearner {
		n.current(s, 0)
		return
	}
	if m.All {
		for i := range n.objects.All() {
			n.objects.All()[i].Forget(func(b id.Boot) bool { return b == s.boot })
		}
	}
	s.synchronizes = true
	n.synchronize(s)
}

// synchronize sends a session as many of the records that its peer lacks as it has credit for, and
// then the view, or the JoinState, that stands for them.
func (n *Node) synchronize(s *session) {
	if !s.synchronizes || n.now < s.rest {
		return
	}
	e := n.members.Find(s.peer)
	in := e != nil && e.Boot == s.boot
	whole := true
	for i := range n.objects.All() {
		o := &n.objects.All()[i]
		r := o.Newest()
		own := in && o.Handed == 0 && stays(o, &e.Member, e.Viewed)
		if r.IsZero() || own || o.Holds(s.boot) {
			continue
		}
		whole = false
		m := r.Message(wire.Record{Mode: wire.State, Object: o.ID, Home: n.self, Boot: n.c.Boot,
			AuthorityBoot: n.c.Boot})
		if !n.lend(s, m, r.Digest) {
			return
		}
	}
	switch {
	case !whole:
	case in:
		s.synchronizes = false
		if e.Viewed < n.view().Epoch {
			n.push(e)
		}
	case s.admission.stage == stageLearner:
		s.synchronizes = false
		n.send(s, &wire.JoinState{Nonce: s.admission.nonce, Table: n.tableBut(nil)})
	default:
		s.synchronizes = false
	}
}

// settled reports whether every member has installed the current view.
func (n *Node) settled() bool {
	if n.c.Role != Authority {
		return true
	}
	for i := range n.members.All() {
		if n.members.All()[i].Viewed < n.view().Epoch {
			return false
		}
	}
	return true
}

// formers notes, when a view has been installed, which live nodes have just lost an object: they
// may hand local commits over, until they acknowledge the view.
func (n *Node) formers(before []id.Node) {
	for i := range n.objects.All() {
		o := &n.objects.All()[i]
		o.Former, o.Handed = 0, 0
		if i >= len(before) || before[i] == n.holder(o) || before[i] == n.self {
			continue
		}
		if m, ok := n.view().Find(before[i]); ok {
			o.Former = m.Boot
		}
	}
}

// holders lists who holds each object, in table order.
func (n *Node) holders() []id.Node {
	all := make([]id.Node, len(n.objects.All()))
	for i := range all {
		all[i] = n.holder(&n.objects.All()[i])
	}
	return all
}

// handedOver takes a local commit from the former home of an object, unless the new one may have
// served already.
func (n *Node) handedOver(s *session, m *wire.Record, r *record.Record) {
	o := n.objects.Find(m.Object)
	if o == nil || o.Former == 0 || o.Former != s.boot || n.state != Joined ||
		o.Home == n.self && !n.awaits(o.ID) {
		no := &wire.RecordRefuse{Ack: wire.RecordAck{Epoch: n.view().Epoch,
			AuthorityBoot: n.c.Boot, Object: m.Object, Digest: r.Digest, Node: n.self,
			Boot: n.c.Boot}, Word: refusal.NotHome}
		n.send(s, no)
		return
	}
	if r.After(o.Newest()) {
		o.Replace(r)
		o.Held, o.Handed = nil, s.boot
	}
	o.Hold(s.boot, r.Digest)
	n.answerRecord(s, m, r.Digest, refusal.OK)
	n.pushHanded()
}

// mayServe notes that a member is about to get a lease: what it is the home of is handed over no
// more.
func (n *Node) mayServe(e *member.Entry) {
	for i := range n.objects.All() {
		if o := &n.objects.All()[i]; o.Home == e.ID {
			o.Former = 0
		}
	}
}

// pushHanded sends the records that were handed over to the new homes, if those have installed the
// view already: otherwise the tables that they ask for have them.
func (n *Node) pushHanded() {
	for i := range n.objects.All() {
		o := &n.objects.All()[i]
		e := n.members.Find(o.Home)
		if o.Handed == 0 || e == nil || e.Viewed < n.view().Epoch || o.Holds(e.Boot) {
			continue
		}
		if s := n.best(e.ID, e.Boot); s != nil {
			s.synchronizes = true
			n.synchronize(s)
		}
	}
}

// releaseHanded ends the waits for former holders that have acknowledged the view, once the new
// homes hold what they handed over.
func (n *Node) releaseHanded() {
	for i := range n.members.All() {
		e := &n.members.All()[i]
		if e.Viewed < n.view().Epoch || n.handing(e.Boot) {
			continue
		}
		n.members.Released(e.ID, e.Boot)
		n.releaseMoved(e.ID, e.Boot)
		for j := range n.objects.All() {
			if o := &n.objects.All()[j]; o.Former == e.Boot {
				o.Former, o.Handed = 0, 0
			}
		}
	}
}

// handing reports whether something that this boot has handed over is not at its new home yet.
func (n *Node) handing(b id.Boot) bool {
	for i := range n.objects.All() {
		o := &n.objects.All()[i]
		if o.Handed != b || o.Home == n.self {
			continue
		}
		if e := n.members.Find(o.Home); e != nil && !o.Holds(e.Boot) {
			return true
		}
	}
	return false
}

// owing reports whether a member has left a record unanswered for the suspicion time.
func (n *Node) owing(boot id.Boot, node id.Node) bool {
	for i := range n.objects.All() {
		o := &n.objects.All()[i]
		if o.Owed != 0 && n.holder(o) != node && n.now.Sub(o.Owed) >= n.c.Timing.Suspect &&
			!o.Holds(boot) {
			return true
		}
	}
	return false
}

// excuseRecords gives members the time back in which this node did not listen.
func (n *Node) excuseRecords(pause when.Span) {
	for i := range n.objects.All() {
		if o := &n.objects.All()[i]; o.Owed != 0 {
			o.Owed = min(o.Owed.Add(pause), n.now)
		}
	}
}
