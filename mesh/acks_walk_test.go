package mesh_test

import (
	"fmt"
	"slices"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// Walks of nodes without leases. What two nodes may do at one instant is no question there: a
// member may do nothing by itself. What counts is what clients are told. All commits of an object
// that were answered with ok must have one order, that of their versions, in which each lies
// between its question and its answer; and a copy at the authority whose age is 0 has every one of
// them that was answered before it was asked for.

// told is a commit, or a read of a copy, that was answered with ok.
type told struct {
	object         int
	read           bool
	version        uint64
	value          string
	asked, at      when.Instant
	node, question string
}

func (a told) String() string {
	return fmt.Sprintf("%s through %s, asked %s, answered %s with version %d of %q", a.question,
		a.node, stamp(a.asked), stamp(a.at), a.version, a.value)
}

// clients asks nodes and remembers what it is told.
type clients struct {
	k       *walk
	pending map[*machine]map[mesh.Ticket]told
	told    []told
	tickets mesh.Ticket
}

// newAckedWalk is a walk of nodes without leases, whose clients remember.
func newAckedWalk(t testing.TB, seed uint64, log bool) (*walk, *clients) {
	k := newWalk(t, seed, log)
	c := &clients{k: k, pending: map[*machine]map[mesh.Ticket]told{}, tickets: 1_000}
	times := timing.OneSecond
	if k.one(2) {
		times = timing.Default
		times.AcksAll = true
	}
	for _, m := range k.w.nodes {
		m.config.Timing, m.config.Lab = times, false
	}
	k.kinds = slices.Concat(k.kinds, slices.Repeat([]func(*walk){c.commit, c.commit, c.read}, 4))
	judged := k.w.stepped
	k.w.stepped = func(m *machine, in mesh.Input) {
		if in == nil {
			delete(c.pending, m) // nobody answers for a boot that is gone
		}
		judged(m, in)
		c.hear(m)
	}
	return k, c
}

// commit asks a node for a replicated commit of an object.
func (c *clients) commit(*walk) { c.ask(wire.Commit) }

// read asks the authority for its copy.
func (c *clients) read(*walk) { c.ask(wire.Stat) }

func (c *clients) ask(op wire.Op) {
	k := c.k
	m := k.any()
	if op == wire.Stat {
		m = k.w.nodes[0]
	}
	if !m.running() || m == k.twin {
		return
	}
	i := k.r.IntN(3) // few objects, so that their homes change under them
	c.tickets++
	q := mesh.Request{Ticket: c.tickets, Name: objectNames[i], Op: op, Class: wire.StaleOK,
		Durability: wire.None, IfVersion: wire.AnyVersion, Within: 4_000}
	if op == wire.Commit {
		q.Class, q.Durability = wire.Lease, wire.Replicated
		q.Value = fmt.Appendf(nil, "%d", c.tickets)
	}
	epoch := max(1, m.node.Epoch())
	q.Capability = [capability.Size]byte(k.w.mint(m, objects[i], epoch))
	q.Identity = wire.Request{Client: id.Client{9}, Boot: 1, Seq: uint64(c.tickets)}
	if c.pending[m] == nil {
		c.pending[m] = map[mesh.Ticket]told{}
	}
	c.pending[m][q.Ticket] = told{object: i, read: op == wire.Stat, value: string(q.Value),
		asked: k.w.now, node: m.name, question: fmt.Sprintf("%v #%d", op, q.Ticket)}
	k.j.asked[m][q.Ticket] = m.node.Now()
	k.w.step(m, q)
}

// hear takes the answers that a step has brought.
func (c *clients) hear(m *machine) {
	for _, e := range m.effects.List {
		a, ok := e.(mesh.Answer)
		if !ok {
			continue
		}
		t, ok := c.pending[m][a.Ticket]
		if !ok {
			continue
		}
		delete(c.pending[m], a.Ticket)
		t.at, t.version = c.k.w.now, a.Reply.Version
		if a.Reply.Word != refusal.OK || t.read && a.Reply.AgeMS > 0 {
			continue
		}
		if t.read {
			t.value = string(a.Reply.Value)
		}
		c.judge(t)
		c.told = append(c.told, t)
	}
}

// judge compares an answer with all before it.
func (c *clients) judge(t told) {
	for _, o := range c.told {
		switch {
		case o.object != t.object:
		case o.version == t.version && o.value != t.value, o.version == t.version && !o.read && !t.read:
			c.k.j.violation("one version for two: %v; %v", o, t)
		case o.at < t.asked && !o.read && t.version < o.version,
			o.at < t.asked && !o.read && !t.read && t.version == o.version,
			o.at < t.asked && o.read && !t.read && t.version <= o.version,
			o.at < t.asked && o.read && t.read && t.version < o.version:
			c.k.j.violation("what was answered is forgotten: %v; then %v", o, t)
		}
	}
}

// TestWalksWithoutLeasesHaveOneOrder lives through random histories of nodes without leases.
func TestWalksWithoutLeasesHaveOneOrder(t *testing.T) {
	commits, reads, rehomed := 0, 0, 0
	for seed := range uint64(*walkRuns) {
		if *walkSeed != 0 && seed+1 != *walkSeed {
			continue
		}
		k, c := newAckedWalk(t, seed+1, *walkSeed != 0)
		k.run()
		if k.j.wrong == "" {
			k.calm()
		}
		if k.j.wrong == "" {
			if why := k.converged(); why != "" {
				k.j.violation("the mesh is not whole: %s", why)
			}
		}
		if *walkSeed != 0 {
			t.Log(k.w.log.String())
		}
		if k.j.wrong != "" {
			t.Errorf("-walk.seed=%d: %s", seed+1, k.j.wrong)
			return
		}
		for _, a := range c.told {
			if a.read {
				reads++
				continue
			}
			commits++
		}
		rehomed += int(k.w.nodes[0].node.Epoch())
	}
	if *walkSeed == 0 && (commits < 4**walkRuns || reads < 4**walkRuns || rehomed < 3**walkRuns) {
		t.Errorf("%d commits, %d reads, %d epochs in %d walks: they prove little", commits, reads,
			rehomed, *walkRuns)
	}
}
