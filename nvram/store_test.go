package nvram

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var errPower = errors.New("power lost")

// torn is a chip whose power fails during a write, once left bytes of it are stored.
type torn struct {
	Memory
	left int
}

func (c *torn) WriteAt(p []byte, off int) error {
	if c.left >= len(p) {
		c.left -= len(p)
		return c.Memory.WriteAt(p, off)
	}
	if err := c.Memory.WriteAt(p[:c.left], off); err != nil {
		return err
	}
	c.left = 0
	return errPower
}

// broken is a chip that fails as its fields say; the counts are of the calls that still succeed.
type broken struct {
	Memory
	reads, writes int
	forgets       bool // a write changes nothing and reports success
}

func (c *broken) ReadAt(p []byte, off int) error {
	if c.reads--; c.reads < 0 {
		return errPower
	}
	return c.Memory.ReadAt(p, off)
}

func (c *broken) WriteAt(p []byte, off int) error {
	if c.writes--; c.writes < 0 {
		return errPower
	}
	if c.forgets {
		return nil
	}
	return c.Memory.WriteAt(p, off)
}

// blank is an erased chip.
func blank() Memory { return bytes.Repeat([]byte{0xff}, Size) }

// put places a record by hand.
func (m Memory) put(c Copy, k Kind, sequence uint32, payload []byte) {
	copy(m[c.offset(k.place()):], encode(k, sequence, payload))
}

func open(t testing.TB, chip Chip) *Store {
	t.Helper()
	s, err := Open(chip)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// payloadOf is a payload of the kind, of its longest length, every byte v.
func payloadOf(k Kind, v byte) []byte { return bytes.Repeat([]byte{v}, k.place().max) }

func TestAChipThatIsTooSmallIsRefused(t *testing.T) {
	if _, err := Open(make(Memory, Size-1)); err == nil || !strings.Contains(err.Error(), "8191") {
		t.Errorf("error is %v, want one that names 8191 bytes", err)
	}
	open(t, make(Memory, Size))
}

func TestTheNewestValidCopyWinsAndAOnATie(t *testing.T) {
	const none = -1 // no such copy
	for _, test := range []struct {
		a, b int64
		want Copy
	}{
		{1, none, CopyA},
		{none, 1, CopyB},
		{1, 1, CopyA},
		{2, 1, CopyA},
		{1, 2, CopyB},
		{0xffffffff, 0, CopyB},
		{0, 0xffffffff, CopyA},
	} {
		chip := blank()
		if test.a != none {
			chip.put(CopyA, KindEntropy, uint32(test.a), payloadOf(KindEntropy, 0))
		}
		if test.b != none {
			chip.put(CopyB, KindEntropy, uint32(test.b), payloadOf(KindEntropy, 1))
		}
		payload, record, err := open(t, chip).read(KindEntropy)
		if err != nil || record.Copy != test.want || payload[0] != byte(test.want) {
			t.Errorf("a=%d b=%d: %v, %v, want copy %v", test.a, test.b, record, err, test.want)
		}
	}
}

func TestWritesTakeTheTwoCopiesInTurn(t *testing.T) {
	chip := blank()
	chip.put(CopyA, KindEntropy, 0xfffffffe, payloadOf(KindEntropy, 0))
	s := open(t, chip)
	for i, want := range []Record{
		{CopyB, 0xffffffff, 32, ""},
		{CopyA, 0, 32, ""},
		{CopyB, 1, 32, ""},
	} {
		payload := payloadOf(KindEntropy, byte(i+1))
		if got, err := s.write(KindEntropy, payload); err != nil || got != want {
			t.Fatalf("write %d: %v, %v, want %v", i, got, err, want)
		}
		if got, record, err := s.read(KindEntropy); err != nil || record != want ||
			!bytes.Equal(got, payload) {
			t.Fatalf("read %d: % x, %v, %v", i, got, record, err)
		}
	}
}

func TestADamagedCopyIsOverwrittenBeforeAnOlderOne(t *testing.T) {
	for _, damaged := range []Copy{CopyA, CopyB} {
		chip := blank()
		chip.put(damaged, KindEntropy, 9, payloadOf(KindEntropy, 9))
		chip[damaged.offset(KindEntropy.place())+headerBytes]++
		chip.put(1-damaged, KindEntropy, 3, payloadOf(KindEntropy, 3))
		record, err := open(t, chip).write(KindEntropy, payloadOf(KindEntropy, 4))
		if want := (Record{damaged, 4, 32, ""}); err != nil || record != want {
			t.Errorf("damaged %v: %v, %v, want %v", damaged, record, err, want)
		}
	}
}

func TestTheFirstRecordGoesToCopyA(t *testing.T) {
	record, err := open(t, blank()).write(KindEntropy, payloadOf(KindEntropy, 1))
	if want := (Record{CopyA, 1, 32, ReasonBlank}); err != nil || record != want {
		t.Errorf("%v, %v, want %v", record, err, want)
	}
}

// TestATornWriteLosesNothingOlder cuts the power at every byte of a write of every record, from
// every state of the two copies, and boots again.
func TestATornWriteLosesNothingOlder(t *testing.T) {
	for _, k := range kinds {
		for _, state := range []string{"a", "b", "ab", "ba", "aa"} {
			t.Run(fmt.Sprintf("%v/%s", k, state), func(t *testing.T) { tear(t, k, state) })
		}
	}
}

// tear makes a chip on which the copies named in state were written in that order, "aa" standing
// for both with the same sequence, and cuts the write of another record at every byte.
func tear(t *testing.T, k Kind, state string) {
	before := blank()
	for i, name := range state {
		c, sequence := Copy(name-'a'), uint32(7+i)
		if state == "aa" {
			c, sequence = Copy(i), 7
		}
		before.put(c, k, sequence, payloadOf(k, byte(sequence)))
	}
	older, _, err := open(t, before).read(k)
	if err != nil {
		t.Fatal(err)
	}
	newer := payloadOf(k, 0x5a)
	total := headerBytes + len(newer)
	for left := range total + 1 {
		chip := &torn{bytes.Clone(before), left}
		_, err := open(t, chip).write(k, newer)
		if done := left == total; done != (err == nil) || !done && !errors.Is(err, errPower) {
			t.Fatalf("cut after %d bytes: write says %v", left, err)
		}
		got, record, err := open(t, chip.Memory).read(k)
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", left, err)
		}
		// The last bytes of the record may be what stood there before, so that the new one can be
		// whole before its last byte is written.
		if bytes.Equal(got, newer) && left >= headerBytes {
			continue
		}
		if !bytes.Equal(got, older) {
			t.Fatalf("cut after %d bytes: copy %v holds % x", left, record.Copy, got)
		}
	}
}

