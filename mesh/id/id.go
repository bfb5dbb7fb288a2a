// Package id names the things of the mesh: nodes, boots of a node, objects, epochs, digests. Every
// name is a fixed-size value with one text form, the same on the wire, in evidence and in HTTP.
// Derivations are those of spec/system.md sections 2, 4 and 5 and of spec/protocol.md, "Identity".
package id

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"

	"golang.org/x/crypto/blake2s"
)

// Node is a node's id: the Sum of its Ed25519 public key, written as 32 hex digits.
type Node [16]byte

// Object is an object's id: BLAKE2s-256("holdfast/object\0" + name), written as 64 hex digits.
type Object [32]byte

// Boot names one boot of a node: a random 64-bit number, written as 16 hex digits. Zero is no boot.
type Boot uint64

// Nonce is a random 64-bit number that ties an answer to one question.
type Nonce uint64

// Epoch numbers the authority's views; the incarnation of a member is the epoch that admitted it.
// Zero is no epoch: views start at 1.
type Epoch uint64

// Digest is the Sum of a canonical encoding, written as 32 hex digits.
type Digest [16]byte

// Client names whoever asks for an operation: a node's id or a number that a client chose.
type Client [16]byte

const objectPrefix = "holdfast/object\x00"

// ErrSyntax is the error for a text that is not an id of the kind asked for.
var ErrSyntax = errors.New("id: malformed")

// NodeOf returns the id of the node that holds the private half of key.
func NodeOf(key ed25519.PublicKey) Node { return Node(Sum(key)) }

// ObjectOf returns the id of the object called name.
func ObjectOf(name string) Object {
	return blake2s.Sum256(append([]byte(objectPrefix), name...))
}

// sumKey separates the mesh's digests from every other use of BLAKE2s. RFC 7693 defines BLAKE2s-128
// with and without a key; the library offers it only with one.
const sumKey = "holdfast"

// Sum returns the BLAKE2s-128 digest of b under the key "holdfast". 128 bits are enough here:
// whoever could gain from a collision (the owner of a key, the authority that signs a view) is
// trusted with more than that already.
func Sum(b []byte) Digest {
	h, err := blake2s.New128([]byte(sumKey))
	if err != nil {
		panic("id: " + err.Error())
	}
	h.Write(b)
	var d Digest
	h.Sum(d[:0])
	return d
}

func (n Node) String() string   { return hex.EncodeToString(n[:]) }
func (o Object) String() string { return hex.EncodeToString(o[:]) }
func (d Digest) String() string { return hex.EncodeToString(d[:]) }
func (c Client) String() string { return hex.EncodeToString(c[:]) }
func (b Boot) String() string   { return hex64(uint64(b)) }
func (n Nonce) String() string  { return hex64(uint64(n)) }
func (e Epoch) String() string  { return strconv.FormatUint(uint64(e), 10) }

// Compare orders nodes by their bytes: the order of a view's members.
func (n Node) Compare(other Node) int { return bytes.Compare(n[:], other[:]) }

// IsZero reports whether n is the zero id, which no key hashes to in practice: it means no node.
func (n Node) IsZero() bool { return n == Node{} }

func hex64(v uint64) string {
	const digits = "0123456789abcdef"
	var b [16]byte
	for i := range b {
		b[i] = digits[v>>(60-4*i)&15]
	}
	return string(b[:])
}

// ParseNode reads 32 lower-case hex digits.
func ParseNode(s string) (Node, error) {
	var n Node
	err := parseHex(n[:], s)
	return n, err
}

// ParseObject reads 64 lower-case hex digits.
func ParseObject(s string) (Object, error) {
	var o Object
	err := parseHex(o[:], s)
	return o, err
}

// ParseDigest reads 32 lower-case hex digits.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	err := parseHex(d[:], s)
	return d, err
}

// ParseClient reads 32 lower-case hex digits.
func ParseClient(s string) (Client, error) {
	var c Client
	err := parseHex(c[:], s)
	return c, err
}

// ParseBoot reads 16 lower-case hex digits.
func ParseBoot(s string) (Boot, error) {
	var b [8]byte
	if err := parseHex(b[:], s); err != nil {
		return 0, err
	}
	v := Boot(0)
	for _, c := range b {
		v = v<<8 | Boot(c)
	}
	return v, nil
}

// ParseEpoch reads a decimal number without leading zeros, from 1 up.
func ParseEpoch(s string) (Epoch, error) {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil || s[0] == '0' {
		return 0, ErrSyntax
	}
	return Epoch(v), nil
}

func parseHex(dst []byte, s string) error {
	if len(s) != 2*len(dst) {
		return ErrSyntax
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ErrSyntax
		}
	}
	_, err := hex.Decode(dst, []byte(s))
	return err
}

// KeyText is the text form of a public key: 43 characters of unpadded base64url.
func KeyText(key ed25519.PublicKey) string { return base64.RawURLEncoding.EncodeToString(key) }

const keyTextSize = 43

// ParseKey reads what KeyText writes.
func ParseKey(s string) (ed25519.PublicKey, error) {
	// The decoder skips line ends: only with the exact length is the text the only one of its key.
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != ed25519.PublicKeySize || len(s) != keyTextSize {
		return nil, ErrSyntax
	}
	return b, nil
}

// LabObjects is how many objects a node with the lab steps knows from its start.
const LabObjects = 8

// LabName returns the name of the i-th of them, from 0: lab-0, lab-1 and so on.
func LabName(i int) string { return "lab-" + strconv.Itoa(i) }
