package sim

import (
	"encoding/binary"

	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
)

// client is somebody who uses the mesh through any node: one request after the other, each of them
// repeated under the same identity, elsewhere perhaps, when the outcome is not known.
type client struct {
	w      *world
	id     id.Client
	boot   id.Boot
	index  int
	at     Time // of the next thing to do
	ticket mesh.Ticket
	node   *machine // that has been asked

	q       mesh.Request
	object  int
	tries   int
	busy    bool // a request is under way
	waits   bool // for the answer to its latest try
	vague   bool // nobody knows what became of one of its tries
	asked   Time // when it was sent first
	highest uint64
	lease   id.Epoch // highest is of this home epoch
	home    id.Node
	lost    int
	done    []uint64 // by sequence number, the version that it made; 0: none
	alone   []bool   // likewise, nobody but its home held it then

	floor   durable // what had been acknowledged when the request was asked first
	emptied int64
	forgot  int64
}

const (
	clientPatience = 18 * Second // longer than a node takes, if it lives
	triesMax       = 3
	valueSize      = 2 + 8 // what a client commits: who it is, and which request this was
)

func newClient(w *world, i int) *client {
	c := &client{w: w, index: i, boot: id.Boot(w.random.next() | 1), done: []uint64{0},
		alone: []bool{false}}
	c.id[0] = byte(i + 1)
	return c
}

// act begins a request, or repeats one that has not been answered.
func (c *client) act() {
	c.vague = c.vague || c.waits
	if c.busy && c.tries < triesMax {
		c.try()
		return
	}
	if c.busy {
		c.w.judge.answered(c, nil)
	}
	c.next()
	c.try()
}

// next makes up a request.
func (c *client) next() {
	w := c.w
	c.busy, c.tries, c.object = true, 0, w.random.below(len(objectNames))
	c.vague, c.waits = false, false
	c.done, c.alone = append(c.done, 0), append(c.alone, false)
	seq := uint64(len(c.done) - 1)
	c.q = mesh.Request{Name: objectNames[c.object], Op: wire.Commit, Class: wire.Lease,
		Durability: wire.Replicated, IfVersion: wire.AnyVersion,
		Identity: wire.Request{Client: c.id, Boot: c.boot, Seq: seq}}
	c.q.Value = binary.BigEndian.AppendUint16(nil, uint16(c.index))
	c.q.Value = binary.BigEndian.AppendUint64(c.q.Value, seq)
	if c.judged() {
		if w.random.one(3) {
			c.q.Op, c.q.Class = wire.Stat, wire.Authoritative
		}
		return
	}
	switch w.random.below(8) {
	case 0, 1:
		c.q.Op, c.q.Class = wire.Stat, wire.Authoritative
	case 2:
		c.q.Op = wire.Stat
	case 3:
		c.q.IfVersion = uint64(w.random.below(5))
	case 4:
		c.q.Durability = wire.Local
	case 5:
		if w.random.one(2) {
			c.q.Op, c.q.Class = wire.Stat, wire.StaleOK
		}
	}
}

// try sends the request to some node that runs.
func (c *client) try() {
	w := c.w
	c.at = w.now + clientPatience
	m := w.machines[w.random.below(len(w.machines))]
	if !m.runs() {
		c.at = w.now + w.random.upTo(w.plan.think)
		return
	}
	epoch := max(1, m.look.Epoch())
	if c.tries == 0 {
		c.q.FirstEpoch = epoch
		c.highest, c.home, c.lease = w.judge.acknowledged(c.object)
		c.lost = w.judge.objects[c.object].lost
		c.floor, c.emptied = w.judge.objects[c.object].durable, w.judge.emptied
		c.forgot = w.judge.forgot
		c.asked = w.now
	}
	c.tries++
	c.waits = true
	c.q.Capability = w.mint(m, c.object, epoch)
	m.tickets++
	c.node, c.ticket = m, m.tickets
	c.q.Ticket = c.ticket
	m.ask(c.ticket, c, c.q)
}

// answered takes the answer to the latest try; those to earlier ones come too late.
func (c *client) answered(m *machine, a mesh.Answer) {
	w := c.w
	if !c.busy || c.tries == 0 || m != c.node || a.Ticket != c.ticket {
		return
	}
	word := a.Reply.Word
	c.waits = false
	c.vague = c.vague || word == refusal.UnknownOutcome || word == refusal.Replay
	if c.tries < triesMax && word != refusal.OK && word != refusal.Replay && !w.random.one(3) {
		c.at = w.now + w.random.upTo(w.plan.think) // once more
		return
	}
	if word == refusal.OK {
		w.judge.told(c, &a.Reply)
		w.judge.kept(c, &a.Reply)
	}
	w.judge.answered(c, &a.Reply)
	c.busy = false
	c.at = w.now + w.random.upTo(w.plan.think)
}

// minted remembers a capability: an epoch's are used many times.
type minted struct {
	epoch id.Epoch
	token [capability.Size]byte
}

// mint makes the capability for an object, held by the node that executes the operation.
func (w *world) mint(m *machine, object int, epoch id.Epoch) [capability.Size]byte {
	k := &w.tokens[m.index][object]
	if k.epoch != epoch {
		*k = minted{epoch, capability.Mint(capability.Capability{Object: objects[object],
			Holder: m.id, Epoch: epoch, Rights: capability.RightStat | capability.RightCommit,
			Serial: 1}, w.machines[0].key)}
	}
	return k.token
}

// operate asks a node for a lab step, as a rig does: often the authority for a move.
func (w *world) operate() {
	m := w.machines[w.random.below(len(w.machines))]
	number := 1 + w.random.below(10)
	if w.random.one(3) {
		m, number = w.machines[0], 2
	}
	if m.runs() {
		w.launch(m, number)
	}
}

// launch asks a node for a lab step.
func (w *world) launch(m *machine, number int) {
	token := w.mint(m, w.random.below(len(labNames)), max(1, m.look.Epoch()))
	m.tickets++
	m.ask(m.tickets, nil, mesh.LabStep{Ticket: m.tickets, Number: number, Capability: token[:]})
}
