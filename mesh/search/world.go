package search

import (
	"slices"

	"holdfast/mesh"
	"holdfast/mesh/when"
)

// world is one state of everything: machines, what is on its way between them, and what may still
// go wrong. It is a value; an action copies it.
type world struct {
	t        when.Span // true time since the search began
	machines [machinesMax]machine
	links    []link // in the order in which they were opened; never changed in place
	next     mesh.Session
	left     budget
	writes   writes
	begins   bool // nothing but faults has happened in this second
}

// machine is a node's hardware.
type machine struct {
	node *state // nil when off
	base when.Span
	mode mode

	boots    uint8
	ticked   bool // in this second
	dialling bool
	writing  bool         // marks are on their way into the NVRAM
	staged   mesh.Ticket  // a Recheck to be answered first when the machine runs again
	heard    when.Instant // when the latest frame arrived, for the lease of the ADR; 0 for never
	marks    mesh.Marks   // the authority's NVRAM
	write    mesh.Marks
}

// mode is what a machine does.
type mode uint8

const (
	off mode = iota
	running
	stopped // takes no steps; its counter goes on, as after SIGSTOP
	frozen  // takes no steps; its counter stands still, as after a monitor's stop
)

// link is one session between the authority and another machine.
type link struct {
	id    mesh.Session
	peer  uint8 // the machine at the other end
	drain bool  // the authority waits for the barrier behind its reader
	ends  [2]end
}

// The ends of a link.
const (
	atRoot = iota
	atPeer
)

// end is one machine's end of a link, with what is on its way to it.
type end struct {
	open  bool
	does  passage
	queue []*frame // never changed in place
}

// passage is what the network does with the frames to an end.
type passage uint8

const (
	pass passage = iota // they arrive within the second
	hold                // they wait until that changes
	lose                // they are lost
)

// budget is what may still go wrong, or be asked for.
type budget struct{ events, changes, resets, losses, moves, boots, writes uint8 }

// writes are the replicated commits of a world, all of one object.
type writes struct {
	object uint8
	asked  uint8
	acked  uint8 // bit i: the i-th was answered as replicated
}

// bootCounter is what a counter shows when its machine boots: not zero, which may mean never.
const bootCounter = 1_000

// counter is a machine's own clock.
func (w *world) counter(m int) when.Instant { return when.Instant(w.t - w.machines[m].base) }

// machineAt is the machine at an end of a link.
func (l *link) machineAt(e int) int {
	if e == atRoot {
		return root
	}
	return int(l.peer)
}

// endOf is the end at which a machine has its sessions.
func endOf(m int) int {
	if m == root {
		return atRoot
	}
	return atPeer
}

// find is the place of a session among the links, -1 when neither end has it any more.
func (w *world) find(s mesh.Session) int {
	return slices.IndexFunc(w.links, func(l link) bool { return l.id == s })
}

// sweep forgets the links that neither end has any more.
func (w *world) sweep() {
	w.links = slices.DeleteFunc(w.links, func(l link) bool {
		return !l.ends[atRoot].open && !l.ends[atPeer].open
	})
}

// opens counts the sessions that a machine has with the authority, as it sees it.
func (w *world) opens(m int) (n int) {
	for i := range w.links {
		if l := &w.links[i]; int(l.peer) == m && l.ends[atPeer].open {
			n++
		}
	}
	return n
}

// post puts a frame on its way.
func (e *end) post(f *frame) {
	if e.open && e.does != lose {
		e.queue = append(e.queue[:len(e.queue):len(e.queue)], f)
	}
}
