package nvram

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
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

func TestThePageIsAsTheTableSays(t *testing.T) {
	got := encodeMarks(markPage{0x01020304, Marks{0x1112131415161718, 0x2122232425262728, true, true}})
	want := []byte{
		'H', 'F', 'M', 'K', 3, 0, 0, 0, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
		0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 4, 3, 2, 1, 0x6c, 0x0e, 0xf6, 0xf0,
	}
	if !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}
}

func TestOnlyAWholePageInItsPlaceIsValid(t *testing.T) {
	page := markPage{21, Marks{Signed: 7, Activated: 6, MayEmpty: true}}
	b := encodeMarks(page)
	if got, ok := decodeMarks(b, 5); !ok || got != page {
		t.Fatalf("%+v, %v", got, ok)
	}
	if _, ok := decodeMarks(b, 6); ok {
		t.Error("valid in another place")
	}
	for bit := range 8 * len(b) {
		b[bit/8] ^= 1 << (bit % 8)
		if _, ok := decodeMarks(b, 5); ok {
			t.Errorf("valid with bit %d flipped", bit)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
	for _, fill := range []byte{0x00, 0xff} {
		if _, ok := decodeMarks(bytes.Repeat([]byte{fill}, MarksPageBytes), 0); ok {
			t.Errorf("valid although all is %#x", fill)
		}
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

// TestATornSaveLosesNothingThatCounted cuts the power at every byte of a save, with either slot
// damaged before or none, on every page of the ring.
func TestATornSaveLosesNothingThatCounted(t *testing.T) {
	for before := uint64(0); before <= MarksPages+1; before++ {
		whole := savedUpTo(t, newChip(t), before)
		next := signed(before + 1)
		for left := range 2*MarksPageBytes + 1 {
			chip := &torn{slices.Clone(whole), left}
			err := ledger(t, chip).Save(next)
			if done := left == 2*MarksPageBytes; done != (err == nil) {
				t.Fatalf("cut after %d bytes: %v", left, err)
			}
			got, lost := ledger(t, chip.Memory).Marks()
			if lost != nil || got.Signed < before || got.Signed > before+1 {
				t.Fatalf("%d saved, cut after %d bytes: %+v, %v", before, left, got, lost)
			}
			if got.NeverRan && (before > 0 || left >= MarksPageBytes) {
				t.Fatalf("%d saved, cut after %d bytes: never ran", before, left)
			}
			// The next boot goes on from there.
			if err := ledger(t, chip.Memory).Save(signed(before + 2)); err != nil {
				t.Fatal(err)
			}
			if got, err := ledger(t, chip.Memory).Marks(); err != nil || got != signed(before+2) {
				t.Fatalf("%d saved, cut after %d bytes, and saved: %+v, %v", before, left, got, err)
			}
		}
	}
}

// TestDamageToOneSlotCostsNothing wipes or flips every part of either slot, on every page of the
// ring.
func TestDamageToOneSlotCostsNothing(t *testing.T) {
	for saved := uint64(1); saved <= MarksPages+1; saved++ {
		whole := savedUpTo(t, newChip(t), saved)
		for _, c := range []Copy{CopyA, CopyB} {
			check := func(what string, i int, damage func(slot []byte)) {
				chip := slices.Clone(whole)
				damage(chip.slot(c))
				if got, err := ledger(t, chip).Marks(); err != nil || got != signed(saved) {
					t.Fatalf("%d saved, copy %v with %s %d: %+v, %v", saved, c, what, i, got, err)
				}
			}
			check("all wiped", 0, wipe)
			check("all zero", 0, func(slot []byte) { clear(slot) })
			check("the delivered pages", 0, func(slot []byte) { copy(slot, newChip(t).slot(c)) })
			for i := range MarksPages {
				check("page wiped", i, func(slot []byte) { wipe(slot[i*MarksPageBytes:][:MarksPageBytes]) })
			}
			for i := range MarksPages * MarksPageBytes {
				check("a bit flipped in byte", i, func(slot []byte) { slot[i] ^= 1 << (i % 8) })
				check("torn at byte", i, func(slot []byte) { wipe(slot[i:]) })
			}
		}
	}
}

// Damage to both slots may cost the marks, which an operator has to replace; it never gives lower
// ones.
func TestDamageToBothSlotsIsNeverALowerMark(t *testing.T) {
	for saved := uint64(1); saved <= MarksPages+1; saved++ {
		whole := savedUpTo(t, newChip(t), saved)
		for i := range MarksPages {
			for j := range MarksPages {
				chip := slices.Clone(whole)
				wipe(chip.page(CopyA, uint32(i)))
				chip.page(CopyB, uint32(j))[atMarkSigned] ^= 1
				got, err := ledger(t, chip).Marks()
				if err == nil && got != signed(saved) {
					t.Fatalf("%d saved, pages %d and %d damaged: %+v", saved, i, j, got)
				}
				if err != nil && !errors.Is(err, ErrMarksLost) {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestWhatHitsTheNewestPageOfBothSlotsLosesTheMarks(t *testing.T) {
	const newest = MarksPages - 1 + 5
	for name, damage := range map[string]func(page []byte){
		"wiped":   wipe,
		"flipped": func(page []byte) { page[3] ^= 0x80 },
		"zeroed":  func(page []byte) { clear(page) },
	} {
		chip := savedUpTo(t, newChip(t), 5)
		damage(chip.page(CopyA, newest))
		damage(chip.page(CopyB, newest))
		got, err := ledger(t, chip).Marks()
		if !errors.Is(err, ErrMarksLost) || got != signed(4) {
			t.Errorf("%s: %+v, %v, want lost marks, and what is left of them", name, got, err)
		}
	}
	for _, fill := range []byte{0x00, 0xff} {
		chip := Memory(bytes.Repeat([]byte{fill}, Size))
		if got, err := ledger(t, chip).Marks(); !errors.Is(err, ErrMarksLost) || got != (Marks{}) {
			t.Errorf("all %#x: %+v, %v", fill, got, err)
		}
	}
}

func TestALostLedgerIsWrittenAnewAsAWhole(t *testing.T) {
	for name, damage := range map[string]func(m Memory){
		"wiped": func(m Memory) { wipe(m) },
		"damaged": func(m Memory) {
			wipe(m.page(CopyA, MarksPages+4))
			wipe(m.page(CopyB, MarksPages+4))
		},
		"garbage": func(m Memory) {
			for i := range m {
				m[i] = byte(i * 31)
			}
		},
	} {
		chip := savedUpTo(t, newChip(t), 5)
		damage(chip)
		l := ledger(t, chip)
		if err := l.Save(signed(100)); err != nil {
			t.Fatal(name, err)
		}
		if got, err := l.Marks(); err != nil || got != signed(100) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		for epoch := uint64(100); epoch < 100+2*MarksPages; epoch++ {
			for _, c := range []Copy{CopyA, CopyB} { // and stands the loss of either slot
				half := slices.Clone(chip)
				wipe(half.slot(c))
				if got, err := ledger(t, half).Marks(); err != nil || got != signed(epoch) {
					t.Fatalf("%s: %+v, %v, want %+v", name, got, err, signed(epoch))
				}
			}
			if err := ledger(t, chip).Save(signed(epoch + 1)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestNeverRanIsOnlyWhatBothSlotsSay(t *testing.T) {
	for _, c := range []Copy{CopyA, CopyB} {
		for i := range uint32(MarksPages) {
			chip := newChip(t)
			chip.page(c, i)[0] ^= 1
			got, err := ledger(t, chip).Marks()
			// Pages 15, the newest, and 0, behind it, are those that decide.
			if want := i != 0 && i != MarksPages-1; err != nil || got.NeverRan != want {
				t.Errorf("page %d of copy %v damaged: never-ran %v, want %v, %v", i, c, got.NeverRan,
					want, err)
			}
		}
	}
}

func TestMayStartEmptyIsOneShot(t *testing.T) {
	chip := savedUpTo(t, newChip(t), 5)
	l := ledger(t, chip)
	m, err := l.Marks()
	if err != nil {
		t.Fatal(err)
	}
	m.MayEmpty = true
	if err := l.Save(m); err != nil {
		t.Fatal(err)
	}
	if got, err := ledger(t, chip).Marks(); err != nil || got != m {
		t.Errorf("%+v, %v, want %+v", got, err, m)
	}
	for left := range 2 * MarksPageBytes {
		torn := &torn{slices.Clone(chip), left}
		if err := ledger(t, torn).Save(signed(6)); !errors.Is(err, errPower) {
			t.Fatal(err)
		}
		got, err := ledger(t, torn.Memory).Marks()
		if err != nil || got.MayEmpty && got.Signed != 5 {
			t.Errorf("cut after %d bytes: %+v, %v", left, got, err)
		}
	}
	if err := ledger(t, chip).Save(signed(6)); err != nil {
		t.Fatal(err)
	}
	if got, err := ledger(t, chip).Marks(); err != nil || got != signed(6) {
		t.Errorf("%+v, %v", got, err)
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

// unordered is a chip whose power fails in a write, once left ones are done: of that one, any bytes
// are stored, as kept says.
type unordered struct {
	Memory
	left int
	kept func() bool
}

func (c *unordered) WriteAt(p []byte, off int) error {
	if c.left--; c.left >= 0 {
		return c.Memory.WriteAt(p, off)
	}
	for i := range p {
		if c.left == -1 && c.kept() {
			c.Memory[off+i] = p[i]
		}
	}
	return errPower
}

// TestMarksSurviveWhatAChipCanDo lets boots save, lose power at any write, and find a slot damaged
// or wiped. What was saved last counts, and an authority that has signed is never one that never
// ran.
func TestMarksSurviveWhatAChipCanDo(t *testing.T) {
	whole := newChip(t)
	rapid.Check(t, func(t *rapid.T) {
		chip := slices.Clone(whole)
		l := ledger(t, chip)
		counts, tried := Marks{NeverRan: true}, uint64(0)
		next := func() Marks {
			tried += rapid.Uint64Range(1, 3).Draw(t, "epochs")
			return signed(tried)
		}
		t.Repeat(map[string]func(*rapid.T){
			"save": func(t *rapid.T) {
				m := next()
				if err := l.Save(m); err != nil {
					t.Fatal(err)
				}
				counts = m
			},
			"lose power": func(t *rapid.T) {
				l.chip = &unordered{chip, rapid.IntRange(0, 1).Draw(t, "writes"), func() bool {
					return rapid.Bool().Draw(t, "kept")
				}}
				if err := l.Save(next()); !errors.Is(err, errPower) {
					t.Fatal(err)
				}
				l = ledger(t, chip)
			},
			"reboot": func(*rapid.T) { l = ledger(t, chip) },
			"damage": func(t *rapid.T) {
				// Two faults at once are not survived: first both slots are made whole.
				if err := l.Save(next()); err != nil {
					t.Fatal(err)
				}
				counts = signed(tried)
				slot := chip.slot(rapid.SampledFrom([]Copy{CopyA, CopyB}).Draw(t, "slot"))
				from := rapid.IntRange(0, len(slot)-1).Draw(t, "from")
				to := rapid.IntRange(from+1, len(slot)).Draw(t, "to")
				fill := rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "bytes")
				copy(slot[from:to], bytes.Repeat(fill, len(slot)))
				l = ledger(t, chip)
			},
			"": func(t *rapid.T) {
				got, err := ledger(t, chip).Marks()
				if err != nil || got.Signed < counts.Signed || got.Activated < counts.Activated ||
					got.Signed > tried || got.NeverRan && !counts.NeverRan {
					t.Fatalf("%+v, %v; %+v counts, %d tried", got, err, counts, tried)
				}
			},
		})
	})
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
