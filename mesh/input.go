package mesh

import (
	"crypto/ed25519"

	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// Session names one authenticated link to a peer. The adapter that owns the links numbers them from
// 1 and never uses a number again in one boot.
type Session uint32

// Ticket names one local operation that waits for an answer. Zero names none.
type Ticket uint32

// Input is what can happen to a node: one of the types below. The instant at which it happened is
// handed to Step beside it.
type Input interface{ input() }

// Tick is the passing of time, with a fresh reading of the second clock where there is one. The
// adapter sends one at Deadline, and at the latest Timing.Tick after the last step.
type Tick struct{ Second when.Calendar }

// LinkUp says that a session is open: the peer has proved that it holds Key, and Key is one that
// this node may talk to (the authority's at a member, an allowed one at the authority).
type LinkUp struct {
	Session Session
	Key     ed25519.PublicKey
}

// LinkDown says that a session is over, whoever ended it.
type LinkDown struct{ Session Session }

// Frame is one whole frame that arrived on a session, without its length prefix. The node does not
// keep Data after the step, unless it copies it.
type Frame struct {
	Session Session
	Data    []byte
}

// Drained answers Drain: every frame that had arrived on the session when Drain was carried out has
// been handed in before this (rule L12).
type Drained struct{ Session Session }

// Rechecked answers Recheck. The instant of its step is a reading of the clock made after the
// operation was staged, and so is Second of the second clock (rules L4, L6).
type Rechecked struct {
	Ticket Ticket
	Second when.Calendar // read after Recheck was carried out
}

// LabStep asks for a lab step (spec/system.md section 7). Capability is its encoded capability; the
// answer is an Answer with the same Ticket, in this step or a later one.
type LabStep struct {
	Ticket     Ticket
	Number     int
	Capability []byte
}

// Request asks for an operation on an object, by name, for a client that has come to this node. The
// answer is an Answer with the same Ticket and a Reply.
type Request struct {
	Ticket     Ticket
	Name       string
	Op         wire.Op
	Class      wire.Class
	Durability wire.Durability // of a commit
	IfVersion  uint64          // of a commit; wire.AnyVersion for any
	Copies     uint8           // of a commit: refused when the view has fewer members
	Value      []byte          // of a commit, at most wire.ValueMax bytes
	Within     when.Span       // for how long the client waits, 0 for as long as is usual
	Capability [capability.Size]byte
	Verified   bool // the adapter has found the capability's signature to be the authority's

	// Identity is the client's own name of the request, the same in retries; zero: the node names it.
	// FirstEpoch is the epoch in which the client first sent it; 0: the current one.
	Identity   wire.Request
	FirstEpoch id.Epoch
}

// Persisted answers Persist: the marks are in both slots and were read back, or Err says why not.
type Persisted struct{ Err PersistError }

// StartEmpty is the operator's word to an authority without a view, which waits for a proof of what
// there was: once its quarantine is over it starts, with the newest state that is proved, or that
// everybody shows, or with nothing. The answer comes in this step.
type StartEmpty struct{ Ticket Ticket }

// PersistError is how making marks durable can fail.
type PersistError uint8

// The results of Persist.
const (
	PersistOK     PersistError = iota
	PersistFailed              // the chip does not take them
	PersistHigher              // it holds higher ones than this node knows of: somebody else writes
)

func (Persisted) input()  {}
func (StartEmpty) input() {}
func (Tick) input()       {}
func (LinkUp) input()     {}
func (LinkDown) input()   {}
func (Frame) input()      {}
func (Drained) input()    {}
func (Rechecked) input()  {}
func (LabStep) input()    {}
func (Request) input()    {}

// Status is what a node says of itself (GET /mesh).
type Status struct {
	Node    id.Node
	Role    Role
	State   State
	Epoch   id.Epoch
	Digest  id.Digest // of the view; zero while there is none
	Mutable bool
	Members []MemberStatus // sorted by id
}

// MemberStatus is one member as this node sees it. AgeMS is the time since its last accepted frame,
// zero for the node itself.
type MemberStatus struct {
	ID          id.Node
	Health      string // alive, suspect or failed
	AgeMS       int64
	Incarnation id.Epoch
}

// HomeStatus is one object as this node sees it (GET /mesh/homes).
type HomeStatus struct {
	Object    id.Object
	Name      string
	Home      id.Node
	HomeEpoch id.Epoch
	Lease     string // active, draining or none
	ReadMS    int64  // left of the read lease here, 0 without one
	WriteMS   int64  // left of the write lease here, 0 without one
	Version   uint64 // of the published record here
	Copies    int    // that hold it, at its home; 0 elsewhere
}
