package nvram

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

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
