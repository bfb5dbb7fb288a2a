package nvram

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
)

// newChip is a provisioned chip.
func newChip(t testing.TB) Memory {
	t.Helper()
	image, err := Provision{Environment: new(Environment)}.Image()
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// fataler is a test or a property's.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

func ledger(t fataler, chip Chip) *Ledger {
	t.Helper()
	l, err := (&Store{chip}).OpenLedger()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// signed are marks with the highest epoch that was signed and the one before it activated.
func signed(epoch uint64) Marks { return Marks{Signed: epoch, Activated: epoch - 1} }

// savedUpTo is a chip on which the epochs from 1 on were signed, one after the other.
func savedUpTo(t fataler, chip Memory, epoch uint64) Memory {
	t.Helper()
	l := ledger(t, chip)
	for e := uint64(1); e <= epoch; e++ {
		if err := l.Save(signed(e)); err != nil {
			t.Fatal(err)
		}
	}
	return chip
}

// slot is the bytes of a ring.
func (m Memory) slot(c Copy) []byte { return m[c.markOffset(0):][:MarksPages*MarksPageBytes] }

// page is the bytes of the page of a sequence.
func (m Memory) page(c Copy, sequence uint32) []byte {
	return m[c.markOffset(sequence):][:MarksPageBytes]
}

func wipe(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

func TestMarksAreFoundAgainAllAroundTheRing(t *testing.T) {
	chip := newChip(t)
	for epoch := uint64(1); epoch <= 3*MarksPages; epoch++ {
		for _, want := range []Marks{signed(epoch), {Signed: epoch, Activated: epoch}} {
			if err := ledger(t, chip).Save(want); err != nil {
				t.Fatal(err)
			}
			if got, err := ledger(t, chip).Marks(); err != nil || got != want {
				t.Fatalf("%+v, %v, want %+v", got, err, want)
			}
		}
	}
}

// Every write takes the page that was written longest ago, in both slots.
func TestTheWritesAreSpreadOverAllPages(t *testing.T) {
	chip := &counted{Memory: newChip(t)}
	l := ledger(t, chip)
	for epoch := uint64(1); epoch <= 2*MarksPages; epoch++ {
		if err := l.Save(signed(epoch)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []Copy{CopyA, CopyB} {
		for i := range uint32(MarksPages) {
			if n := chip.writes[c.markOffset(i)]; n != 2 {
				t.Errorf("page %d of copy %v was written %d times in %d saves", i, c, n, 2*MarksPages)
			}
		}
	}
	if len(chip.writes) != 2*MarksPages {
		t.Errorf("written elsewhere: %v", chip.writes)
	}
}

// counted counts the writes to each offset, and the bytes read.
type counted struct {
	Memory
	writes map[int]int
	read   int
}

func (c *counted) ReadAt(p []byte, off int) error {
	c.read += len(p)
	return c.Memory.ReadAt(p, off)
}

func (c *counted) WriteAt(p []byte, off int) error {
	if c.writes == nil {
		c.writes = make(map[int]int)
	}
	c.writes[off]++
	return c.Memory.WriteAt(p, off)
}

// Bytes on a slow bus are what a save costs.
func TestASaveReadsAndWritesAFewPages(t *testing.T) {
	chip := &counted{Memory: newChip(t)}
	l := ledger(t, chip)
	chip.read = 0
	for range 2 {
		if err := l.Save(signed(1)); err != nil {
			t.Fatal(err)
		}
	}
	// Two pages of each slot before, one of each behind; the second time nothing is to be written.
	if want := (2*2*2 + 2) * MarksPageBytes; chip.read != want || len(chip.writes) != 2 {
		t.Errorf("read %d bytes, want %d; writes %v", chip.read, want, chip.writes)
	}
}

func TestNoMarkIsLowered(t *testing.T) {
	chip := savedUpTo(t, newChip(t), 5)
	l := ledger(t, chip)
	if err := l.Save(Marks{Signed: 3, Activated: 7, NeverRan: true}); err != nil {
		t.Fatal(err)
	}
	want := Marks{Signed: 5, Activated: 7}
	for _, l := range []*Ledger{l, ledger(t, chip)} {
		if got, err := l.Marks(); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
}

// A save of what is known already makes a damaged slot whole.
func TestASaveRepairsASlot(t *testing.T) {
	const newest = MarksPages - 1 + 5
	for _, damaged := range []uint32{newest, newest + 1} {
		for _, c := range []Copy{CopyA, CopyB} {
			chip := savedUpTo(t, newChip(t), 5)
			wipe(chip.page(c, damaged))
			if err := ledger(t, chip).Save(signed(5)); err != nil {
				t.Fatal(err)
			}
			wipe(chip.slot(1 - c))
			if got, err := ledger(t, chip).Marks(); err != nil || got != signed(5) {
				t.Errorf("page %d of copy %v damaged and saved: %+v, %v", damaged, c, got, err)
			}
		}
	}
}

// A second writer with another ledger, as a copy of the machine on the same chip would be.
func TestSomebodyElsesMarksAreNotOverwritten(t *testing.T) {
	for writes := 1; writes < MarksPages; writes++ {
		chip := savedUpTo(t, newChip(t), 5)
		mine, other := ledger(t, chip), ledger(t, chip)
		for i := range writes {
			if err := other.Save(signed(uint64(6 + i))); err != nil {
				t.Fatal(err)
			}
		}
		before := slices.Clone(chip)
		for _, m := range []Marks{signed(5), signed(6), signed(1000)} {
			if err := mine.Save(m); !errors.Is(err, ErrMarksHigher) {
				t.Errorf("%d foreign writes: saving %+v: %v", writes, m, err)
			}
		}
		if !bytes.Equal(chip, before) {
			t.Errorf("%d foreign writes: overwritten", writes)
		}
	}
	// A page behind the newest one is somebody else's even when it says nothing higher.
	chip := savedUpTo(t, newChip(t), 5)
	mine := ledger(t, chip)
	if err := ledger(t, chip).Save(Marks{Signed: 5, Activated: 4, MayEmpty: true}); err != nil {
		t.Fatal(err)
	}
	if err := mine.Save(signed(6)); !errors.Is(err, ErrMarksHigher) {
		t.Errorf("saved over a page of somebody else: %v", err)
	}
}

// What this ledger tried itself is nobody else's, whatever became of it.
func TestAFailedSaveIsTriedAgain(t *testing.T) {
	for left := range 2 * MarksPageBytes {
		chip := &torn{savedUpTo(t, newChip(t), 5), left}
		l := ledger(t, chip)
		if err := l.Save(signed(6)); !errors.Is(err, errPower) {
			t.Fatal(err)
		}
		chip.left = math.MaxInt
		for _, m := range []Marks{signed(5), signed(6), signed(7)} { // a look, the retry, the next
			if err := l.Save(m); err != nil {
				t.Fatalf("cut after %d bytes, then saving %+v: %v", left, m, err)
			}
			got, err := ledger(t, chip.Memory).Marks()
			if want := signed(max(6, m.Signed)); err != nil || got != want {
				t.Fatalf("cut after %d bytes: %+v, %v, want %+v", left, got, err, want)
			}
		}
	}
}

func TestAChipThatFailsFailsTheSave(t *testing.T) {
	for _, test := range []struct {
		name          string
		reads, writes int
		forgets       bool
		want          error
	}{
		{"cannot be read before", 0, 2, false, errPower},
		{"cannot be written", 4, 0, false, errPower},
		{"cannot be read back", 4, 2, false, errPower},
		{"forgets", 6, 2, true, ErrReadBack},
		{"fails in the second slot", 6, 1, false, errPower},
		{"works", 6, 2, false, nil},
	} {
		chip := &broken{Memory: newChip(t), reads: 2, writes: test.writes, forgets: test.forgets}
		l := ledger(t, chip)
		chip.reads = test.reads
		if err := l.Save(signed(1)); !errors.Is(err, test.want) || test.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	for reads := range 2 {
		if _, err := (&Store{&broken{Memory: newChip(t), reads: reads}}).OpenLedger(); err == nil {
			t.Error("opened although the chip does not answer")
		}
	}
}

func TestTheSequenceHasAnEnd(t *testing.T) {
	chip := newChip(t)
	for i := range uint32(MarksPages) {
		sequence := math.MaxUint32 - i
		for _, c := range []Copy{CopyA, CopyB} {
			copy(chip.page(c, sequence), encodeMarks(markPage{sequence, signed(9)}))
		}
	}
	l := ledger(t, chip)
	if got, err := l.Marks(); err != nil || got != signed(9) {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := l.Save(signed(10)); err == nil {
		t.Error("saved behind the end")
	}
}

func FuzzLedger(f *testing.F) {
	whole := savedUpTo(f, newChip(f), MarksPages+3)
	f.Add(whole.slot(CopyA), whole.slot(CopyB))
	f.Add(newChip(f).slot(CopyA), whole.slot(CopyB))
	f.Add([]byte{}, []byte{0xff})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		chip := blank()
		copy(chip.slot(CopyA), a)
		copy(chip.slot(CopyB), b)
		l := ledger(t, chip)
		found, _ := l.Marks()
		if l.newest == math.MaxUint32 {
			return
		}
		want := Marks{Signed: found.Signed + 1, Activated: found.Activated}
		if want.Signed == 0 {
			return
		}
		if err := l.Save(want); err != nil {
			t.Fatal(err)
		}
		if got, err := ledger(t, chip).Marks(); err != nil || got != want {
			t.Fatalf("%+v, %v, want %+v", got, err, want)
		}
	})
}
