package nvram

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrReadBack says that the chip did not keep what was written to it. The record that was valid
// before the write still is.
var ErrReadBack = errors.New("chip did not keep what was written")

// AbsentError says that neither copy of a record can be used, and why.
type AbsentError struct {
	Kind Kind
	A, B Reason // why each copy cannot be used
}

// Reason is the one word for both copies: that of A, unless A was never written and B was.
func (e *AbsentError) Reason() Reason {
	if e.A == ReasonBlank {
		return e.B
	}
	return e.A
}

// Error names both copies' reasons.
func (e *AbsentError) Error() string {
	return fmt.Sprintf("nvram: no %v record: copy a %s, copy b %s", e.Kind, e.A, e.B)
}

// Record says where a record was found or put.
type Record struct {
	Copy     Copy   // the copy that holds it
	Sequence uint32 // its sequence
	Bytes    int    // length of its payload
	Other    Reason // why the other copy cannot be used, empty when it is valid too
}

// A Store reads and writes the records of one chip. It keeps nothing in memory: every call reads
// the chip. It is not safe for concurrent use; the chip has one owner.
type Store struct{ chip Chip }

// Open is the store on chip. It reads nothing; a chip that is too small for the layout is an error.
func Open(chip Chip) (*Store, error) {
	if chip.Size() < Size {
		return nil, fmt.Errorf("nvram: chip has %d bytes, the layout needs %d", chip.Size(), Size)
	}
	return &Store{chip}, nil
}

// both is what the two copies of a record hold.
type both struct {
	copies  [2]stored
	reasons [2]Reason // empty for a valid copy
}

// newest is the copy that counts, when there is one.
func (b *both) newest() (c Copy, ok bool) {
	switch validA, validB := b.reasons[CopyA] == "", b.reasons[CopyB] == ""; {
	case validA && validB && newer(b.copies[CopyB].sequence, b.copies[CopyA].sequence):
		return CopyB, true
	case validA:
		return CopyA, true
	case validB:
		return CopyB, true
	}
	return CopyA, false
}

// load reads both copies. A chip that fails to answer is an error even when the other copy can be
// read: that one may be the older, and serving it would turn time back.
func (s *Store) load(k Kind) (both, error) {
	var b both
	p := k.place()
	for _, c := range []Copy{CopyA, CopyB} {
		buffer := make([]byte, headerBytes+p.max)
		if err := s.chip.ReadAt(buffer, c.offset(p)); err != nil {
			return both{}, fmt.Errorf("nvram: reading copy %v of the %v: %w", c, k, err)
		}
		b.copies[c], b.reasons[c] = decode(k, buffer)
	}
	return b, nil
}

// read is the newest valid record of the kind. The error is an *AbsentError when there is none.
func (s *Store) read(k Kind) ([]byte, Record, error) {
	b, err := s.load(k)
	if err != nil {
		return nil, Record{}, err
	}
	c, ok := b.newest()
	if !ok {
		return nil, Record{}, &AbsentError{k, b.reasons[CopyA], b.reasons[CopyB]}
	}
	r := b.copies[c]
	return r.payload, Record{c, r.sequence, len(r.payload), b.reasons[1-c]}, nil
}

// write replaces the record of the kind: it overwrites the copy that does not count, which is the
// damaged one or else the older one, and reads it back. On an error the record that counted before
// still does, unless the chip kept the new one after all.
func (s *Store) write(k Kind, payload []byte) (Record, error) {
	b, err := s.load(k)
	if err != nil {
		return Record{}, err
	}
	target, sequence := CopyA, uint32(1)
	if current, ok := b.newest(); ok {
		target, sequence = 1-current, b.copies[current].sequence+1
	}
	record := encode(k, sequence, payload)
	off := target.offset(k.place())
	if err := s.chip.WriteAt(record, off); err != nil {
		return Record{}, fmt.Errorf("nvram: writing copy %v of the %v: %w", target, k, err)
	}
	back := make([]byte, len(record))
	if err := s.chip.ReadAt(back, off); err != nil {
		return Record{}, fmt.Errorf("nvram: reading back copy %v of the %v: %w", target, k, err)
	}
	if !bytes.Equal(back, record) {
		return Record{}, fmt.Errorf("nvram: copy %v of the %v: %w", target, k, ErrReadBack)
	}
	return Record{target, sequence, len(payload), b.reasons[1-target]}, nil
}
