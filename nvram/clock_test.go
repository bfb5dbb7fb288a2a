package nvram

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// keeper is a time keeper that goes on by step with every look at it.
type keeper struct {
	time time.Time
	step time.Duration
	err  error
}

func (k *keeper) Time() (time.Time, error) {
	k.time = k.time.Add(k.step)
	return k.time, k.err
}

func (k *keeper) SetTime(t time.Time) error {
	if k.err == nil || errors.Is(k.err, ErrNoTime) {
		k.time, k.err = t, nil
	}
	return k.err
}

// traced is a chip that writes down the accesses to it and fails at one of them.
type traced struct {
	Chip
	log   []string
	fails int // counted from 1
}

func (c *traced) ReadAt(p []byte, off int) error {
	if c.log = append(c.log, fmt.Sprintf("r%02x+%d", off, len(p))); len(c.log) == c.fails {
		return errPower
	}
	return c.Chip.ReadAt(p, off)
}

func (c *traced) WriteAt(p []byte, off int) error {
	if c.log = append(c.log, fmt.Sprintf("w%02x=%x", off, p)); len(c.log) == c.fails {
		return errPower
	}
	return c.Chip.WriteAt(p, off)
}

func TestRegistersStandForATime(t *testing.T) {
	const none = "none"
	for _, test := range []struct {
		name      string
		registers string // 00-0a
		want      string
	}{
		{"delivered, then started", "00000000000000000101 00", "2000-01-01T00:00:00"},
		{"last", "99595900230000003112 99", "2099-12-31T23:59:59.99"},
		{"alarms and weekday do not matter", "01020399040507070806 26", "2026-06-08T04:03:02.01"},
		{"square wave off", "00000000000000000141 00", "2000-01-01T00:00:00"},
		{"leap day", "00000000000000002902 24", "2024-02-29T00:00:00"},
		{"no leap day", "00000000000000002902 23", none},
		{"12 in the night", "00000000520000000101 00", "2000-01-01T00:00:00"},
		{"1 in the night", "00000000410000000101 00", "2000-01-01T01:00:00"},
		{"12 at noon", "00000000720000000101 00", "2000-01-01T12:00:00"},
		{"11 in the evening", "00000000710000000101 00", "2000-01-01T23:00:00"},
		{"0 of 12 hours", "00000000400000000101 00", none},
		{"13 of 12 hours", "00000000530000000101 00", none},
		{"hour 24", "00000000240000000101 00", none},
		{"minute 60", "00006000000000000101 00", none},
		{"second 60", "00600000000000000101 00", none},
		{"no decimal digit", "0a000000000000000101 00", none},
		{"no decimal tens", "a0000000000000000101 00", none},
		{"no decimal year", "00000000000000000101 a0", none},
		{"day 0", "00000000000000000001 00", none},
		{"day 31 of 30", "00000000000000003104 00", none},
		{"month 0", "00000000000000000100 00", none},
		{"month 13", "00000000000000000113 00", none},
		{"blank RAM", "ffffffffffffffffffff ff", "stopped"},
		{"stopped", "00000000000000000181 00", "stopped"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var registers []byte
			fmt.Sscanf(strings.ReplaceAll(test.registers, " ", ""), "%x", &registers)
			chip := make(Memory, 64)
			copy(chip, registers)
			got, err := NewClock(chip).Now()
			switch test.want {
			case none:
				if !errors.Is(err, ErrNoTime) {
					t.Errorf("%v, %v, want none", got, err)
				}
			case "stopped":
				if !errors.Is(err, ErrStopped) {
					t.Errorf("%v, %v, want stopped", got, err)
				}
			default:
				if text := got.Format("2006-01-02T15:04:05.99"); err != nil || text != test.want {
					t.Errorf("%v, %v, want %s", text, err, test.want)
				}
			}
		})
	}
}

