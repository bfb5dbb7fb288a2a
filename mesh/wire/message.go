package wire

import (
	"crypto/ed25519"

	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/view"
)

// Kind is a frame's kind: its first byte. Numbers are never reused.
type Kind uint8

// The kinds.
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
	KindPublished
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

// JoinState tells an accepted joiner, now a learner, how many records the authority holds, and
// their digest. A learner that does not hold them asks for them with a ViewReq. With Want it is the
// other way round: an authority that has been restarted asks a joiner for its records (rule L7).
type JoinState struct {
	Nonce id.Nonce // the Join's
	Table Table
	Want  bool
}

// JoinReady says that the learner holds the records, or that a joiner has sent all of its own.
// Table is what it holds.
type JoinReady struct {
	Nonce id.Nonce
	Table Table
}

// Table sums up the records of a node: how many there are, and the digest of all of them.
type Table struct {
	Records uint16
	Digest  id.Digest
}

// Confirm admits the joiner: the certificate of the view that contains it, and the records that
// whoever installs it holds.
type Confirm struct {
	Nonce       id.Nonce // the Join's
	Certificate []byte
	Table       Table
}

// Refuse answers a JoinReq or a Join with a word; asking again makes sense after RetryMS, or, when
// that is zero, only after something changed.
type Refuse struct {
	Nonce   id.Nonce // the Join's, zero for a JoinReq
	Word    refusal.Word
	RetryMS uint32
}

// KeptMax bounds the objects that a View names.
const KeptMax = 64

// View is the certificate of a new view, sent to every member until it acknowledges. A member
// installs it only when it holds the records of Table; otherwise it asks for them with a ViewReq.
// Table leaves out the objects of which the receiver stays the home: they are Kept, and their
// records are the receiver's own. Kept is sorted.
type View struct {
	Certificate []byte
	Table       Table
	Kept        []id.Object
}

// ViewAck says that the sender has installed the view of this epoch and digest.
type ViewAck struct {
	Epoch  id.Epoch
	Digest id.Digest
}

// ViewReq asks for the current view: the sender has seen an epoch above its own, or does not hold
// the records that an offered one stands for. With All, the receiver is to forget which records it
// believed the sender to hold.
type ViewReq struct{ All bool }

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
	Since         id.Epoch // the home has been known without a gap since then
	RecordEpoch   id.Epoch
	Version       uint64
	Request       Request // of the commit that made the record
	RequestDigest id.Digest
	Value         []byte
	Window        []byte // remembered requests, as package replay encodes them
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
	Copies     uint8  // of a commit: fewer are refused; 0 and 1 ask for none but the home's own
	Within     uint32 // ms that the sender will wait for the answer, from 1
	Value      []byte
	Capability [capability.Size]byte
}

// CopiesMax bounds RouteReq.Copies: a view has no more members.
const CopiesMax = view.MaxMembers

// WithinMax bounds RouteReq.Within, in milliseconds.
const WithinMax = 60_000

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
	AgeMS      uint32 // of a stale-ok read: for how long it may have been out of date
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
