package wire

import (
	"encoding/binary"
	"errors"

	"golang.org/x/crypto/cryptobyte"

	"holdfast/mesh/id"
)

// The sizes of a frame on the link, in bytes.
const (
	// PrefixSize is the length prefix in front of every frame.
	PrefixSize = 2
	// FrameMax is the largest frame with its prefix.
	FrameMax = 4096
	// headSize is the kind and the sender's epoch: the smallest frame without its prefix.
	headSize = 1 + 8
)

// ErrMalformed is the error for a frame that no correct node sends. Whoever reads one closes the
// link.
var ErrMalformed = errors.New("wire: malformed frame")

// Size returns how many bytes follow a length prefix. A length that no frame has is ErrMalformed,
// so that a reader never waits for, or makes room for, more than FrameMax.
func Size(prefix [PrefixSize]byte) (int, error) {
	n := int(binary.BigEndian.Uint16(prefix[:]))
	if n < headSize || n > FrameMax-PrefixSize {
		return 0, ErrMalformed
	}
	return n, nil
}

// Append encodes m from a sender of this epoch at the end of dst, behind its length prefix. Epoch
// zero is that of a sender without a view. It panics when Parse would refuse the frame: a message
// is checked by whoever makes it.
func Append(dst []byte, epoch id.Epoch, m Message) []byte {
	if dst == nil {
		dst = make([]byte, 0, room(m))
	}
	start := len(dst)
	b := cryptobyte.NewBuilder(append(dst, make([]byte, PrefixSize)...))
	kind := m.Kind()
	c := codec{out: b}
	u8(&c, &kind)
	u64(&c, &epoch)
	c.require(epoch != 0 || kind.beforeView())
	m.fields(&c)
	if c.bad {
		panic("wire: append of an invalid " + kind.String())
	}
	out := b.BytesOrPanic()
	size := len(out) - start - PrefixSize
	if size > FrameMax-PrefixSize {
		panic("wire: frame too large")
	}
	binary.BigEndian.PutUint16(out[start:], uint16(size))
	return out
}

// room is enough for the frame of m, for most kinds more or less: a buffer that has to grow is
// copied each time. The value and the window of a record are by far the longest fields.
func room(m Message) int {
	switch m := m.(type) {
	case *RouteReq:
		return 256 + len(m.Value)
	case *RouteRep:
		return 128 + len(m.Value)
	case *Record:
		return 192 + len(m.Value) + len(m.Window)
	case *Forward:
		return 64 + len(m.Frame)
	}
	return 128
}

// Valid reports whether m keeps the rules of its kind, so that Append encodes it.
func Valid(m Message) bool {
	c := codec{out: cryptobyte.NewBuilder(make([]byte, 0, room(m)))}
	m.fields(&c)
	return !c.bad
}

// Parse decodes a frame without its length prefix. The message shares no memory with frame. Parse
// is exact: what it accepts, Append encodes to the same bytes.
func Parse(frame []byte) (id.Epoch, Message, error) {
	c := codec{in: frame}
	var kind Kind
	var epoch id.Epoch
	u8(&c, &kind)
	u64(&c, &epoch)
	c.require(kind.Valid() && (epoch != 0 || kind.beforeView()))
	if c.bad {
		return 0, nil, ErrMalformed
	}
	m := kinds[kind].make()
	m.fields(&c)
	if c.bad || !c.in.Empty() {
		return 0, nil, ErrMalformed
	}
	return epoch, m, nil
}
