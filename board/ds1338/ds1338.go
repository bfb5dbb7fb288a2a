// Package ds1338 drives a DS1338 real-time clock behind I2C: the node's second clock, which goes on
// while the processor's counter may stand still. It owns the chip's time registers. It must never
// guess: registers that hold no time are an error, not some time.
//
// On the bus, W being the device address for writing, R for reading:
//
//	read        W 00, repeated start, R second minute hour weekday day month year
//	set         W 00 second minute hour weekday day month year
//
// The registers are BCD:
//
//	00  second   00-59; bit 7 (CH) halts the oscillator
//	01  minute   00-59
//	02  hour     00-23; with bit 6 1-12, and bit 5 for the afternoon
//	03  weekday  1-7, Sunday is 1 here; the chip has no opinion
//	04  day      01-31
//	05  month    01-12
//	06  year     00-99, from 2000 on
//	07  control  square wave, and bit 5 (OSF): the oscillator has stood still; not used here
//
// At every start condition the chip copies the time to where it is read from, so that no reading is
// torn by a carry; writing the second restarts it, and the others must follow within that second.
// Maxim DS1338 data sheet, "Clock and Calendar" and table "RTC and RAM Address Map". QEMU's model
// (hw/rtc/ds1338.c) has no CH: its clock always runs. A reading is 10 bytes on the bus with their
// acknowledges and conditions, 93 clocks: 0.93 ms at 100 kHz.
package ds1338

import (
	"errors"
	"fmt"
	"time"
)

// The registers.
const (
	regSecond = iota
	regMinute
	regHour
	regWeekday
	regDay
	regMonth
	regYear
	registers // how many hold the time
)

const (
	halted    = 1 << 7 // CH, in the second
	hours12   = 1 << 6 // in the hour: it runs from 1 to 12
	afternoon = 1 << 5 // in the hour, with hours12
)

// The years that two digits stand for.
const (
	yearFirst = 2000
	yearLast  = yearFirst + 99
)

// ErrNoTime says that the registers hold no date and time.
var ErrNoTime = errors.New("registers hold no time")

// Bus is what the chip hangs on: one transaction that sends w and then receives r in full, and that
// fails when the device does not acknowledge.
type Bus interface {
	Tx(address uint8, w, r []byte) error
}

// Device is one chip. It is not safe for concurrent use.
type Device struct {
	bus     Bus
	address uint8
	pointer [1]byte         // what a reading sends
	raw     [registers]byte // what it receives
}

// Open is the chip at the seven-bit address, running: one that was halted, or that holds no time as
// a new one does, is started at the beginning of 2000. A chip that does not answer is an error.
func Open(bus Bus, address uint8) (*Device, error) {
	d := &Device{bus: bus, address: address}
	t, err := d.Time()
	switch {
	case errors.Is(err, ErrNoTime) || err == nil && d.raw[regSecond]&halted != 0:
		err = d.SetTime(time.Date(yearFirst, time.January, 1, 0, 0, 0, 0, time.UTC))
	case err == nil && d.raw[regHour]&hours12 != 0:
		err = d.SetTime(t)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Time is the time in UTC, in whole seconds. ErrNoTime, wrapped, says that the registers hold none.
func (d *Device) Time() (time.Time, error) {
	if err := d.bus.Tx(d.address, d.pointer[:], d.raw[:]); err != nil {
		return time.Time{}, fmt.Errorf("ds1338: reading the time: %w", err)
	}
	t, ok := decode(&d.raw)
	if !ok {
		return time.Time{}, fmt.Errorf("ds1338: %w: % x", ErrNoTime, d.raw)
	}
	return t, nil
}

// SetTime sets the clock, 2000 to 2099, and starts it. What t has below a second is dropped.
func (d *Device) SetTime(t time.Time) error {
	t = t.UTC()
	if t.Year() < yearFirst || t.Year() > yearLast {
		return fmt.Errorf("ds1338: the clock has no year %d", t.Year())
	}
	b := append(make([]byte, 0, 1+registers), regSecond,
		toBCD(t.Second()), toBCD(t.Minute()), toBCD(t.Hour()), toBCD(int(t.Weekday())+1),
		toBCD(t.Day()), toBCD(int(t.Month())), toBCD(t.Year()-yearFirst))
	// Twice: QEMU takes each register as it comes, so that a 31st set while the old month has 30
	// days is the first of the next one. The second time the month and the year are right before.
	for range 2 {
		if err := d.bus.Tx(d.address, b, nil); err != nil {
			return fmt.Errorf("ds1338: setting the time: %w", err)
		}
	}
	return nil
}

// decode reads a time from the registers and says whether they hold one.
func decode(r *[registers]byte) (time.Time, bool) {
	second, ok0 := fromBCD(r[regSecond]&^halted, 0, 59)
	minute, ok1 := fromBCD(r[regMinute], 0, 59)
	hour, ok2 := decodeHour(r[regHour])
	day, ok3 := fromBCD(r[regDay], 1, 31)
	month, ok4 := fromBCD(r[regMonth], 1, 12)
	year, ok5 := fromBCD(r[regYear], 0, yearLast-yearFirst)
	t := time.Date(yearFirst+year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	// Date carries a day that its month has not into the next one.
	return t, ok0 && ok1 && ok2 && ok3 && ok4 && ok5 && t.Day() == day
}

// decodeHour reads either form of the hour.
func decodeHour(v byte) (hour int, ok bool) {
	if v&hours12 == 0 {
		return fromBCD(v, 0, 23)
	}
	hour, ok = fromBCD(v&^(hours12|afternoon), 1, 12)
	hour %= 12
	if v&afternoon != 0 {
		hour += 12
	}
	return hour, ok
}

func toBCD(n int) byte { return byte(n/10<<4 | n%10) }

// fromBCD reads two digits that make a number from least to most.
func fromBCD(v byte, least, most int) (n int, ok bool) {
	n = int(v>>4)*10 + int(v&15)
	return n, v&15 <= 9 && least <= n && n <= most
}
