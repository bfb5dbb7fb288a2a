// Package route is the table of objects that a node knows: for each, its home by the current view,
// the cached route that the node sends requests along, the home lease if it is held here, and the
// record.
//
// Installing a view fences both what the node may use and what it may serve (ADR-0008 section 3):
//
//  1. a fence for every cached route whose home is not in the new view;
//  2. every cached route is rebuilt from the view;
//  3. every lease of an object that is no longer homed here is dropped, with a fence;
//  4. every object homed here has an Active lease at the new epoch, also one that was Draining: a
//     confirmed view supersedes a lab lease move;
//  5. a record that was in doubt is in doubt no longer when its object has another home now: the
//     view's table of records is what the new home serves.
//
// A row holds two records at most: the newest that its home has answered for, and a newer one that
// has been sent to others and of which this node does not know whether it was answered for. The
// home of an object and those who hold copies of it use the row in the same way.
//
// The fence is local: nobody is asked. A fence names two epochs of different kinds: the stale
// home's is the epoch in which that home was assigned, the home's is the view's that was just
// installed.
//
// The table holds at most ObjectsMax objects in a fixed order; it sends nothing and knows no clock.
package route

import (
	"bytes"
	"slices"

	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/mesh/lease"
	"holdfast/mesh/record"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
)

// Lease is the state of a home lease at this node.
type Lease uint8

// The lease states.
const (
	NoLease  Lease = iota
	Active         // this node is the home
	Draining       // it hands the object over and takes no more commits
)

func (l Lease) String() string { return [...]string{"none", "active", "draining"}[l] }

// Object is one row.
type Object struct {
	ID   id.Object
	Name string

	Home      id.Node  // by the current view
	HomeEpoch id.Epoch // of the assignment

	Route      id.Node // where requests are sent: Home, until a MOVED teaches better
	RouteEpoch id.Epoch

	Lease      Lease
	LeaseEpoch id.Epoch // of the assignment under which the lease is held
	Since      id.Epoch // this node has been the home without a gap since then

	Fenced id.Epoch // the view that last fenced this object's route, 0 for none

	// Who may be home, for those who hold copies.
	HomeSince   id.Epoch // Home has been the home without a gap, in one incarnation, since then
	Incarnation id.Epoch // Home's
	MovedTo     id.Node  // a lab move gave it to this node, zero for none

	Record   record.Record // the newest one that is known to be published
	Staged   record.Record // a newer one in doubt, zero for none
	StagedAt lease.Clocks  // when that came, or a little earlier
	Local    bool          // Record was never sent to anybody

	// The authority's.
	Held   []Holding    // who is known to hold what
	Owed   when.Instant // since when all others are to hold Staged, 0 for no such time
	Former id.Boot      // of the live node that was the holder in the view before, 0 for none
	Handed id.Boot      // of the former holder that handed Newest over, 0 for none
}

// Holding says that a boot holds the record of this digest.
type Holding struct {
	Boot   id.Boot
	Digest id.Digest
}

// Newest is the newest record here, published or not.
func (o *Object) Newest() *record.Record {
	if !o.Staged.IsZero() {
		return &o.Staged
	}
	return &o.Record
}

// Publish ends the doubt about the staged record.
func (o *Object) Publish() {
	if !o.Staged.IsZero() {
		o.Replace(&o.Staged)
	}
}

// Replace makes r the one record of the row, published. Whoever had to hold it has said so, or has
// left: that is not taken back when a member asks for everything once more, or a question of its is
// late.
func (o *Object) Replace(r *record.Record) {
	o.Record = *r // before it is cleared, if it is the staged one
	o.Staged, o.StagedAt, o.Local, o.Owed = record.Record{}, lease.Clocks{}, false, 0
}

// Hold notes that a boot holds the record of this digest.
func (o *Object) Hold(b id.Boot, d id.Digest) {
	for i := range o.Held {
		if o.Held[i].Boot == b {
			o.Held[i].Digest = d
			return
		}
	}
	o.Held = append(o.Held, Holding{b, d})
}

// Holds reports whether a boot is known to hold the newest record.
func (o *Object) Holds(b id.Boot) bool {
	return slices.Contains(o.Held, Holding{b, o.Newest().Digest})
}

// Forget forgets what those boots hold.
func (o *Object) Forget(gone func(id.Boot) bool) {
	o.Held = slices.DeleteFunc(o.Held, func(h Holding) bool { return gone(h.Boot) })
}