// TestTheRegistersAreFrozenWhileTheyAreUsed is the data sheet's protocol, access by access, with
// the other bits of the command register kept and the alarm's registers left alone.
func TestTheRegistersAreFrozenWhileTheyAreUsed(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(c *Clock) error
		want string
	}{
		{"read", func(c *Clock) error { _, err := c.Now(); return err },
			"r0b+1 w0b=44 r00+3 r04+1 r06+1 r08+3 w0b=c4"},
		{"set", func(c *Clock) error {
			return c.Set(time.Date(2026, 11, 30, 13, 14, 15, 160e6, time.UTC))
		}, "r0b+1 w0b=44 r09+1 w00=161514 w04=13 w06=02 w08=305126 w0b=c4"},
	} {
		memory := make(Memory, 64)
		memory[regCommand] = 0xc7 // with both flags set
		memory[regMonth], memory[regDay] = 0x41, 1
		chip := &traced{Chip: memory}
		if err := test.do(NewClock(chip)); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if got := strings.Join(chip.log, " "); got != test.want {
			t.Errorf("%s: %s\nwant %s", test.name, got, test.want)
		}
	}
}

func TestTheRegistersAreReleasedWhateverFails(t *testing.T) {
	for fails := 2; fails <= 9; fails++ {
		for _, do := range []func(c *Clock) error{
			func(c *Clock) error { _, err := c.Now(); return err },
			func(c *Clock) error { return c.Set(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) },
		} {
			memory := make(Memory, 64)
			memory[regMonth], memory[regDay] = 1, 1
			chip := &traced{Chip: memory, fails: fails}
			err := do(NewClock(chip))
			if failed := len(chip.log) >= fails; failed != errors.Is(err, errPower) {
				t.Errorf("access %d fails: %v", fails, err)
			}
			if last := chip.log[len(chip.log)-1]; last != "w0b=80" {
				t.Errorf("access %d fails: the last one is %s", fails, last)
			}
		}
	}
}

func TestYearsThatTwoDigitsCannotSayAreRefused(t *testing.T) {
	for _, year := range []int{1999, 2000, 2099, 2100} {
		err := NewClock(make(Memory, 64)).Set(time.Date(year, 1, 1, 12, 0, 0, 0, time.UTC))
		if legal := year >= 2000 && year <= 2099; legal != (err == nil) {
			t.Errorf("%d: %v", year, err)
		}
	}
}

// TestAReadingIsNeverTornByACarry reads a clock that goes on by almost a second between any two
// looks: were one register read after another carry than the next, the time would be wrong.
func TestAReadingIsNeverTornByACarry(t *testing.T) {
	k := &keeper{
		time: time.Date(2029, 12, 31, 23, 58, 50, 0, time.UTC),
		step: 990 * time.Millisecond,
	}
	clock := NewClock(NewDS1386(make(Memory, Size), k))
	last := k.time
	for range 200 {
		now, err := clock.Now()
		if err != nil {
			t.Fatal(err)
		}
		if now.Before(last) || now.After(k.time) {
			t.Fatalf("%v after %v, at %v", now, last, k.time)
		}
		last = now
	}
}

func TestATimeThatWasSetIsRead(t *testing.T) {
	first := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	end := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		hundredths := rapid.Int64Range(0, end.Sub(first).Milliseconds()/10-1).Draw(t, "hundredths")
		want := first.Add(time.Duration(hundredths) * 10 * time.Millisecond)
		chip := NewDS1386(make(Memory, Size), new(keeper))
		if rapid.Bool().Draw(t, "12 hours") {
			if err := chip.WriteAt([]byte{hours12}, regHours); err != nil {
				t.Fatal(err)
			}
		}
		clock := NewClock(chip)
		zone := time.FixedZone("", rapid.IntRange(-12, 12).Draw(t, "zone")*3600)
		if err := clock.Set(want.In(zone).Add(9 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if got, err := clock.Now(); err != nil || !got.Equal(want) {
			t.Fatalf("read %v, %v, want %v", got, err, want)
		}
	})
}