// TestBytesStoredInAnyOrderLoseNothingOlder lets a power cut keep any subset of the bytes of a
// write: a page of an EEPROM promises no order.
func TestBytesStoredInAnyOrderLoseNothingOlder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		chip := blank()
		older := rapid.SliceOfN(rapid.Byte(), k.place().min, k.place().max).Draw(t, "older")
		next := rapid.SliceOfN(rapid.Byte(), k.place().min, k.place().max).Draw(t, "newer")
		chip.put(CopyA, k, 1, older)
		s := Store{chip}
		after := bytes.Clone(chip)
		if _, err := (&Store{Memory(after)}).write(k, next); err != nil {
			t.Fatal(err)
		}
		for i := range chip {
			if chip[i] != after[i] && rapid.Bool().Draw(t, "kept") {
				chip[i] = after[i]
			}
		}
		got, _, err := s.read(k)
		if err != nil || !bytes.Equal(got, older) && !bytes.Equal(got, next) {
			t.Fatalf("% x, %v", got, err)
		}
	})
}

func TestTwoBadCopiesAreReportedWithBothReasons(t *testing.T) {
	damage := map[Reason]func(m Memory, off int){
		ReasonBlank:   func(m Memory, off int) { copy(m[off:], bytes.Repeat([]byte{0xff}, 64)) },
		ReasonMagic:   func(m Memory, off int) { m[off] = 'X' },
		ReasonVersion: func(m Memory, off int) { m[off+atVersion] = 2 },
		ReasonLength:  func(m Memory, off int) { m[off+atLength]++ },
		ReasonCRC:     func(m Memory, off int) { m[off+headerBytes]++ },
	}
	for a, damageA := range damage {
		for b, damageB := range damage {
			chip := blank()
			chip.put(CopyA, KindIdentity, 1, payloadOf(KindIdentity, 1))
			chip.put(CopyB, KindIdentity, 2, payloadOf(KindIdentity, 2))
			damageA(chip, CopyA.offset(KindIdentity.place()))
			damageB(chip, CopyB.offset(KindIdentity.place()))
			_, _, err := open(t, chip).read(KindIdentity)
			var absent *AbsentError
			if !errors.As(err, &absent) || *absent != (AbsentError{KindIdentity, a, b}) {
				t.Errorf("a %s, b %s: %v", a, b, err)
				continue
			}
			want := a
			if a == ReasonBlank {
				want = b
			}
			if absent.Reason() != want {
				t.Errorf("a %s, b %s: in one word %s, want %s", a, b, absent.Reason(), want)
			}
		}
	}
}

