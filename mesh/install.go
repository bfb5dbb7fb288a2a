package mesh

import (
	"slices"

	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/route"
	"holdfast/mesh/view"
)

// install makes a certificate the node's current view: members, homes, routes and leases follow in
// this one step (ADR-0008 section 3). The caller has verified it, knows that it is newer, or the
// authority's own, and holds its table of records. kept are the objects of which a member stays the
// home without a gap.
func (n *Node) install(c view.Certificate, kept []id.Object) {
	newer := c.View.Epoch > n.view().Epoch
	if newer {
		n.endMoves() // while the table still tells whose leases the old view's were
	}
	holders := n.holders()
	n.cert, n.digest = c, c.View.Digest()
	n.state = Joined
	n.member.lease.Zero()
	n.member.echo, n.member.offer = 0, offer{}
	n.member.torn, n.member.former = false, nil
	n.members.Install(n.now, &c.View, n.self)
	if !newer {
		return // the same epoch with another boot: nobody's homes or leases change
	}
	n.print(n.viewRow(evidence.New("mesh-view", "installed")))
	if !n.c.Route {
		return
	}
	before := heldLeases(n.objects)
	for _, f := range n.objects.Install(&c.View, n.self) {
		n.counted.fences++
		n.print(evidence.New("mesh-route", "fence").Object("object", f.Object).
			Node("stale_home", f.StaleHome).Epoch("stale_home_epoch", f.StaleHomeEpoch).
			Node("home", f.Home).Epoch("home_epoch", f.HomeEpoch).Str("reason", f.Reason()))
	}
	for i, held := range heldLeases(n.objects) {
		if held != before[i] {
			n.print(n.leaseRow(&n.objects.All()[i]))
		}
	}
	n.dropStaged(refusal.StaleEpoch)
	n.settleRecords(holders, kept)
	n.settleOps()
}

// settleRecords makes the records follow the view. A member that has missed a view may believe that
// it stayed the home of an object which another one served meanwhile: what the authority says is
// kept counts.
func (n *Node) settleRecords(holders []id.Node, kept []id.Object) {
	epoch := n.view().Epoch
	for i := range n.objects.All() {
		o := &n.objects.All()[i]
		o.Owed = 0
		o.Forget(func(b id.Boot) bool { return !n.hasBoot(b) })
		_, keeps := slices.BinarySearchFunc(kept, o.ID, compareObjects)
		if n.c.Role == Member && o.Lease == route.Active && !keeps && !n.begins(o) {
			o.Since, o.HomeSince = epoch, epoch
			o.Publish()
		}
	}
	n.formers(holders)
	n.settleCommits(func(o *route.Object) bool { return o.HomeSince < epoch || n.begins(o) })
}

// hasBoot reports whether a boot is in the view.
func (n *Node) hasBoot(b id.Boot) bool {
	return slices.ContainsFunc(n.view().Members, func(m view.Member) bool { return m.Boot == b })
}

type heldLease struct {
	lease route.Lease
	epoch id.Epoch
}

// heldLeases lists the leases in table order, to see afterwards which ones changed.
func heldLeases(t *route.Table) []heldLease {
	held := make([]heldLease, len(t.All()))
	for i := range t.All() {
		held[i] = heldLease{t.All()[i].Lease, t.All()[i].LeaseEpoch}
	}
	return held
}

// leaseRow tells the state of a lease, with the home and the epoch of its assignment: this node for
// a lease that it holds, also one that a move gave it.
func (n *Node) leaseRow(o *route.Object) evidence.Line {
	state, home, epoch := o.Lease.String(), n.self, o.LeaseEpoch
	if o.Lease == route.NoLease {
		state, home, epoch = "dropped", o.Home, o.HomeEpoch
	}
	return evidence.New("mesh-route", "lease").Object("object", o.ID).Str("state", state).
		Node("home", home).Epoch("home_epoch", epoch)
}
