package nvram

import (
	"bytes"
	"errors"
	"fmt"
	"math"
)

// ErrMarksLost says that neither slot of the marks can be trusted: the chip was wiped, or both are
// damaged where it matters. What was signed is then not known.
var ErrMarksLost = errors.New("neither slot of the marks can be trusted")

// ErrMarksHigher says that the chip holds marks that are not of this ledger: somebody else writes
// to it.
var ErrMarksHigher = errors.New("chip holds marks of somebody else")

// Ledger keeps the authority's marks in two slots that hold the same, the rings of 16 pages in copy
// A and in copy B. A mark counts once it is in both.
//
// Of a slot only its newest page says anything, and which one that is must be beyond doubt: a slot
// can be trusted when behind its newest valid page, round the ring, stands the page of 15 writes
// before, intact. Were that one damaged, it could be a newer one. A slot that can be trusted is
// never behind what has counted, since what counts is in both; so each mark is the highest of any
// valid page, as long as one slot can be trusted.
//
//	power lost           slot A                slot B
//	in neither           .. n-1 n   n-15 ..    .. n-1 n   n-15 ..    both trusted: n
//	while A is written   .. n-1 n   ?    ..    .. n-1 n   n-15 ..    B trusted: n
//	while B is written   .. n   n+1 n-14 ..    .. n-1 n   ?    ..    A trusted: n+1, which is no harm
//
// The slot that cannot be trusted is the first to be written then, so that there is always one that
// can.
//
// A Ledger remembers where it is in the rings, so that saving reads and writes a few pages only. It
// is not safe for concurrent use; nobody else writes to these pages while there is one.
type Ledger struct {
	chip   Chip
	slots  [2]markRing
	newest uint32 // the highest sequence that was found or tried
	known  Marks  // each mark the highest that was found or tried
	lost   bool   // neither slot could be trusted when the ledger was opened
}

// markRing is what one slot holds, a place for each page.
type markRing [MarksPages]struct {
	markPage
	valid bool
}

// at is whether the page of a sequence is there and valid, and its marks.
func (r *markRing) at(sequence uint32) (Marks, bool) {
	p := &r[sequence%MarksPages]
	return p.marks, p.valid && p.sequence == sequence
}

// newest is the valid page that was written last, when there is one.
func (r *markRing) newest() (markPage, bool) {
	var n markPage
	found := false
	for i := range r {
		if p := &r[i]; p.valid && (!found || p.sequence > n.sequence) {
			n, found = p.markPage, true
		}
	}
	return n, found
}

// closed reports whether nothing was written behind the page of that sequence: there stands the
// page that would be overwritten next.
func (r *markRing) closed(sequence uint32) bool {
	_, ok := r.at(sequence - (MarksPages - 1))
	return ok
}

// trusted reports whether the newest valid page is the newest one.
func (r *markRing) trusted() bool {
	n, ok := r.newest()
	return ok && r.closed(n.sequence)
}

// OpenLedger reads all pages of both slots. The error is the chip's; marks that are lost are a
// ledger, too.
func (s *Store) OpenLedger() (*Ledger, error) {
	// A ring that was never full is filled from its first sequence on.
	l := &Ledger{chip: s.chip, newest: MarksPages - 1, lost: true}
	neverRan := true
	for _, c := range []Copy{CopyA, CopyB} {
		if err := l.read(c, 0, MarksPages); err != nil {
			return nil, err
		}
		ring := &l.slots[c]
		l.lost = l.lost && !ring.trusted()
		neverRan = neverRan && ring.trusted()
		for i := range ring {
			if p := &ring[i]; p.valid {
				l.known.Signed = max(l.known.Signed, p.marks.Signed)
				l.known.Activated = max(l.known.Activated, p.marks.Activated)
				neverRan = neverRan && p.marks.NeverRan
			}
		}
		if n, ok := ring.newest(); ok && n.sequence >= l.newest {
			l.newest, l.known.MayEmpty = n.sequence, n.marks.MayEmpty
		}
	}
	l.known.NeverRan = neverRan
	return l, nil
}

