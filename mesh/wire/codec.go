package wire

import (
	"golang.org/x/crypto/cryptobyte"

	"holdfast/mesh/id"
)

// codec carries a message's fields in either direction, so that each message lists its fields once
// and reading can never disagree with writing. Exactly one of out and in is in use.
type codec struct {
	out *cryptobyte.Builder // nil when reading
	in  cryptobyte.String
	bad bool // a field was missing or out of range; whatever was read is worthless
}

// require marks the message malformed unless ok. Both directions check the same rules: Parse
// refuses what breaks one, Append panics.
func (c *codec) require(ok bool) {
	if !ok {
		c.bad = true
	}
}

func u8[T ~uint8](c *codec, p *T) {
	if c.out != nil {
		c.out.AddUint8(uint8(*p))
		return
	}
	var v uint8
	c.require(c.in.ReadUint8(&v))
	*p = T(v)
}

func u16[T ~uint16](c *codec, p *T) {
	if c.out != nil {
		c.out.AddUint16(uint16(*p))
		return
	}
	var v uint16
	c.require(c.in.ReadUint16(&v))
	*p = T(v)
}

func u32[T ~uint32](c *codec, p *T) {
	if c.out != nil {
		c.out.AddUint32(uint32(*p))
		return
	}
	var v uint32
	c.require(c.in.ReadUint32(&v))
	*p = T(v)
}

func u64[T ~uint64](c *codec, p *T) {
	if c.out != nil {
		c.out.AddUint64(uint64(*p))
		return
	}
	var v uint64
	c.require(c.in.ReadUint64(&v))
	*p = T(v)
}

// millis is a when.Span of 0 to 2^32-1 ms, as u32.
func millis[T ~int64](c *codec, p *T) {
	v := uint32(*p)
	c.require(c.out == nil || T(v) == *p)
	u32(c, &v)
	*p = T(v)
}

// bytes is a field of fixed length.
func (c *codec) bytes(p []byte) {
	if c.out != nil {
		c.out.AddBytes(p)
		return
	}
	c.require(c.in.CopyBytes(p))
}

// blob is a field of at most limit bytes behind a u16 with its length. What is read is a copy; no
// bytes are read as nil.
func (c *codec) blob(p *[]byte, limit int) {
	if c.out != nil {
		c.require(len(*p) <= limit)
		c.out.AddUint16(uint16(len(*p)))
		c.out.AddBytes(*p)
		return
	}
	var b cryptobyte.String
	c.require(c.in.ReadUint16LengthPrefixed(&b) && len(b) <= limit)
	*p = nil
	if !c.bad && len(b) > 0 {
		*p = append(*p, b...)
	}
}

// epoch is an id.Epoch from 1.
func (c *codec) epoch(p *id.Epoch) {
	u64(c, p)
	c.require(*p != 0)
}

// boot is an id.Boot that exists.
func (c *codec) boot(p *id.Boot) {
	u64(c, p)
	c.require(*p != 0)
}
