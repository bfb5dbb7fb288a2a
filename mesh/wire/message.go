package wire

import (
	"crypto/ed25519"

	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
)

// Kind is a frame's kind: its first byte. Numbers are never reused.
type Kind uint8

// The kinds. Those from Record on belong to later protocol steps; until they exist a frame of such
// a kind is malformed.
const (
	KindPing Kind = iota + 1
	KindPong
	KindLeaseReq
	KindLeaseAck
	KindJoinReq
	KindChallenge
	KindJoin
	KindJoinState
	KindJoinReady
	KindConfirm
	KindRefuse
	KindView
	KindViewAck
	KindViewReq
	KindStaleEpoch
	KindRouteReq
	KindRouteRep
	KindMove
	KindMoveAck
	KindRecord
	KindRecordAck
	KindRecordRefuse
	KindForward
)

// Message is the body of a frame: one of the types below, by pointer.
type Message interface {
	Kind() Kind
	fields(*codec)
}

// Ping asks for a Pong; it keeps a session alive that carries no lease traffic.
type Ping struct{ Nonce id.Nonce }

// Pong answers a Ping at once, with its nonce.
type Pong struct{ Nonce id.Nonce }

// LeaseReq asks the authority to let the sender go on committing. All fields must match what the
// authority holds; the frame's epoch is the sender's (protocol.md, "Lease").
type LeaseReq struct {
	Node          id.Node
	Incarnation   id.Epoch
	Boot          id.Boot
	Digest        id.Digest
	AuthorityBoot id.Boot
	Nonce         id.Nonce
	Echo          id.Nonce // of the newest LeaseAck that has arrived, 0 for none in this view
}

// LeaseAck answers a LeaseReq; the lease counts from when the request with this nonce was sent.
type LeaseAck struct {
	Incarnation   id.Epoch
	Digest        id.Digest
	AuthorityBoot id.Boot
	Nonce         id.Nonce
	Moved         id.Epoch // the newest lab move to this node that every member knows, 0 for none
}

// JoinReq is the hello of a node that wants to join: it names the sender's boot.
type JoinReq struct{ Boot id.Boot }

// Challenge answers a JoinReq. The Join must carry the nonce back, signed.
type Challenge struct {
	Nonce         id.Nonce
	AuthorityBoot id.Boot
}

// Join is the signed request to be admitted. Certificate is the newest one the joiner has seen, or
// empty. The signature is the joiner's own, over SignedJoin.
type Join struct {
	Challenge     id.Nonce // of the Challenge answered
	AuthorityBoot id.Boot
	Nonce         id.Nonce // the joiner's own, echoed in the answer
	Boot          id.Boot
	Timing        timing.Timing
	Certificate   []byte
	Signature     [ed25519.SignatureSize]byte
}

// JoinState tells an accepted joiner, now a learner, how many records it must hold before it can be
// admitted, and their digest. Without replication there are none.
type JoinState struct {
	Nonce   id.Nonce // the Join's
	Records uint16
	Digest  id.Digest
}

// JoinReady says that the learner holds what JoinState named.
type JoinReady struct{ Nonce id.Nonce }

// Confirm admits the joiner: the certificate of the view that contains it.
type Confirm struct {
	Nonce       id.Nonce // the Join's
	Certificate []byte
}

// Refuse answers a JoinReq or a Join with a word; asking again makes sense after RetryMS, or, when
// that is zero, only after something changed.
type Refuse struct {
	Nonce   id.Nonce // the Join's, zero for a JoinReq
	Word    refusal.Word
	RetryMS uint32
}

// View is the certificate of a new view, sent to every member until it acknowledges.
type View struct{ Certificate []byte }

// ViewAck says that the sender has installed the view of this epoch and digest.
type ViewAck struct {
	Epoch  id.Epoch
	Digest id.Digest
}

// ViewReq asks for the current view: the sender has seen an epoch above its own.
type ViewReq struct{}

// StaleEpoch tells one boot of a node that it is not in the current view. The authority signs it
// over SignedStale, so that nobody else can take a node's leases away.
type StaleEpoch struct {
	Current       id.Epoch
	AuthorityBoot id.Boot
	Node          id.Node
	Boot          id.Boot
	Signature     [ed25519.SignatureSize]byte
}