func TestRegistersStandStillWhileTransferIsClear(t *testing.T) {
	// Below a hundredth of a second, so that a clock which is set to its own time is noticed.
	k := &keeper{time: time.Date(2026, 1, 1, 0, 0, 0, 5e6, time.UTC), step: time.Second}
	chip := NewDS1386(make(Memory, Size), k)
	seconds := func() byte {
		var b [1]byte
		if err := chip.ReadAt(b[:], regSeconds); err != nil {
			t.Fatal(err)
		}
		return b[0]
	}
	write := func(reg int, v byte) {
		if err := chip.WriteAt([]byte{v}, reg); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := seconds(), seconds(); a == b {
		t.Errorf("second %x twice", a)
	}
	write(regSeconds, 0x59)
	if s := seconds(); s == 0x59 {
		t.Error("a write without freezing stayed")
	}
	write(regCommand, 0)
	if a, b := seconds(), seconds(); a != b {
		t.Errorf("frozen, and from %x to %x", a, b)
	}
	before := k.time
	write(regCommand, transfer)
	if !k.time.Equal(before) {
		t.Error("the clock was set although nothing was written")
	}
	write(regCommand, 0)
	write(regSeconds, 0x59)
	write(regCommand, transfer)
	if k.time.Second() != 59 {
		t.Errorf("set to %v, want second 59", k.time)
	}
	write(regCommand, 0)
	write(regSeconds, 0x60)
	if err := chip.WriteAt([]byte{transfer}, regCommand); !errors.Is(err, ErrNoTime) {
		t.Errorf("second 60: %v", err)
	}
}

func TestBitsThatDoNotExistReadZero(t *testing.T) {
	k := &keeper{time: time.Date(2026, 1, 1, 5, 0, 0, 0, time.FixedZone("", 5*3600))}
	chip := NewDS1386(make(Memory, Size), k)
	if err := chip.WriteAt(bytes.Repeat([]byte{0xff}, clockBytes), 0); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, clockBytes)
	if err := chip.ReadAt(got, 0); err != nil {
		t.Fatal(err)
	}
	// 12 in the night of 2026-01-01, a Thursday, with the flags of the month as written; the alarm,
	// the command without its flags, the watchdog.
	want := []byte{0, 0, 0, 0xff, 0x52, 0xff, 5, 0x87, 1, 0xc1, 0x26, 0xfc, 0xff, 0xff}
	if !bytes.Equal(got, want) {
		t.Errorf("registers are % x\nwant          % x", got, want)
	}
}

func TestTheRAMBeginsBehindTheRegisters(t *testing.T) {
	ram := Memory(bytes.Repeat([]byte{0xee}, Size))
	chip := NewDS1386(ram, &keeper{time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err := chip.WriteAt([]byte{0x12, 0x34, 0x56}, clockBytes-1); err != nil {
		t.Fatal(err)
	}
	want := append(bytes.Repeat([]byte{0xee}, clockBytes), 0x34, 0x56, 0xee)
	if !bytes.Equal(ram[:len(want)], want) {
		t.Errorf("RAM is % x", ram[:clockBytes+3])
	}
	got := make([]byte, 4)
	if err := chip.ReadAt(got, clockBytes-1); err != nil || string(got) != "\x12\x34\x56\xee" {
		t.Errorf("read % x, %v", got, err)
	}
	for _, test := range []struct{ off, n int }{{-1, 1}, {Size, 1}, {Size - 1, 2}, {0, Size + 1}} {
		p := make([]byte, test.n)
		for _, err := range []error{chip.ReadAt(p, test.off), chip.WriteAt(p, test.off)} {
			if !errors.Is(err, ErrRange) {
				t.Errorf("%d bytes at %d: %v", test.n, test.off, err)
			}
		}
	}
	if err := open(t, chip).SaveEntropy(secretOf(1)); err != nil {
		t.Error(err)
	}
}

func TestAClockWithoutATimeCanBeSet(t *testing.T) {
	for _, k := range []*keeper{
		{time: time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)},
		{time: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time: time.Date(2160, 1, 1, 0, 0, 0, 0, time.UTC)}, // 16 tens do not fit into four bits
		{err: fmt.Errorf("DS1338: %w", ErrNoTime)},
	} {
		clock := NewClock(NewDS1386(make(Memory, Size), k))
		if got, err := clock.Now(); !errors.Is(err, ErrNoTime) {
			t.Errorf("%v, %v: reads %v, %v", k.time, k.err, got, err)
		}
		want := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		if err := clock.Set(want); err != nil {
			t.Errorf("setting: %v", err)
		}
		if got, err := clock.Now(); err != nil || !got.Equal(want) {
			t.Errorf("then reads %v, %v", got, err)
		}
	}
}

func TestAFailingTimeKeeperIsAnError(t *testing.T) {
	k := &keeper{err: errPower}
	clock := NewClock(NewDS1386(make(Memory, Size), k))
	if err := clock.Set(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)); !errors.Is(err, errPower) {
		t.Errorf("set: %v", err)
	}
	if _, err := clock.Now(); !errors.Is(err, errPower) {
		t.Errorf("read: %v", err)
	}
}
