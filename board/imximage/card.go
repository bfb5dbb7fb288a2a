package imximage

import (
	"encoding/binary"
	"fmt"
)

// The one partition of the card, in the first entry of the master boot record's table.
const (
	tableOffset    = 446
	signature      = 0xaa55 // at 510
	typeRaw        = 0xda   // data without a file system
	beyondCHS      = 0xff   // cylinder, head and sector of what is addressed by its number alone
	cardBytesLeast = 1 << 20
)

// Card is a whole SD card with the image, which Bytes made, at its place. Its size is a power of
// two, at least 1 MiB.
func Card(image []byte) ([]byte, error) {
	if _, err := Parse(image); err != nil {
		return nil, err
	}
	if len(image)%SectorBytes != 0 {
		return nil, fmt.Errorf("imximage: an image of %d bytes is not whole sectors", len(image))
	}
	size := cardBytesLeast
	for size < CardOffset+len(image) {
		size *= 2
	}
	b := make([]byte, size)
	copy(b[CardOffset:], image)

	entry := b[tableOffset:]
	for i := range 3 { // first and last sector, in the old way
		entry[1+i], entry[5+i] = beyondCHS, beyondCHS
	}
	entry[4] = typeRaw
	binary.LittleEndian.PutUint32(entry[8:], CardOffset/SectorBytes)
	binary.LittleEndian.PutUint32(entry[12:], uint32(len(image)/SectorBytes))
	binary.LittleEndian.PutUint16(b[510:], signature)
	return b, nil
}
