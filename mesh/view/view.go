// Package view is the membership view: which nodes, in which boots, form the mesh under one epoch.
// Only the authority makes one; everybody else verifies its signature and compares epochs. A view
// is encoded canonically, so that its digest is the same on every node:
//
//	"holdfast/view\0"  14 bytes, the domain of the signature
//	epoch              u64 big-endian, as every number here
//	authority          16 bytes, node id
//	authority boot     u64
//	flags              u8, bit 0: boots are part of the digest (failure detection is on)
//	count              u8, 1 to MaxMembers
//	count times: id 16, key 32, incarnation u64, boot u64
//
// Ids are strictly ascending, the authority's among them; each is that of its key. Epoch and boots
// are not zero; an incarnation is from 1 to the epoch. The certificate is followed by the
// authority's Ed25519 signature, 64 bytes, over all of this.
//
// The digest of a view whose flag is clear is that of the same encoding with every boot set to
// zero: a same-epoch rejoin then keeps the digest (ADR-0008 section 8).
//
// It never decides who is a member: package mesh does.
package view

import (
	"crypto/ed25519"
	"errors"
	"slices"

	"golang.org/x/crypto/cryptobyte"

	"holdfast/mesh/id"
)

// MaxMembers bounds a view: the authority and the four ids that mesh.allow can hold.
const MaxMembers = 5

const (
	domain    = "holdfast/view\x00"
	flagBoots = 1
	// CertificateMax is the encoded size of the largest certificate, signature included.
	CertificateMax = headSize + MaxMembers*memberSize + ed25519.SignatureSize
	headSize       = len(domain) + 8 + 16 + 8 + 1 + 1
	memberSize     = 16 + 32 + 8 + 8
)

// Member is one node of a view.
type Member struct {
	ID          id.Node
	Key         [ed25519.PublicKeySize]byte
	Incarnation id.Epoch // the epoch that admitted this boot
	Boot        id.Boot
}

// View is a membership epoch. Members are sorted by id.
type View struct {
	Epoch         id.Epoch
	Authority     id.Node
	AuthorityBoot id.Boot
	BootsCount    bool // boots are part of the digest
	Members       []Member
}

// Certificate is a View with the authority's signature over its encoding.
type Certificate struct {
	View      View
	Signature [ed25519.SignatureSize]byte
}

// The reasons a certificate is refused.
var (
	ErrMalformed = errors.New("view: malformed")
	ErrSignature = errors.New("view: not signed by the authority")
)

// Find returns the member with this id.
func (v *View) Find(n id.Node) (Member, bool) {
	i, ok := v.index(n)
	if !ok {
		return Member{}, false
	}
	return v.Members[i], true
}

// Has reports whether n is a member.
func (v *View) Has(n id.Node) bool {
	_, ok := v.index(n)
	return ok
}

// HasBoot reports whether this boot of n is a member: what "in the view" means.
func (v *View) HasBoot(n id.Node, b id.Boot) bool {
	i, ok := v.index(n)
	return ok && v.Members[i].Boot == b
}

// Speaks reports whether what that boot of a node says counts in the view. Where boots are not part
// of the view, any does: a node may have booted again in the same epoch, and only the authority,
// which looks at the boot behind each session, knows.
func (v *View) Speaks(n id.Node, b id.Boot) bool {
	return v.HasBoot(n, b) || !v.BootsCount && v.Has(n)
}

// index is asked several times for every frame: to look at five ids in their places takes less than
// to search.
func (v *View) index(n id.Node) (int, bool) {
	for i := range v.Members {
		if v.Members[i].ID == n {
			return i, true
		}
	}
	return 0, false
}

// With returns the members of v with m added, or put in the place of the member of that id.
func (v *View) With(m Member) []Member {
	ms := v.Without(m.ID)
	i, _ := slices.BinarySearchFunc(ms, m.ID, func(m Member, n id.Node) int {
		return m.ID.Compare(n)
	})
	return slices.Insert(ms, i, m)
}

// Without returns the members of v but n.
func (v *View) Without(n id.Node) []Member {
	return slices.DeleteFunc(slices.Clone(v.Members), func(m Member) bool { return m.ID == n })
}

