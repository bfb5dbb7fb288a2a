// Package capability is the mesh's permission token: a statement of the authority that one holder
// may do something to one object under one epoch (spec/system.md section 5; ADR-0008, "Context").
// It makes tokens, reads them and verifies their signature; whether a token fits a request (object,
// holder, rights, epoch) is decided by the object's home, which verifies it before anything else.
//
// A capability is Size bytes; numbers are big-endian:
//
//	object     32  the object it is about
//	holder     16  the node that executes the operation
//	rights      1  bit 0 stat, bit 1 commit; at least one, no other bit
//	epoch       8  the membership epoch it is good for, from 1; a new epoch needs a new capability
//	serial      8  chosen by whoever mints
//	signature  64  Ed25519 by the authority over "holdfast/cap\0" and the 65 bytes above
//
// Its text form is 172 characters of unpadded base64url.
package capability

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"

	"golang.org/x/crypto/cryptobyte"

	"holdfast/mesh/id"
)

// Rights is the set of operations that a capability allows.
type Rights uint8

// The rights.
const (
	RightStat   Rights = 1 << iota // read version and value
	RightCommit                    // write
	allRights   = RightStat | RightCommit
)

// Has reports whether r allows everything in want.
func (r Rights) Has(want Rights) bool { return r&want == want }

// Capability is what a token says.
type Capability struct {
	Object id.Object
	Holder id.Node
	Rights Rights   // not empty
	Epoch  id.Epoch // from 1
	Serial uint64
}

const (
	domain   = "holdfast/cap\x00"
	bodySize = 32 + 16 + 1 + 8 + 8

	// Size is the encoded size of a capability in bytes, signature included.
	Size = bodySize + ed25519.SignatureSize
)

// The reasons a token is refused.
var (
	ErrMalformed = errors.New("capability: malformed")
	ErrSignature = errors.New("capability: not signed by the authority")
)

// Mint returns the token that says c. It panics when c could not be parsed again: no rights, or
// epoch zero.
func Mint(c Capability, authority ed25519.PrivateKey) [Size]byte {
	if !c.valid() {
		panic("capability: mint without rights or epoch")
	}
	b := cryptobyte.NewFixedBuilder(make([]byte, 0, Size))
	b.AddBytes(c.Object[:])
	b.AddBytes(c.Holder[:])
	b.AddUint8(uint8(c.Rights))
	b.AddUint64(uint64(c.Epoch))
	b.AddUint64(c.Serial)
	b.AddBytes(ed25519.Sign(authority, signed(b.BytesOrPanic())))
	return [Size]byte(b.BytesOrPanic())
}

// Parse reads a token without verifying its signature: what it says, not that it is true.
func Parse(b []byte) (Capability, error) {
	var c Capability
	var rights uint8
	var epoch uint64
	s := cryptobyte.String(b)
	if len(b) != Size || !s.CopyBytes(c.Object[:]) || !s.CopyBytes(c.Holder[:]) ||
		!s.ReadUint8(&rights) || !s.ReadUint64(&epoch) || !s.ReadUint64(&c.Serial) {
		return Capability{}, ErrMalformed
	}
	c.Rights, c.Epoch = Rights(rights), id.Epoch(epoch)
	if !c.valid() {
		return Capability{}, ErrMalformed
	}
	return c, nil
}

// Verify reads a token and checks that the owner of root signed it.
func Verify(b []byte, root ed25519.PublicKey) (Capability, error) {
	c, err := Parse(b)
	if err != nil {
		return Capability{}, err
	}
	if !ed25519.Verify(root, signed(b[:bodySize]), b[bodySize:]) {
		return Capability{}, ErrSignature
	}
	return c, nil
}

func (c Capability) valid() bool {
	return c.Rights != 0 && c.Rights&^allRights == 0 && c.Epoch != 0
}

// signed returns what the signature covers.
func signed(body []byte) []byte { return append([]byte(domain), body...) }

// Text returns the text form of a token.
func Text(b [Size]byte) string { return base64.RawURLEncoding.EncodeToString(b[:]) }

// ParseText reads what Text writes; it says nothing about the token's content.
func ParseText(s string) ([Size]byte, error) {
	// The decoder skips line ends: only with the exact length is the text the only one of its
	// token.
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != Size || len(s) != textSize {
		return [Size]byte{}, ErrMalformed
	}
	return [Size]byte(b), nil
}

const textSize = (Size*8 + 5) / 6
