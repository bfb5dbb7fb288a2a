package search

import (
	"fmt"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// Commits that clients ask for, and what is judged of them. That a home knows a commit is read off
// the window of its record: later commits stand on it, and fewer are made than a window remembers.

// firstWrite is the ticket of the first replicated commit: no other request has one so high.
const firstWrite mesh.Ticket = 100

// request is the identity of the i-th replicated commit. A client names it, so that it is the same
// whoever carries it out.
func request(i uint8) wire.Request {
	return wire.Request{Client: [16]byte{1}, Boot: 1, Seq: 1 + uint64(i)}
}

// write is what a client at machine m asks for.
func (c *cast) write(m int, o object, epoch id.Epoch, i uint8) mesh.Request {
	r := c.commit(m, o, epoch)
	r.Ticket, r.Identity, r.Durability = firstWrite+mesh.Ticket(i), request(i), wire.Replicated
	if c.Local && i == 1 {
		r.Durability = wire.Local
	}
	r.Value, r.Within = []byte{i}, c.Within
	if r.Within == 0 {
		r.Within = wire.WithinMax
	}
	return r
}

func (d *doing) replicate(m int, object uint8) {
	i := d.w.writes.asked
	d.w.left.writes--
	d.w.writes.object, d.w.writes.asked = object, i+1
	d.step(m, input{kind: inWrite, arg: object, number: i})
}

// answered takes the answer to a replicated commit.
func (d *doing) answered(m int, a *mesh.Answer) {
	if a.Reply.Word != refusal.OK || a.Reply.Durability != wire.Replicated {
		return
	}
	i := uint8(a.Ticket - firstWrite)
	d.w.writes.acked |= 1 << i
	home, o := d.w.machines[m].node, &d.c.objects[d.w.writes.object]
	for j := range d.w.machines {
		other := &d.w.machines[j]
		if other.node == nil || !home.look.Includes(d.c.ids[j], bootOf(j, other.boots)) {
			continue
		}
		if _, has := other.node.look.Remembers(o.id, request(i)); !has {
			d.wrong = fmt.Sprintf("%s answers for commit %d of %s, and %s does not hold it",
				d.c.names[m], 1+i, o.name, d.c.names[j])
		}
	}
}

// judgeWrites returns what must never be so of replicated commits, if it is: a home that does not
// know one that was answered for, two commits that made one version, or two records of one number.
func (c *cast) judgeWrites(w *world) string {
	if w.writes.asked == 0 {
		return ""
	}
	o := int(w.writes.object)
	for i := range w.machines {
		if w.writes.acked == 0 || !c.takes(w, i, o) || c.Acks && !c.current(w, i) {
			continue
		}
		for k := range w.writes.asked {
			known, _ := w.machines[i].node.look.Remembers(c.objects[o].id, request(k))
			if w.writes.acked&(1<<k) != 0 && !known {
				return fmt.Sprintf("%s may commit %s, and commit %d of it, which was answered for, is lost",
					c.names[i], c.objects[o].name, 1+k)
			}
		}
	}
	for i := range w.machines {
		if n := w.machines[i].node; n != nil {
			if v := twice(n.look, c.objects[o].id, w.writes.asked); v != 0 {
				return fmt.Sprintf("%s has two commits of %s that made version %d", c.names[i],
					c.objects[o].name, v)
			}
		}
		for j := range i {
			if a, b := w.machines[i].node, w.machines[j].node; a != nil && b != nil &&
				differ(a.look, b.look, c.objects[o].id) {
				return fmt.Sprintf("%s and %s have two records of %s with one number", c.names[j],
					c.names[i], c.objects[o].name)
			}
		}
	}
	return ""
}

// twice is the version that two of a node's commits of an object have made, 0 for none.
func twice(n mesh.Inspector, o id.Object, asked uint8) uint64 {
	for i := range asked {
		for j := range i {
			if v := n.Made(o, request(i)); v != 0 && v == n.Made(o, request(j)) {
				return v
			}
		}
	}
	return 0
}

// differ reports whether the newest records of two nodes have the same number, and are not the
// same.
func differ(a, b mesh.Inspector, o id.Object) bool {
	epoch, version, digest := a.Newest(o)
	otherEpoch, otherVersion, otherDigest := b.Newest(o)
	return epoch == otherEpoch && version == otherVersion && digest != otherDigest
}

// later is the age of an instant that comes after the end of every search.
const later = -SecondsMax * when.Second