// TestOneBadCopyCostsOnlyItself damages every byte of either copy in turn.
func TestOneBadCopyCostsOnlyItself(t *testing.T) {
	for _, k := range kinds {
		for _, damaged := range []Copy{CopyA, CopyB} {
			chip := blank()
			chip.put(CopyA, k, 1, payloadOf(k, 'A'))
			chip.put(CopyB, k, 2, payloadOf(k, 'B'))
			off := damaged.offset(k.place())
			for i := range headerBytes + k.place().max {
				chip[off+i] ^= 0x40
				_, record, err := open(t, chip).read(k)
				if err != nil || record.Copy != 1-damaged || record.Other == "" {
					t.Fatalf("%v: byte %d of copy %v damaged: %v, %v", k, i, damaged, record, err)
				}
				chip[off+i] ^= 0x40
			}
		}
	}
}

// TestAChipThatFailsIsAnErrorAndNoAbsence counts through the accesses of a write: two reads, one
// write, one read back.
func TestAChipThatFailsIsAnErrorAndNoAbsence(t *testing.T) {
	for _, test := range []struct {
		name          string
		reads, writes int
		forgets       bool
		want          error
	}{
		{"first copy cannot be read", 0, 1, false, errPower},
		{"second copy cannot be read", 1, 1, false, errPower},
		{"cannot be written", 2, 0, false, errPower},
		{"cannot be read back", 2, 1, false, errPower},
		{"forgets the write", 3, 1, true, ErrReadBack},
		{"works", 3, 1, false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			chip := &broken{blank(), test.reads, test.writes, test.forgets}
			chip.put(CopyA, KindEntropy, 1, payloadOf(KindEntropy, 1))
			_, err := open(t, chip).write(KindEntropy, payloadOf(KindEntropy, 2))
			var absent *AbsentError
			if !errors.Is(err, test.want) || errors.As(err, &absent) {
				t.Errorf("write says %v, want %v", err, test.want)
			}
			if _, _, err := open(t, chip.Memory).read(KindEntropy); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestTheOlderCopyIsNotServedForOneThatCannotBeRead would find the boot counter going back.
func TestTheOlderCopyIsNotServedForOneThatCannotBeRead(t *testing.T) {
	for reads := range 3 {
		chip := &broken{Memory: blank(), reads: reads}
		chip.put(CopyA, KindEntropy, 1, payloadOf(KindEntropy, 1))
		chip.put(CopyB, KindEntropy, 2, payloadOf(KindEntropy, 2))
		_, record, err := open(t, chip).read(KindEntropy)
		if readable := reads == 2; readable != (err == nil) ||
			!readable && !errors.Is(err, errPower) {
			t.Errorf("%d copies readable: %v, %v", reads, record, err)
		}
	}
}

func TestMemoryRefusesWhatLiesOutside(t *testing.T) {
	const huge = int(^uint(0) >> 1)
	for _, test := range []struct {
		off, n int
		ok     bool
	}{
		{0, 8, true}, {7, 1, true}, {8, 0, true},
		{0, 9, false}, {7, 2, false}, {8, 1, false}, {9, 0, false},
		{-1, 1, false}, {huge, 1, false},
	} {
		m, p := make(Memory, 8), make([]byte, test.n)
		for _, err := range []error{m.ReadAt(p, test.off), m.WriteAt(p, test.off)} {
			if test.ok != (err == nil) || err != nil && !errors.Is(err, ErrRange) {
				t.Errorf("%d bytes at %d of 8: %v", test.n, test.off, err)
			}
		}
	}
}
