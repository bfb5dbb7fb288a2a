package nvram

import (
	"errors"
	"fmt"
	"time"
)

// The DS1386's registers, at the first addresses of the chip. Numbers are BCD. Alarm and watchdog
// registers are named only where something must not touch them.
const (
	regHundredths = 0x00 // 00-99
	regSeconds    = 0x01 // 00-59
	regMinutes    = 0x02 // 00-59
	regHours      = 0x04 // 00-23, or 01-12 with hours12
	regWeekday    = 0x06 // 1-7; Sunday is 1 here, the chip has no opinion
	regDay        = 0x08 // 01-31
	regMonth      = 0x09 // 01-12, with notRunning and noSquareWave
	regYear       = 0x0a // 00-99
	regCommand    = 0x0b
)

// timeRegisters are the runs of registers that hold the time, between those of the alarm.
var timeRegisters = []struct{ first, last int }{
	{regHundredths, regMinutes}, {regHours, regHours}, {regWeekday, regWeekday}, {regDay, regYear},
}

// Bits in the registers.
const (
	hours12      = 1 << 6 // hours run from 1 to 12
	hoursPM      = 1 << 5 // the second half of the day, when hours12 is set
	notRunning   = 1 << 7 // in the month: the oscillator is off, as the chip is delivered
	noSquareWave = 1 << 6 // in the month: no 1024 Hz output
	monthFlags   = notRunning | noSquareWave
	transfer     = 1 << 7 // in the command (TE): the registers follow the clock; clear: they stand
	commandFlags = 1<<1 | 1<<0
)

// The years that two digits stand for.
const (
	yearFirst = 2000
	yearLast  = yearFirst + 99
)

// ErrStopped says that the clock's oscillator is off: nobody has set the clock yet.
var ErrStopped = errors.New("clock is not running")

// ErrNoTime says that the clock's registers hold no date and time.
var ErrNoTime = errors.New("clock registers hold no time")

// Clock reads and sets the calendar of a chip with a DS1386's registers, in UTC, 2000 to 2099. It
// keeps the data sheet's protocol: the registers are frozen by clearing the transfer bit, read or
// written, and released by setting it, while the clock behind them goes on counting. So no reading
// is torn by a carry. Registers of the alarm are not even read, because that clears its flag.
//
// It is not safe for concurrent use, nor beside another user of the registers.
type Clock struct{ chip Chip }

// NewClock is the clock of the chip.
func NewClock(chip Chip) *Clock { return &Clock{chip} }

// Now is the time, to the hundredth of a second that the chip keeps.
func (c *Clock) Now() (time.Time, error) {
	var r [regCommand]byte
	err := c.frozen(func() error {
		for _, run := range timeRegisters {
			if err := c.chip.ReadAt(r[run.first:run.last+1], run.first); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("nvram: reading the clock: %w", err)
	}
	if r[regMonth]&notRunning != 0 {
		return time.Time{}, fmt.Errorf("nvram: %w", ErrStopped)
	}
	t, ok := decodeTime(&r)
	if !ok {
		return time.Time{}, fmt.Errorf("nvram: %w: % x", ErrNoTime, r)
	}
	return t, nil
}

// Set sets the clock and starts it. What t has below a hundredth of a second is dropped.
func (c *Clock) Set(t time.Time) error {
	t = t.UTC()
	if t.Year() < yearFirst || t.Year() > yearLast {
		return fmt.Errorf("nvram: the clock has no year %d", t.Year())
	}
	var r [regCommand]byte
	encodeTime(&r, t)
	err := c.frozen(func() error {
		var month [1]byte
		if err := c.chip.ReadAt(month[:], regMonth); err != nil {
			return err
		}
		r[regMonth] |= month[0] & noSquareWave
		for _, run := range timeRegisters {
			if err := c.chip.WriteAt(r[run.first:run.last+1], run.first); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("nvram: setting the clock: %w", err)
	}
	return nil
}

// frozen does something while the registers stand still. They are released whatever happens:
// frozen registers would show everybody the same time for ever.
func (c *Clock) frozen(do func() error) error {
	var command [1]byte
	if err := c.chip.ReadAt(command[:], regCommand); err != nil {
		return err
	}
	// The flags are the chip's; they cannot be written.
	others := command[0] &^ (transfer | commandFlags)
	err := c.chip.WriteAt([]byte{others}, regCommand)
	if err == nil {
		err = do()
	}
	return errors.Join(err, c.chip.WriteAt([]byte{others | transfer}, regCommand))
}

// encodeTime puts a time into the registers, in 24 hours and with the oscillator running. The alarm
// registers stay as they are.
func encodeTime(r *[regCommand]byte, t time.Time) {
	r[regHundredths] = toBCD(t.Nanosecond() / int(10*time.Millisecond))
	r[regSeconds] = toBCD(t.Second())
	r[regMinutes] = toBCD(t.Minute())
	r[regHours] = toBCD(t.Hour())
	r[regWeekday] = toBCD(int(t.Weekday()) + 1)
	r[regDay] = toBCD(t.Day())
	r[regMonth] = toBCD(int(t.Month()))
	r[regYear] = toBCD(t.Year() - yearFirst)
}

// decodeTime reads a time from the registers and says whether they hold one.
func decodeTime(r *[regCommand]byte) (time.Time, bool) {
	hour, ok := decodeHour(r[regHours])
	var n [regCommand]int
	for _, reg := range []int{regHundredths, regSeconds, regMinutes, regDay, regMonth, regYear} {
		v := r[reg]
		if reg == regMonth {
			v &^= monthFlags
		}
		digits, valid := fromBCD(v)
		n[reg], ok = digits, ok && valid
	}
	t := time.Date(yearFirst+n[regYear], time.Month(n[regMonth]), n[regDay], hour, n[regMinutes],
		n[regSeconds], n[regHundredths]*int(10*time.Millisecond), time.UTC)
	// Date carries what is out of range, so that the next time is not the one that was asked for.
	ok = ok && t.Month() == time.Month(n[regMonth]) && t.Hour() == hour &&
		t.Minute() == n[regMinutes] && t.Second() == n[regSeconds]
	return t, ok
}

// decodeHour reads either form of the hours.
func decodeHour(v byte) (hour int, ok bool) {
	if v&hours12 == 0 {
		return fromBCD(v)
	}
	hour, ok = fromBCD(v &^ (hours12 | hoursPM))
	ok = ok && 1 <= hour && hour <= 12
	hour %= 12
	if v&hoursPM != 0 {
		hour += 12
	}
	return hour, ok
}

func toBCD(n int) byte { return byte(n/10<<4 | n%10) }

func fromBCD(v byte) (n int, ok bool) {
	return int(v>>4)*10 + int(v&15), v>>4 <= 9 && v&15 <= 9
}