// Fence says that a route or a lease ended with the view just installed.
type Fence struct {
	Object         id.Object
	StaleHome      id.Node
	StaleHomeEpoch id.Epoch
	Home           id.Node
	HomeEpoch      id.Epoch
	Lease          bool // a dropped lease, not a cached route
}

// Reason is the word of the evidence row.
func (f *Fence) Reason() string {
	if f.Lease {
		return "lease-left-view"
	}
	return "left-view"
}

// Table holds the objects in the order of their names' creation.
type Table struct {
	objects []Object
	fixed   int // the first ones were there from the start, and stay
	epoch   id.Epoch
}

// New returns a table of these objects, without homes until a view is installed.
func New(names []string) *Table {
	t := &Table{objects: make([]Object, len(names)), fixed: len(names)}
	for i, name := range names {
		t.objects[i] = Object{ID: id.ObjectOf(name), Name: name}
	}
	return t
}

// All returns the rows, to be read or changed in place.
func (t *Table) All() []Object { return t.objects }

// Fixed returns the rows that were there from the start.
func (t *Table) Fixed() []Object { return t.objects[:t.fixed] }

// Find returns the row of o, nil when it is not known. It is asked a dozen times for a commit: one
// byte tells nearly all rows apart, and comparing the other 31 is a call.
func (t *Table) Find(o id.Object) *Object {
	for i := range t.objects {
		if row := &t.objects[i]; row.ID[0] == o[0] && row.ID == o {
			return row
		}
	}
	return nil
}

// Install makes the table that of v as self sees it and returns the fences, in table order: routes
// first, then leases. A view that is not newer changes nothing.
func (t *Table) Install(v *view.View, self id.Node) []Fence {
	if v.Epoch <= t.epoch {
		return nil
	}
	t.epoch = v.Epoch
	members := v.IDs()
	me, _ := v.Find(self)
	admitted := me.Incarnation == v.Epoch
	var routes, leases []Fence
	for i := range t.objects {
		o := &t.objects[i]
		fence := Fence{Object: o.ID, Home: home.Of(o.ID, members), HomeEpoch: v.Epoch}
		if !o.Route.IsZero() && !v.Has(o.Route) {
			fence.StaleHome, fence.StaleHomeEpoch = o.Route, o.RouteEpoch
			routes = append(routes, fence)
			o.Fenced = v.Epoch
		}
		if o.Lease != NoLease && fence.Home != self {
			fence.StaleHome, fence.StaleHomeEpoch, fence.Lease = self, o.LeaseEpoch, true
			leases = append(leases, fence)
		}
		if admitted {
			o.leave()
		}
		home, _ := v.Find(fence.Home)
		o.assign(home, v.Epoch, self)
	}
	return append(routes, leases...)
}

// leave ends what this node was for the object: whoever has been admitted anew was no member
// before, and others may have been the home since.
func (o *Object) leave() { o.Lease, o.LeaseEpoch, o.Since = NoLease, 0, 0 }

// assign gives the object the home that the view of that epoch computes.
func (o *Object) assign(m view.Member, epoch id.Epoch, self id.Node) {
	home := m.ID
	if home != o.Home || m.Incarnation != o.Incarnation || !o.MovedTo.IsZero() {
		o.HomeSince, o.Incarnation = epoch, m.Incarnation
		o.Publish()
	}
	o.MovedTo = id.Node{}
	o.Home, o.HomeEpoch = home, epoch
	o.Route, o.RouteEpoch = home, epoch
	switch {
	case home != self:
		o.leave()
	case o.Lease == Active:
		o.LeaseEpoch = epoch
	default:
		o.Lease, o.LeaseEpoch, o.Since = Active, epoch, epoch
	}
}

// Add makes a row for an object that is not in the table yet, without a home. A table of limit rows
// gives up one that is of no use here: not there from the start, and never committed. It
// returns nil when there is none. Rows found before are no longer valid.
func (t *Table) Add(o id.Object, name string, limit int) *Object {
	row := Object{ID: o, Name: name}
	if len(t.objects) < limit {
		t.objects = append(t.objects, row)
		return &t.objects[len(t.objects)-1]
	}
	for i := t.fixed; i < len(t.objects); i++ {
		if t.objects[i].Newest().IsZero() {
			t.objects[i] = row
			return &t.objects[i]
		}
	}
	return nil
}

// Sorted returns the indexes of the rows in the order of their objects.
func (t *Table) Sorted() []int {
	order := make([]int, len(t.objects))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return bytes.Compare(t.objects[a].ID[:], t.objects[b].ID[:])
	})
	return order
}
