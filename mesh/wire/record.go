package wire

import (
	"bytes"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
)

// Mode is why a record is sent.
type Mode uint8

// The modes.
const (
	Replicate Mode = iota + 1 // a commit, from the object's home: to be stored and acknowledged
	State                     // a row of the authority's table, for who has asked for it
	HandOver                  // a local commit of a home that is about to lose the object
	Proof                     // what a joiner holds, for an authority that has been restarted
)

// Record carries an object's record (protocol.md, "Replicated commit"). Home and Boot are who
// sends it first: the object's home, and with State the authority. Request names the commit that
// made the record.
type Record struct {
	Mode          Mode
	Object        id.Object
	Home          id.Node
	Boot          id.Boot
	AuthorityBoot id.Boot
	Epoch         id.Epoch
	Version       uint64 // from 1
	Request       Request
	RequestDigest id.Digest
	Value         []byte
	Window        []byte // remembered requests, as package replay encodes them
}

// RecordAck says that Node holds the record with this digest. Epoch is that of the view under which
// it was stored, 0 from a node without one.
type RecordAck struct {
	Epoch         id.Epoch
	AuthorityBoot id.Boot
	Object        id.Object
	Digest        id.Digest
	Node          id.Node
	Boot          id.Boot // Node's
}

// RecordRefuse says why Node has not stored the record with this digest, and what it holds.
type RecordRefuse struct {
	Ack         RecordAck
	Word        refusal.Word
	HeldEpoch   id.Epoch
	HeldVersion uint64
}

// Forward carries a RouteReq or RouteRep between two members, through the authority: Frame is the
// whole frame without its length prefix, as From made it.
type Forward struct {
	From, To id.Node
	Frame    []byte
}

// ForwardMax bounds Forward.Frame: what fits into a frame beside the names.
const ForwardMax = FrameMax - PrefixSize - headSize - 16 - 16 - 2

// PublishedMax bounds the rows of a Published.
const PublishedMax = 64

// Published tells those who hold copies which records their home has answered for: what may be read
// as stale-ok. Rows are sorted by object.
type Published struct{ Rows []PublishedRow }

// PublishedRow is the newest published record of one object.
type PublishedRow struct {
	Object  id.Object
	Epoch   id.Epoch
	Version uint64 // from 1
}

func (*Record) Kind() Kind       { return KindRecord }
func (*RecordAck) Kind() Kind    { return KindRecordAck }
func (*RecordRefuse) Kind() Kind { return KindRecordRefuse }
func (*Forward) Kind() Kind      { return KindForward }
func (*Published) Kind() Kind    { return KindPublished }

func (m *Record) fields(c *codec) {
	u8(c, &m.Mode)
	c.bytes(m.Object[:])
	c.bytes(m.Home[:])
	c.boot(&m.Boot)
	c.boot(&m.AuthorityBoot)
	c.epoch(&m.Epoch)
	u64(c, &m.Version)
	c.request(&m.Request)
	c.bytes(m.RequestDigest[:])
	c.blob(&m.Value, ValueMax)
	c.blob(&m.Window, WindowMax)
	c.require(m.Mode >= Replicate && m.Mode <= Proof && m.Version != 0)
}

func (m *RecordAck) fields(c *codec) {
	u64(c, &m.Epoch)
	c.boot(&m.AuthorityBoot)
	c.bytes(m.Object[:])
	c.bytes(m.Digest[:])
	c.bytes(m.Node[:])
	c.boot(&m.Boot)
}

func (m *RecordRefuse) fields(c *codec) {
	m.Ack.fields(c)
	c.word(&m.Word)
	u64(c, &m.HeldEpoch)
	u64(c, &m.HeldVersion)
	c.require(m.Word != refusal.OK)
}

func (m *Forward) fields(c *codec) {
	c.bytes(m.From[:])
	c.bytes(m.To[:])
	c.blob(&m.Frame, ForwardMax)
	c.require(m.From != m.To && len(m.Frame) >= headSize)
	if c.bad {
		return
	}
	kind := Kind(m.Frame[0])
	c.require(kind == KindRouteReq || kind == KindRouteRep)
}

func (m *Published) fields(c *codec) {
	rows := c.count(len(m.Rows), PublishedMax)
	if c.out == nil {
		m.Rows = make([]PublishedRow, rows)
	}
	c.require(len(m.Rows) > 0)
	for i := range m.Rows {
		r := &m.Rows[i]
		c.bytes(r.Object[:])
		c.epoch(&r.Epoch)
		u64(c, &r.Version)
		c.require(r.Version != 0)
		c.require(i == 0 || bytes.Compare(m.Rows[i-1].Object[:], r.Object[:]) < 0)
	}
}