// WindowMax bounds an encoded window of remembered requests, in bytes.
const WindowMax = 1024

// Move is a step of a lab move: the authority has taken an object from one node and gives it to
// another, within one membership epoch (ADR-0008 section 3; spec/protocol.md, "Lab move"). It goes
// to every member, with the object's record to the one that gets it. The authority signs what
// SignedMove returns.
type Move struct {
	Object    id.Object
	From, To  id.Node
	Epoch     id.Epoch // the membership epoch: in any other the move is refused
	MoveEpoch id.Epoch // of the assignment, above every earlier one of this membership epoch
	Signature [ed25519.SignatureSize]byte

	// The record, for To: zero values for everybody else and for an object never committed.
	Since       id.Epoch // the home has been known without a gap since then
	RecordEpoch id.Epoch
	Version     uint64
	Value       []byte
	Window      []byte // remembered requests, as package replay encodes them
}

// MoveAck says that the sender knows of the move; with Active, that it is the object's home now.
type MoveAck struct {
	Object    id.Object
	MoveEpoch id.Epoch
	Active    bool
}

// Op is an operation on an object.
type Op uint8

// The operations.
const (
	Stat   Op = iota + 1 // read version and value
	Commit               // write, with an optional expected version
)

// Class is how a read may be answered.
type Class uint8

// The classes of reads.
const (
	Lease         Class = iota + 1 // under an unexpired read lease: the ADR's
	Authoritative                  // by the home under a fresh write lease
	StaleOK                        // any copy, with its age
)

// Durability is what a commit's answer promises.
type Durability uint8

// The durabilities.
const (
	None       Durability = iota // a read
	Local                        // the home has it; an unplanned failover may lose it
	Replicated                   // every member of the view has it
)

// Request identifies an operation across retries (rule L11).
type Request struct {
	Client id.Client
	Boot   id.Boot // the client's
	Seq    uint64  // from 1, ascending within a client's boot
}

// AnyVersion as IfVersion commits whatever the current version is.
const AnyVersion = ^uint64(0)

// ValueMax bounds an object's value, in bytes.
const ValueMax = 1024

// RouteReq carries an operation to the object's home. The frame's epoch is the sender's.
type RouteReq struct {
	Request    Request
	FirstEpoch id.Epoch // when the client first sent this request; unchanged in retries
	Object     id.Object
	Op         Op
	Class      Class
	Durability Durability
	IfVersion  uint64
	Value      []byte
	Capability [capability.Size]byte
}

// RouteRep answers a RouteReq. Home and HomeEpoch are the answering node's own idea; with the word
// Moved they name where the object went.
type RouteRep struct {
	Request    Request
	Word       refusal.Word
	Home       id.Node
	HomeEpoch  id.Epoch
	Version    uint64
	Class      Class
	Durability Durability
	Copies     uint8
	Value      []byte
}

func (*Ping) Kind() Kind       { return KindPing }
func (*Pong) Kind() Kind       { return KindPong }
func (*LeaseReq) Kind() Kind   { return KindLeaseReq }
func (*LeaseAck) Kind() Kind   { return KindLeaseAck }
func (*JoinReq) Kind() Kind    { return KindJoinReq }
func (*Challenge) Kind() Kind  { return KindChallenge }
func (*Join) Kind() Kind       { return KindJoin }
func (*JoinState) Kind() Kind  { return KindJoinState }
func (*JoinReady) Kind() Kind  { return KindJoinReady }
func (*Confirm) Kind() Kind    { return KindConfirm }
func (*Refuse) Kind() Kind     { return KindRefuse }
func (*View) Kind() Kind       { return KindView }
func (*ViewAck) Kind() Kind    { return KindViewAck }
func (*ViewReq) Kind() Kind    { return KindViewReq }
func (*StaleEpoch) Kind() Kind { return KindStaleEpoch }
func (*Move) Kind() Kind       { return KindMove }
func (*MoveAck) Kind() Kind    { return KindMoveAck }
func (*RouteReq) Kind() Kind   { return KindRouteReq }
func (*RouteRep) Kind() Kind   { return KindRouteRep }
