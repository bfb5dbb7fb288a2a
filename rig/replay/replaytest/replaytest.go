// Package replaytest makes tapes for tests: of an authority and a member that run in the test's
// own memory, in a time that is counted up. It owns that small world. It must never be used by
// anything but tests: its network loses nothing, and its links open by themselves.
package replaytest

import (
	"crypto/ed25519"

	"holdfast/kernel/node/tape"
	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// Pair is the tapes of two nodes that joined and worked together.
type Pair struct {
	Tapes [2][]byte // the authority's, the member's
	Rows  [2][]evidence.Line
}

// Boot names the boot of the i-th node.
func Boot(i int) id.Boot { return id.Boot(0x1001 + i) }

// Rewrite is a tape with other steps: change is called for each, counted from 1, and says whether
// it stays.
func Rewrite(from []byte, change func(number int, s *tape.Step) bool) []byte {
	r, head, err := tape.Open(from)
	if err != nil {
		panic("replaytest: " + err.Error())
	}
	var w tape.Writer
	to := w.Head(head)
	for number := 1; ; number++ {
		s, err := r.Next()
		if err != nil {
			return to // the end: a tape of Make is whole
		}
		if change(number, &s) {
			to = append(to, w.Step(s)...)
		}
	}
}

// The pair's session, and how long a frame is under way.
const (
	session mesh.Session = 1
	latency when.Span    = 2
)

// node is one of the two.
type node struct {
	mesh  *mesh.Node
	tape  tape.Writer
	bytes []byte
	rows  []evidence.Line
	in    []arriving // what is on the way to it, by time
}

type arriving struct {
	at   when.Instant
	data []byte
}

// world is the two with their common clock.
type world struct {
	now   when.Instant
	nodes [2]*node
}

// Make runs a pair for so long. One request a second goes to each: a read of one of the lab's
// objects, with a capability that is no good, so that answers and refusals are on the tape.
func Make(keys [2]ed25519.PrivateKey, length when.Span) Pair {
	w := &world{now: 40}
	root := keys[0].Public().(ed25519.PublicKey)
	for i, key := range keys {
		c := mesh.Config{Role: mesh.Member, Key: key, Root: root, Boot: Boot(i), Epoch: 1,
			Seed: [32]byte{byte(i + 1)}, Timing: timing.Default, Both: true, Detect: true, Route: true,
			Lab: true, LabObject: []string{id.LabName(0), id.LabName(1)}}
		if i == 0 {
			c.Role = mesh.Authority
			c.Allow = []id.Node{id.NodeOf(keys[1].Public().(ed25519.PublicKey))}
		}
		w.boot(i, c)
	}
	for i := range w.nodes {
		w.step(i, mesh.LinkUp{Session: session,
			Key: keys[1-i].Public().(ed25519.PublicKey)})
	}
	for end := w.now.Add(length); w.now < end; w.now++ {
		for i, n := range w.nodes {
			for len(n.in) > 0 && n.in[0].at <= w.now {
				data := n.in[0].data
				n.in = n.in[1:]
				w.step(i, mesh.Frame{Session: session, Data: data[wire.PrefixSize:]})
			}
			if n.mesh.Deadline() <= w.now {
				w.step(i, mesh.Tick{Second: w.second()})
			}
			if w.now%1000 == 500 {
				w.step(i, mesh.Request{Ticket: mesh.Ticket(w.now), Name: id.LabName(i), Op: wire.Stat,
					Class: wire.Authoritative, IfVersion: wire.AnyVersion})
			}
		}
	}
	return Pair{Tapes: [2][]byte{w.nodes[0].bytes, w.nodes[1].bytes},
		Rows: [2][]evidence.Line{w.nodes[0].rows, w.nodes[1].rows}}
}

func (w *world) second() when.Calendar { return when.Calendar(1000 + w.now/1000) }

func (w *world) boot(i int, c mesh.Config) {
	var out mesh.Effects
	m, err := mesh.New(w.now, c, &out)
	if err != nil {
		panic("replaytest: " + err.Error())
	}
	n := &node{mesh: m}
	w.nodes[i] = n
	n.bytes = n.tape.Head(tape.Head{Build: "replaytest", Key: c.Key.Public().(ed25519.PublicKey),
		Now: w.now, Config: c, Effects: out.List})
	w.carryOut(i, out.List)
}

// step hands an input to a node, as the loop of a real one does.
func (w *world) step(i int, in mesh.Input) {
	n := w.nodes[i]
	var out mesh.Effects
	n.mesh.Step(w.now, in, &out)
	n.bytes = append(n.bytes,
		n.tape.Step(tape.Step{Now: w.now, Input: in, Effects: out.List})...)
	w.carryOut(i, out.List)
}

// carryOut carries a step's effects out. What they ask for at once comes when all of them are.
func (w *world) carryOut(i int, effects []mesh.Effect) {
	var next []mesh.Input
	for _, e := range effects {
		switch e := e.(type) {
		case mesh.Send:
			to := w.nodes[1-i]
			to.in = append(to.in, arriving{w.now.Add(latency), e.Data})
		case mesh.Print:
			w.nodes[i].rows = append(w.nodes[i].rows, e.Line)
		case mesh.Drain:
			next = append(next, mesh.Drained{Session: e.Session})
		case mesh.Recheck:
			next = append(next, mesh.Rechecked{Ticket: e.Ticket, Second: w.second()})
		}
	}
	for _, in := range next {
		w.step(i, in)
	}
}
