// Package nvram is the node's battery-backed memory: what must survive a power cut, laid out on a
// chip of 8 KiB. It owns the byte layout, the records with their two copies, the environment with
// its codec, and the image that provisions a node. It knows no bus and no driver: whatever holds
// the bytes stands behind Chip. It must never write both copies of a record before the first one
// was read back, and it never starts a goroutine.
//
// The model is a DS1386: 14 bytes of clock, alarm and watchdog at 0x0000, RAM above. In QEMU and on
// the evaluation board an AT24C64 EEPROM stands in for the RAM, at the same addresses.
//
//	address        bytes  content
//	0x0000-0x000d     14  clock registers, see Clock and DS1386; unused on a bare EEPROM
//	0x000e-0x003f     50  never touched
//	0x0040-0x0179    314  environment record, at most 298 bytes of payload
//	0x0200-0x0237     56  identity record: Ed25519 seed 32, boot counter u64
//	0x0300-0x032f     48  entropy record: seed of the next boot's generator 32
//	0x0800-0x09ff    512  the authority's marks, 16 pages of 32 bytes (see MarksOffset)
//	0x1000                the second copy of everything above, at +0x1000
//
// A record is a header of 16 bytes and its payload, all numbers little-endian:
//
//	+0   4  magic "HFNV"
//	+4   1  version, 1
//	+5   1  kind: 1 environment, 2 identity, 3 entropy
//	+6   2  length of the payload
//	+8   4  sequence, one more than the record it replaces
//	+12  4  CRC-32 (IEEE) over bytes 0 to 11 and the payload
//	+16     payload
//
// Copy A stands in the first 4 KiB, copy B at +0x1000. The newest valid copy wins, A on a tie. A
// write goes to the other one and is read back, so that the record that was valid before is intact
// until its successor is: power lost at any byte of a write leaves either the old record or the new
// one. No record crosses a 4 KiB page, because the file behind QEMU's EEPROM can tear there.
//
// The authority's marks are no record: both copies hold the same, and each mark is the highest that
// a copy says. See Ledger.
//
// Where each part comes from: spec section 2 "NVRAM and identity"; the area of 298 bytes, ADR-0008
// "Consequences"; the marks, protocol page "NVRAM marks of the authority".
package nvram

import (
	"errors"
	"fmt"
)

// Size is the number of bytes a chip must have for the layout.
const Size = 8192

// ErrRange says that an access does not lie inside the chip.
var ErrRange = errors.New("outside the chip")

// A Chip holds the bytes: an EEPROM behind I2C, a memory-mapped DS1386, a file's content, or memory
// in a test. A Chip need not be safe for concurrent use.
//
// WriteAt may tear: when power fails, any of the bytes may have been written, in any order. When it
// returns nil, the bytes survive a power cut.
type Chip interface {
	// Size is the number of bytes of the chip.
	Size() int
	// ReadAt fills p from offset off, or returns an error.
	ReadAt(p []byte, off int) error
	// WriteAt stores p at offset off, or returns an error.
	WriteAt(p []byte, off int) error
}

// Memory is a chip in memory: an image that is being made, the content of an EEPROM file, or the
// chip of a test. Its methods have the slice's sharing: a copy of a Memory is the same chip.
type Memory []byte

// Size is the number of bytes.
func (m Memory) Size() int { return len(m) }

// ReadAt fills p from offset off.
func (m Memory) ReadAt(p []byte, off int) error {
	if err := m.check(len(p), off); err != nil {
		return err
	}
	copy(p, m[off:])
	return nil
}

// WriteAt stores p at offset off.
func (m Memory) WriteAt(p []byte, off int) error {
	if err := m.check(len(p), off); err != nil {
		return err
	}
	copy(m[off:], p)
	return nil
}

// check says whether n bytes at off lie inside the chip. It subtracts rather than adds, so that no
// offset can overflow.
func (m Memory) check(n, off int) error {
	if off < 0 || n > len(m)-off {
		return fmt.Errorf("nvram: %d bytes at %#x of %d: %w", n, off, len(m), ErrRange)
	}
	return nil
}
