package ds1338

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const address = 0x68

// chip is a DS1338 as its data sheet has it: a pointer, registers, and time that the test makes.
type chip struct {
	registers [64]byte
	pointer   byte
	err       error // of every transaction
	log       []string
}

func (c *chip) Tx(to uint8, w, r []byte) error {
	c.log = append(c.log, fmt.Sprintf("% x, %d back", w, len(r)))
	if to != address {
		return fmt.Errorf("address %#x", to)
	}
	if c.err != nil {
		return c.err
	}
	if len(w) > 0 {
		c.pointer = w[0]
		for _, v := range w[1:] {
			c.registers[c.pointer] = v
			c.pointer = (c.pointer + 1) % 64
		}
	}
	for i := range r {
		r[i] = c.registers[c.pointer]
		c.pointer = (c.pointer + 1) % 64
	}
	return nil
}

// holding is a chip with these registers, from the second on.
func holding(r ...byte) *chip {
	c := new(chip)
	copy(c.registers[:], r)
	return c
}

// running is a chip at 2026-11-30T02:52:46.
func running() *chip { return holding(0x46, 0x52, 0x02, 2, 0x30, 0x11, 0x26) }

func open(t *testing.T, c *chip) *Device {
	t.Helper()
	d, err := Open(c, address)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestARunningClockIsReadInOneTransaction(t *testing.T) {
	c := running()
	d := open(t, c)
	got, err := d.Time()
	want := time.Date(2026, time.November, 30, 2, 52, 46, 0, time.UTC)
	if err != nil || !got.Equal(want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if want := []string{"00, 7 back", "00, 7 back"}; !slices.Equal(c.log, want) {
		t.Errorf("transactions %q, want %q", c.log, want)
	}
}

func TestOpenMakesTheClockRunInTwentyFourHours(t *testing.T) {
	for _, test := range []struct {
		name   string
		before *chip
		after  []byte
	}{
		{"running", running(), []byte{0x46, 0x52, 0x02, 2, 0x30, 0x11, 0x26}},
		{"halted", holding(0xc6, 0x52, 0x02, 2, 0x30, 0x11, 0x26), []byte{0, 0, 0, 7, 1, 1, 0}},
		{"new", holding(0x80, 0, 0, 0, 0, 0, 0), []byte{0, 0, 0, 7, 1, 1, 0}},
		{"of garbage", holding(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), []byte{0, 0, 0, 7, 1, 1, 0}},
		{"at one in the afternoon", holding(0x59, 0x59, 0x61, 5, 0x29, 0x02, 0x24),
			[]byte{0x59, 0x59, 0x13, 5, 0x29, 0x02, 0x24}},
	} {
		d := open(t, test.before)
		if got := test.before.registers[:registers]; !slices.Equal(got, test.after) {
			t.Errorf("%s: registers % x, want % x", test.name, got, test.after)
		}
		if _, err := d.Time(); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestEveryHourOfBothFormsIsRead(t *testing.T) {
	for hour := range 24 {
		twelve := byte(hours12) | toBCD((hour+11)%12+1)
		if hour >= 12 {
			twelve |= afternoon
		}
		for _, v := range []byte{toBCD(hour), twelve} {
			if got, ok := decodeHour(v); !ok || got != hour {
				t.Errorf("%#x is %d, %v, want %d", v, got, ok, hour)
			}
		}
	}
	for _, v := range []byte{0x24, 0x0a, 0x1f, 0x30, 0x40, 0x53, 0x73, 0x4a, 0x80} {
		if hour, ok := decodeHour(v); ok {
			t.Errorf("%#x is read as %d", v, hour)
		}
	}
}

func TestRegistersThatHoldNoTimeAreAnError(t *testing.T) {
	for _, test := range []struct {
		register int
		value    byte
	}{
		{regSecond, 0x60}, {regSecond, 0x0a}, {regMinute, 0x60}, {regMinute, 0x5a}, {regMinute, 0xff},
		{regHour, 0x24}, {regDay, 0x00}, {regDay, 0x31}, {regDay, 0x32}, {regMonth, 0x00},
		{regMonth, 0x13}, {regYear, 0xa0}, {regYear, 0x9a},
	} {
		c := running()
		d := open(t, c)
		c.registers[test.register] = test.value
		if got, err := d.Time(); !errors.Is(err, ErrNoTime) {
			t.Errorf("register %d is %#x: %v, %v", test.register, test.value, got, err)
		}
	}
}

func TestAChipThatDoesNotAnswerIsAnError(t *testing.T) {
	broken := errors.New("no acknowledge")
	if d, err := Open(&chip{err: broken}, address); !errors.Is(err, broken) || d != nil {
		t.Errorf("opened: %v", err)
	}
	c := running()
	d := open(t, c)
	c.err = broken
	if _, err := d.Time(); !errors.Is(err, broken) {
		t.Errorf("read: %v", err)
	}
	if err := d.SetTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)); !errors.Is(err, broken) {
		t.Errorf("set: %v", err)
	}
}

func TestATimeThatTheClockHasNotIsRefused(t *testing.T) {
	for year, ok := range map[int]bool{1999: false, 2000: true, 2099: true, 2100: false} {
		c := running()
		d := open(t, c)
		before := c.registers
		err := d.SetTime(time.Date(year, time.June, 1, 0, 0, 0, 0, time.UTC))
		if ok != (err == nil) || !ok && c.registers != before {
			t.Errorf("year %d: %v", year, err)
		}
	}
}

func TestWhatWasSetIsRead(t *testing.T) {
	first := time.Date(yearFirst, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	end := time.Date(yearLast+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, "zone")*3600)
		want := time.Unix(rapid.Int64Range(first, end-1).Draw(t, "time"), 999_999_999).In(zone)
		c := running()
		d, err := Open(c, address)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.SetTime(want); err != nil {
			t.Fatal(err)
		}
		got, err := d.Time()
		if err != nil || !got.Equal(want.Truncate(time.Second)) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
		if weekday := c.registers[regWeekday]; weekday != byte(want.UTC().Weekday())+1 {
			t.Fatalf("%v has weekday %d", want, weekday)
		}
	})
}
