package mesh

import "slices"

// Clone returns a node that has the same past and, from here on, a future of its own: a search goes
// on from one state in every direction. What no step changes in place is shared: keys,
// certificates, values, the configuration.
func (n *Node) Clone() *Node {
	c := *n
	c.out = nil // each step names its own
	c.sessions = slices.Clone(n.sessions)
	c.members = n.members.Clone()
	c.objects = n.objects.Clone()
	c.ops = slices.Clone(n.ops)
	for i := range c.ops {
		c.ops[i].rows = slices.Clone(c.ops[i].rows)
	}
	for i := range c.sessions {
		s := &c.sessions[i]
		s.proofs, s.proved = slices.Clone(s.proofs), slices.Clone(s.proved)
	}
	c.commits = slices.Clone(n.commits)
	for i := range c.commits {
		c.commits[i].acked = slices.Clone(c.commits[i].acked)
	}
	c.queue = slices.Clone(n.queue)
	c.unsaid = slices.Clone(n.unsaid)
	c.verified = slices.Clone(n.verified)
	a := &c.authority
	a.damped = slices.Clone(a.damped)
	a.change.members = slices.Clone(a.change.members)
	a.change.joiners = slices.Clone(a.change.joiners)
	a.move.acked = slices.Clone(a.move.acked)
	a.moved = slices.Clone(a.moved)
	return &c
}
