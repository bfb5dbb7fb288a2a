package mesh

import (
	"holdfast/mesh/evidence"
	"holdfast/mesh/wire"
)

// Effect is what a step asks the adapter to do: one of the types below. Effects are carried out in
// the order in which the step appended them.
type Effect interface{ effect() }

// Effects collects a step's effects. Step empties it first; the adapter carries the list out before
// the next step and may then reuse it.
type Effects struct{ List []Effect }

func (e *Effects) add(x Effect) { e.List = append(e.List, x) }

// Send transmits one frame, its length prefix included, on a session. Control frames are
// transmitted before bulk ones that still wait. Sending never blocks the loop: when the session's
// queue is full the adapter closes the session and says so with LinkDown.
type Send struct {
	Session Session
	Control bool
	Data    []byte
}

// Close ends a session. Reason is the word of the `mesh-link: down` row. LinkDown follows.
type Close struct {
	Session Session
	Reason  string
}

// Dial asks a member's adapter to open one more session to the authority, because the one it has
// does not answer. An adapter that is dialling already does nothing.
type Dial struct{}

// Drain asks for a barrier behind the session's reader: Drained follows once everything that had
// arrived has been handed in. The node waits at most timing.HandlerMS for it.
type Drain struct{ Session Session }

// Recheck asks the adapter to read the clock again and to answer with Rechecked at once, before any
// other input (rule L4).
type Recheck struct{ Ticket Ticket }

// Persist asks the authority's adapter to make its marks durable: to read both slots, to write
// where they differ, to read back, and to answer with Persisted. It takes tens of milliseconds,
// during which other inputs go on. At most one is under way.
type Persist struct{ Marks Marks }

// Print is one line of evidence, complete with its at=: it goes to the console and into the ring.
type Print struct{ Line evidence.Line }

// Answer ends a LabStep, a Request or a StartEmpty. When Status is Done, Lines are the rows that it
// caused; there are none for a Request that was refused before it began.
type Answer struct {
	Ticket Ticket
	Status AnswerStatus
	Lines  []evidence.Line
	Reply  wire.RouteRep // to a Request
}

// AnswerStatus says whether an asked-for step was carried out.
type AnswerStatus uint8

// The statuses. A refusal by the mesh is Done: its row names the word.
const (
	Done        AnswerStatus = iota
	LabOff                   // mesh.lab is not set: HTTP 403
	UnknownStep              // no such step: HTTP 404
	WrongRole                // not at this node: HTTP 409
	WrongOrder               // not now, or no object fits: HTTP 409
	Unfinished               // begun, and not over in time: HTTP 504
)

func (Send) effect()    {}
func (Close) effect()   {}
func (Dial) effect()    {}
func (Drain) effect()   {}
func (Recheck) effect() {}
func (Persist) effect() {}
func (Print) effect()   {}
func (Answer) effect()  {}
