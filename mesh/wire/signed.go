package wire

import (
	"golang.org/x/crypto/cryptobyte"

	"holdfast/mesh/id"
)

// The domains keep a signature or digest of one kind from being taken for another.
const (
	joinDomain    = "holdfast/join\x00"
	staleDomain   = "holdfast/stale\x00"
	moveDomain    = "holdfast/move\x00"
	requestDomain = "holdfast/request\x00"
)

// SignedJoin returns what the signature of j covers when node sends it: the node's id, which the
// frame itself does not carry, and every field but the signature.
func SignedJoin(j *Join, node id.Node) []byte {
	return signed(joinDomain, node[:], j.signed)
}

// SignedStale returns what the signature of s covers: every field but the signature.
func SignedStale(s *StaleEpoch) []byte { return signed(staleDomain, nil, s.signed) }

// SignedMove returns what the signature of m covers: who gives what to whom, and when. The record
// is not covered: it comes over the link of the node that held it.
func SignedMove(m *Move) []byte { return signed(moveDomain, nil, m.signed) }

// Digest tells whether two requests of the same identity ask for the same thing (rule L11). It
// covers object, operation, expected version, durability and value, but not the capability, which a
// retry after a view change must replace.
func (m *RouteReq) Digest() id.Digest {
	return id.Sum(signed(requestDomain, nil, func(c *codec) {
		c.bytes(m.Object[:])
		u8(c, &m.Op)
		u64(c, &m.IfVersion)
		u8(c, &m.Durability)
		c.bytes(m.Value) // last: the only field without a fixed length
	}))
}

func signed(domain string, node []byte, fields func(*codec)) []byte {
	const room = 256 // for most of what is signed or digested
	b := cryptobyte.NewBuilder(append(append(make([]byte, 0, room), domain...), node...))
	c := codec{out: b}
	fields(&c)
	if c.bad {
		panic("wire: invalid message behind " + domain[:len(domain)-1])
	}
	return b.BytesOrPanic()
}