// Marks are the marks: those found when the ledger was opened, or those saved since. Signed and
// Activated are never below what was ever saved. NeverRan is only what both slots say, MayEmpty is
// what was written last. With ErrMarksLost they are what is left, perhaps below what was saved.
func (l *Ledger) Marks() (Marks, error) {
	if l.lost {
		return l.known, fmt.Errorf("nvram: %w", ErrMarksLost)
	}
	return l.known, nil
}

// Save makes marks durable: when it returns nil they are in both slots and were read back. It reads
// before it writes, and writes only what differs. No mark is lowered: what a Save tried that failed
// is the least that the next one writes. ErrMarksHigher, wrapped, says that the chip holds marks
// that this ledger knows nothing of; nothing was written then.
func (l *Ledger) Save(m Marks) error {
	for _, c := range []Copy{CopyA, CopyB} {
		if err := l.look(c); err != nil {
			return err
		}
	}
	m.Signed, m.Activated = max(m.Signed, l.known.Signed), max(m.Activated, l.known.Activated)
	m.NeverRan = m.NeverRan && l.known.NeverRan
	if l.holds(m) {
		return nil
	}
	if l.newest == math.MaxUint32 {
		return errors.New("nvram: marks: the sequence is at its end")
	}
	l.newest, l.known = l.newest+1, m
	first := CopyA
	if l.slots[CopyA].trusted() && !l.slots[CopyB].trusted() {
		first = CopyB
	}
	for _, c := range []Copy{first, 1 - first} {
		if err := l.write(c); err != nil {
			return err
		}
	}
	l.lost = false
	return nil
}

// look reads the newest page of a slot again, and the one that is written next, where somebody else
// would have written.
func (l *Ledger) look(c Copy) error {
	for _, sequence := range []uint32{l.newest, l.newest + 1} {
		if err := l.read(c, int(sequence%MarksPages), 1); err != nil {
			return err
		}
		p := &l.slots[c][sequence%MarksPages]
		if p.valid && (p.sequence > l.newest || p.marks.Signed > l.known.Signed ||
			p.marks.Activated > l.known.Activated) {
			return fmt.Errorf("nvram: copy %v of the marks: %w", c, ErrMarksHigher)
		}
	}
	return nil
}

// holds reports whether both slots can be trusted to say this.
func (l *Ledger) holds(m Marks) bool {
	for c := range l.slots {
		ring := &l.slots[c]
		if on, ok := ring.at(l.newest); !ok || on != m || !ring.closed(l.newest) {
			return false
		}
	}
	return true
}

// write puts the known marks into a slot as its newest page and reads it back. A slot that cannot
// be trusted even with it gets all of its pages anew.
func (l *Ledger) write(c Copy) error {
	first := l.newest
	if !l.slots[c].closed(l.newest) {
		first -= MarksPages - 1
	}
	for sequence := first; ; sequence++ {
		page := encodeMarks(markPage{sequence, l.known})
		if err := l.chip.WriteAt(page, c.markOffset(sequence)); err != nil {
			return fmt.Errorf("nvram: writing copy %v of the marks: %w", c, err)
		}
		back := make([]byte, MarksPageBytes)
		if err := l.chip.ReadAt(back, c.markOffset(sequence)); err != nil {
			return fmt.Errorf("nvram: reading back copy %v of the marks: %w", c, err)
		}
		l.take(c, int(sequence%MarksPages), back)
		if !bytes.Equal(back, page) {
			return fmt.Errorf("nvram: copy %v of the marks: %w", c, ErrReadBack)
		}
		if sequence == l.newest {
			return nil
		}
	}
}

// read takes n pages of a slot, from a place on.
func (l *Ledger) read(c Copy, place, n int) error {
	b := make([]byte, n*MarksPageBytes)
	if err := l.chip.ReadAt(b, c.markOffset(uint32(place))); err != nil {
		return fmt.Errorf("nvram: reading copy %v of the marks: %w", c, err)
	}
	for i := range n {
		l.take(c, place+i, b[i*MarksPageBytes:][:MarksPageBytes])
	}
	return nil
}

// take notes what a page was read as.
func (l *Ledger) take(c Copy, place int, b []byte) {
	p := &l.slots[c][place]
	p.markPage, p.valid = decodeMarks(b, place)
}