// IDs returns the members' ids in order.
func (v *View) IDs() []id.Node {
	ids := make([]id.Node, len(v.Members))
	for i, m := range v.Members {
		ids[i] = m.ID
	}
	return ids
}

// Digest identifies the view's content.
func (v *View) Digest() id.Digest { return id.Sum(v.encode(v.BootsCount)) }

// encode returns the canonical encoding, with zero for every boot when boots is false.
func (v *View) encode(boots bool) []byte {
	if len(v.Members) == 0 || len(v.Members) > MaxMembers {
		panic("view: member count out of range")
	}
	var b cryptobyte.Builder
	boot := func(n id.Boot) {
		if !boots {
			n = 0
		}
		b.AddUint64(uint64(n))
	}
	b.AddBytes([]byte(domain))
	b.AddUint64(uint64(v.Epoch))
	b.AddBytes(v.Authority[:])
	boot(v.AuthorityBoot)
	b.AddUint8(flags(v.BootsCount))
	b.AddUint8(uint8(len(v.Members)))
	for _, m := range v.Members {
		b.AddBytes(m.ID[:])
		b.AddBytes(m.Key[:])
		b.AddUint64(uint64(m.Incarnation))
		boot(m.Boot)
	}
	return b.BytesOrPanic()
}

func flags(boots bool) uint8 {
	if boots {
		return flagBoots
	}
	return 0
}

// valid reports whether v is a view that an authority may sign.
func (v *View) valid() bool {
	if v.Epoch == 0 || v.AuthorityBoot == 0 || len(v.Members) == 0 || len(v.Members) > MaxMembers {
		return false
	}
	for i, m := range v.Members {
		if m.ID != id.NodeOf(m.Key[:]) || m.Boot == 0 ||
			m.Incarnation == 0 || m.Incarnation > v.Epoch ||
			i > 0 && v.Members[i-1].ID.Compare(m.ID) >= 0 {
			return false
		}
	}
	return v.Has(v.Authority)
}

// Sign returns v's certificate; it panics when Parse would refuse it as malformed. The caller has
// made v's epoch durable first (rule L8).
func Sign(v View, key ed25519.PrivateKey) Certificate {
	if !v.valid() {
		panic("view: signing an invalid view")
	}
	c := Certificate{View: v}
	copy(c.Signature[:], ed25519.Sign(key, v.encode(true)))
	return c
}

// Append encodes c at the end of dst.
func (c *Certificate) Append(dst []byte) []byte {
	return append(append(dst, c.View.encode(true)...), c.Signature[:]...)
}

// Parse decodes and verifies a certificate: canonical, signed by root, and naming root as its
// authority.
func Parse(b []byte, root ed25519.PublicKey) (Certificate, error) {
	var c Certificate
	if err := c.decode(b); err != nil {
		return Certificate{}, err
	}
	if c.View.Authority != id.NodeOf(root) ||
		!ed25519.Verify(root, b[:len(b)-ed25519.SignatureSize], c.Signature[:]) {
		return Certificate{}, ErrSignature
	}
	return c, nil
}

func (c *Certificate) decode(b []byte) error {
	s := cryptobyte.String(b)
	v := &c.View
	var prefix []byte
	var epoch, boot uint64
	var flag, count uint8
	if !s.ReadBytes(&prefix, len(domain)) || string(prefix) != domain || !s.ReadUint64(&epoch) ||
		!s.CopyBytes(v.Authority[:]) || !s.ReadUint64(&boot) || !s.ReadUint8(&flag) ||
		!s.ReadUint8(&count) || flag > flagBoots || count > MaxMembers {
		return ErrMalformed
	}
	v.Epoch, v.AuthorityBoot, v.BootsCount = id.Epoch(epoch), id.Boot(boot), flag == flagBoots
	v.Members = make([]Member, count)
	for i := range v.Members {
		m := &v.Members[i]
		var incarnation, boot uint64
		if !s.CopyBytes(m.ID[:]) || !s.CopyBytes(m.Key[:]) || !s.ReadUint64(&incarnation) ||
			!s.ReadUint64(&boot) {
			return ErrMalformed
		}
		m.Incarnation, m.Boot = id.Epoch(incarnation), id.Boot(boot)
	}
	if !s.CopyBytes(c.Signature[:]) || !s.Empty() || !v.valid() {
		return ErrMalformed
	}
	return nil
}
