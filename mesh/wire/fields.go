package wire

import (
	"bytes"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/view"
)

// The bodies: each message's fields in wire order, with their rules. The package comment has the
// same as tables.

func (m *Ping) fields(c *codec) { u64(c, &m.Nonce) }
func (m *Pong) fields(c *codec) { u64(c, &m.Nonce) }

func (m *LeaseReq) fields(c *codec) {
	c.bytes(m.Node[:])
	c.epoch(&m.Incarnation)
	c.boot(&m.Boot)
	c.bytes(m.Digest[:])
	c.boot(&m.AuthorityBoot)
	u64(c, &m.Nonce)
	u64(c, &m.Echo)
}

func (m *LeaseAck) fields(c *codec) {
	c.epoch(&m.Incarnation)
	c.bytes(m.Digest[:])
	c.boot(&m.AuthorityBoot)
	u64(c, &m.Nonce)
	u64(c, &m.Moved)
}

func (m *JoinReq) fields(c *codec) { c.boot(&m.Boot) }

func (m *Challenge) fields(c *codec) {
	u64(c, &m.Nonce)
	c.boot(&m.AuthorityBoot)
}

func (m *Join) fields(c *codec) {
	m.signed(c)
	c.bytes(m.Signature[:])
}

// signed is what the signature covers.
func (m *Join) signed(c *codec) {
	u64(c, &m.Challenge)
	c.boot(&m.AuthorityBoot)
	u64(c, &m.Nonce)
	c.boot(&m.Boot)
	millis(c, &m.Timing.Heartbeat)
	millis(c, &m.Timing.Suspect)
	millis(c, &m.Timing.Fail)
	millis(c, &m.Timing.WriteLease)
	c.flag(&m.Timing.AcksAll)
	c.blob(&m.Certificate, view.CertificateMax)
}

func (m *JoinState) fields(c *codec) {
	u64(c, &m.Nonce)
	c.table(&m.Table)
	c.flag(&m.Want)
}

func (m *JoinReady) fields(c *codec) {
	u64(c, &m.Nonce)
	c.table(&m.Table)
}

func (m *Confirm) fields(c *codec) {
	u64(c, &m.Nonce)
	c.certificate(&m.Certificate)
	c.table(&m.Table)
}

func (m *Refuse) fields(c *codec) {
	u64(c, &m.Nonce)
	c.word(&m.Word)
	c.require(m.Word != refusal.OK)
	u32(c, &m.RetryMS)
}

func (m *View) fields(c *codec) {
	c.certificate(&m.Certificate)
	c.table(&m.Table)
	kept := c.count(len(m.Kept), KeptMax)
	if c.out == nil && kept > 0 {
		m.Kept = make([]id.Object, kept)
	}
	for i := range m.Kept {
		c.bytes(m.Kept[i][:])
		c.require(i == 0 || bytes.Compare(m.Kept[i-1][:], m.Kept[i][:]) < 0)
	}
}

func (m *ViewAck) fields(c *codec) {
	c.epoch(&m.Epoch)
	c.bytes(m.Digest[:])
}

func (m *ViewReq) fields(c *codec) { c.flag(&m.All) }

func (m *StaleEpoch) fields(c *codec) {
	m.signed(c)
	c.bytes(m.Signature[:])
}

// signed is what the signature covers.
func (m *StaleEpoch) signed(c *codec) {
	c.epoch(&m.Current)
	c.boot(&m.AuthorityBoot)
	c.bytes(m.Node[:])
	c.boot(&m.Boot)
}

func (m *Move) fields(c *codec) {
	m.signed(c)
	c.bytes(m.Signature[:])
	u64(c, &m.Since)
	u64(c, &m.RecordEpoch)
	u64(c, &m.Version)
	c.bytes(m.Request.Client[:])
	u64(c, &m.Request.Boot)
	u64(c, &m.Request.Seq)
	c.bytes(m.RequestDigest[:])
	c.blob(&m.Value, ValueMax)
	c.blob(&m.Window, WindowMax)
	c.require(m.Since <= m.Epoch && m.RecordEpoch <= m.Epoch)
	c.require((m.Version == 0) == (m.RecordEpoch == 0) && (m.Version != 0 || len(m.Value) == 0))
}

// signed is what the signature covers.
func (m *Move) signed(c *codec) {
	c.bytes(m.Object[:])
	c.bytes(m.From[:])
	c.bytes(m.To[:])
	c.epoch(&m.Epoch)
	c.epoch(&m.MoveEpoch)
	c.require(m.From != m.To)
}

func (m *MoveAck) fields(c *codec) {
	c.bytes(m.Object[:])
	c.epoch(&m.MoveEpoch)
	c.flag(&m.Active)
}

func (m *RouteReq) fields(c *codec) {
	c.request(&m.Request)
	c.epoch(&m.FirstEpoch)
	c.bytes(m.Object[:])
	u8(c, &m.Op)
	u8(c, &m.Class)
	u8(c, &m.Durability)
	u64(c, &m.IfVersion)
	u8(c, &m.Copies)
	u32(c, &m.Within)
	c.blob(&m.Value, ValueMax)
	c.bytes(m.Capability[:])
	c.require(m.Class >= Lease && m.Class <= StaleOK)
	c.require(m.Copies <= CopiesMax && m.Within > 0 && m.Within <= WithinMax)
	switch m.Op {
	case Stat:
		c.require(m.Durability == None && m.IfVersion == AnyVersion && len(m.Value) == 0)
		c.require(m.Copies == 0)
	case Commit:
		c.require(m.Durability == Local || m.Durability == Replicated)
	default:
		c.require(false)
	}
}

func (m *RouteRep) fields(c *codec) {
	c.request(&m.Request)
	c.word(&m.Word)
	c.bytes(m.Home[:])
	u64(c, &m.HomeEpoch)
	u64(c, &m.Version)
	u8(c, &m.Class)
	u8(c, &m.Durability)
	u8(c, &m.Copies)
	u32(c, &m.AgeMS)
	c.blob(&m.Value, ValueMax)
	c.require(m.Class <= StaleOK)
	c.require(m.Durability <= Replicated)
	c.require(m.AgeMS == 0 || m.Class == StaleOK)
	c.require(m.Word == refusal.OK || len(m.Value) == 0)
}

func (c *codec) request(r *Request) {
	c.bytes(r.Client[:])
	u64(c, &r.Boot)
	u64(c, &r.Seq)
	c.require(r.Seq != 0)
}

func (c *codec) table(t *Table) {
	u16(c, &t.Records)
	c.bytes(t.Digest[:])
}

// count is the number of rows of a list, at most limit, as u8.
func (c *codec) count(n, limit int) int {
	v := uint8(n)
	c.require(n <= limit)
	u8(c, &v)
	c.require(int(v) <= limit)
	if c.bad {
		return 0
	}
	return int(v)
}

// flag is a bool: 0 or 1.
func (c *codec) flag(p *bool) {
	var v uint8
	if *p {
		v = 1
	}
	u8(c, &v)
	c.require(v <= 1)
	*p = v == 1
}

func (c *codec) word(w *refusal.Word) {
	u8(c, w)
	c.require(w.Valid())
}

// certificate is an encoded view.Certificate; its content is checked by whoever has the root's key.
func (c *codec) certificate(p *[]byte) {
	c.blob(p, view.CertificateMax)
	c.require(len(*p) > 0)
}
