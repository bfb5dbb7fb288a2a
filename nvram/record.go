package nvram

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// Offsets in a record's header. The package comment has the table.
const (
	atVersion  = 4
	atKind     = 5
	atLength   = 6
	atSequence = 8
	atCRC      = 12
)

const (
	magic   = "HFNV"
	version = 1
)

// Reason is one word that says why a copy of a record cannot be used.
type Reason string

// The reasons, in the order in which they are looked for: the first that applies is reported.
const (
	ReasonBlank   Reason = "blank"   // never written: the header is all 0x00 or all 0xff
	ReasonMagic   Reason = "magic"   // something else stands here, be it a record of another kind
	ReasonVersion Reason = "version" // a layout that this code does not know
	ReasonLength  Reason = "length"  // a length that this kind of record cannot have
	ReasonCRC     Reason = "crc"     // torn or damaged
)

// stored is one valid copy of a record.
type stored struct {
	payload  []byte
	sequence uint32
}

// encode lays a record out. The payload's length must suit the kind.
func encode(k Kind, sequence uint32, payload []byte) []byte {
	if p := k.place(); len(payload) < p.min || len(payload) > p.max {
		panic("nvram: payload length does not suit the record")
	}
	b := make([]byte, headerBytes+len(payload))
	copy(b, magic)
	b[atVersion] = version
	b[atKind] = byte(k)
	binary.LittleEndian.PutUint16(b[atLength:], uint16(len(payload)))
	binary.LittleEndian.PutUint32(b[atSequence:], sequence)
	copy(b[headerBytes:], payload)
	binary.LittleEndian.PutUint32(b[atCRC:], checksum(b))
	return b
}

// decode reads one copy of a record from b, which begins with the header and holds at least as many
// bytes as the kind's longest record. A reason means that there is no valid record; the payload is
// a part of b otherwise.
func decode(k Kind, b []byte) (stored, Reason) {
	header := b[:headerBytes]
	if all(header, 0x00) || all(header, 0xff) {
		return stored{}, ReasonBlank
	}
	if string(header[:len(magic)]) != magic {
		return stored{}, ReasonMagic
	}
	if header[atVersion] != version {
		return stored{}, ReasonVersion
	}
	if header[atKind] != byte(k) {
		return stored{}, ReasonMagic
	}
	p := k.place()
	length := int(binary.LittleEndian.Uint16(header[atLength:]))
	if length < p.min || length > p.max {
		return stored{}, ReasonLength
	}
	b = b[:headerBytes+length]
	if binary.LittleEndian.Uint32(header[atCRC:]) != checksum(b) {
		return stored{}, ReasonCRC
	}
	return stored{b[headerBytes:], binary.LittleEndian.Uint32(header[atSequence:])}, ""
}

// checksum covers the header up to the checksum itself, and the payload.
func checksum(record []byte) uint32 {
	crc := crc32.ChecksumIEEE(record[:atCRC])
	return crc32.Update(crc, crc32.IEEETable, record[headerBytes:])
}

func all(b []byte, v byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c != v })
}

// newer says whether sequence a was written after b. Sequences are compared as serial numbers
// (RFC 1982): the two copies are one write apart, so that the shorter way round the circle of 2^32
// is the true one and 0 follows 0xffffffff. Exactly half a circle apart neither is newer, which is
// a tie that no sequence of writes produces.
func newer(a, b uint32) bool { return int32(a-b) > 0 }
