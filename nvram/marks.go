package nvram

import (
	"encoding/binary"
	"hash/crc32"
)

// Marks are what an authority must not forget (protocol page, "NVRAM marks of the authority").
type Marks struct {
	Signed    uint64 // the highest epoch ever signed
	Activated uint64 // the highest epoch under which anything was acknowledged or served
	NeverRan  bool   // from provisioning until the first epoch is signed
	MayEmpty  bool   // the operator's word that the authority may start although nobody proves a state
}

// Offsets in a page. MarksOffset has the table.
const (
	markMagic      = "HFMK"
	atMarkFlags    = 4
	atMarkSigned   = 8
	atMarkActive   = 16
	atMarkSequence = 24
	atMarkCRC      = 28

	flagNeverRan = 1 << 0
	flagMayEmpty = 1 << 1
)

// markPage is one valid page.
type markPage struct {
	sequence uint32
	marks    Marks
}

// markOffset is where the page of a sequence is on the chip.
func (c Copy) markOffset(sequence uint32) int {
	return MarksOffset + int(c)*CopyStride + int(sequence%MarksPages)*MarksPageBytes
}

func encodeMarks(p markPage) []byte {
	var flags uint32
	if p.marks.NeverRan {
		flags |= flagNeverRan
	}
	if p.marks.MayEmpty {
		flags |= flagMayEmpty
	}
	b := append(make([]byte, 0, MarksPageBytes), markMagic...)
	b = binary.LittleEndian.AppendUint32(b, flags)
	b = binary.LittleEndian.AppendUint64(b, p.marks.Signed)
	b = binary.LittleEndian.AppendUint64(b, p.marks.Activated)
	b = binary.LittleEndian.AppendUint32(b, p.sequence)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// decodeMarks reads the page that stands at a place of its ring, and says whether it is a valid one
// that belongs there.
func decodeMarks(b []byte, place int) (markPage, bool) {
	flags := binary.LittleEndian.Uint32(b[atMarkFlags:])
	p := markPage{
		sequence: binary.LittleEndian.Uint32(b[atMarkSequence:]),
		marks: Marks{
			Signed:    binary.LittleEndian.Uint64(b[atMarkSigned:]),
			Activated: binary.LittleEndian.Uint64(b[atMarkActive:]),
			NeverRan:  flags&flagNeverRan != 0,
			MayEmpty:  flags&flagMayEmpty != 0,
		},
	}
	ok := string(b[:len(markMagic)]) == markMagic &&
		flags&^(flagNeverRan|flagMayEmpty) == 0 &&
		int(p.sequence%MarksPages) == place &&
		binary.LittleEndian.Uint32(b[atMarkCRC:]) == crc32.ChecksumIEEE(b[:atMarkCRC])
	return p, ok
}
