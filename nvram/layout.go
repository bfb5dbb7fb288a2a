package nvram

// Kind tells the records apart. The numbers stand on the chip; 0 and 255 are what a blank chip
// holds and are never used.
type Kind uint8

// The records of a node.
const (
	KindEnvironment Kind = 1 // NAME=VALUE strings, see Environment
	KindIdentity    Kind = 2 // Ed25519 seed and boot counter, see Identity
	KindEntropy     Kind = 3 // seed of the next boot's random generator, see Store.LoadEntropy
)

// String is the kind's name, as error texts use it.
func (k Kind) String() string { return k.place().name }

// EnvironmentMax is the most bytes that an environment may take, its final empty string included.
// It is the ADR's area on the DS1386.
const EnvironmentMax = 298

// Fixed sizes, in bytes.
const (
	headerBytes   = 16
	secretBytes   = 32
	identityBytes = secretBytes + 8
	entropyBytes  = secretBytes
)

// Where things stand on the chip, in bytes from its start.
const (
	clockBytes        = 14 // the DS1386's registers
	environmentOffset = 0x0040
	identityOffset    = 0x0200
	entropyOffset     = 0x0300

	// MarksOffset is the first of MarksPages pages of MarksPageBytes for the authority's marks, in
	// each copy: a slot of the marks is that ring of pages. A page is
	//
	//	+0   4  magic "HFMK"
	//	+4   4  flags: bit 0 never-ran, bit 1 may-start-empty, the others zero
	//	+8   8  signed: the highest epoch ever signed
	//	+16  8  activated: the highest epoch under which anything was served
	//	+24  4  sequence, one more than that of the page written before it
	//	+28  4  CRC-32 (IEEE) over bytes 0 to 27
	//
	// The sequence modulo MarksPages is the page's place in its ring, so that every write goes to
	// the page that was written longest ago: marks are rewritten twice with every view change, and a
	// cell lasts a million writes, 16 million in turn. A provisioned ring is full, with the sequences
	// 0 to 15: there is no page that was never written, and one that reads as if is damaged.
	MarksOffset    = 0x0800
	MarksPages     = 16
	MarksPageBytes = 32

	// CopyStride is the distance from copy A of anything to its copy B.
	CopyStride = 0x1000

	marksEnd = MarksOffset + MarksPages*MarksPageBytes
)

// The layout has no overlaps: each of these is a compile error when one part runs into the next.
const (
	_ uint = environmentOffset - clockBytes
	_ uint = identityOffset - (environmentOffset + headerBytes + EnvironmentMax)
	_ uint = entropyOffset - (identityOffset + headerBytes + identityBytes)
	_ uint = MarksOffset - (entropyOffset + headerBytes + entropyBytes)
	_ uint = CopyStride - marksEnd
	_ uint = Size - (CopyStride + marksEnd)
)

// place is where a kind of record stands and how long its payload may be.
type place struct {
	name     string
	offset   int // of copy A
	min, max int // bytes of payload
}

// place looks the kind up. Kinds are constants of this package, so that another value is a bug.
func (k Kind) place() place {
	switch k {
	case KindEnvironment:
		return place{"environment", environmentOffset, 1, EnvironmentMax}
	case KindIdentity:
		return place{"identity", identityOffset, identityBytes, identityBytes}
	case KindEntropy:
		return place{"entropy", entropyOffset, entropyBytes, entropyBytes}
	}
	panic("nvram: no such kind of record")
}

// Copy names one of the two places of a record.
type Copy uint8

// The two copies.
const (
	CopyA Copy = iota // in the first 4 KiB
	CopyB             // at +CopyStride
)

// String is "a" or "b", as the evidence lines have it.
func (c Copy) String() string {
	if c == CopyA {
		return "a"
	}
	return "b"
}

// offset is where this copy of the place begins on the chip.
func (c Copy) offset(p place) int { return p.offset + int(c)*CopyStride }
