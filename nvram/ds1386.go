package nvram

import (
	"errors"
	"fmt"
	"time"
)

// TimeKeeper is a clock chip that is not a DS1386, such as a DS1338 on an I2C bus.
type TimeKeeper interface {
	// Time is the time in UTC, as finely as the chip keeps it. ErrNoTime, wrapped, says that the
	// chip works but was never set.
	Time() (time.Time, error)
	// SetTime sets the chip and starts it.
	SetTime(time.Time) error
}

// DS1386 makes one DS1386 of two parts: a TimeKeeper behind the registers at the first addresses,
// and another chip for the RAM behind all other addresses. It is itself a Chip.
//
//	       transfer set                       transfer clear
//	reads  the time at the access             the time when transfer was cleared
//	writes are lost with the next update      are kept, and set the clock when transfer is set
//
// The alarm and the watchdog hold what is written to them and do nothing; their flags read 0. The
// registers live in memory: the time keeper's own battery keeps the time, nothing keeps the rest.
type DS1386 struct {
	ram       Chip
	keeper    TimeKeeper
	registers [clockBytes]byte
	changed   bool // a time register was written since transfer was cleared
}

// NewDS1386 is the chip made of the two parts, with the transfer bit set.
func NewDS1386(ram Chip, keeper TimeKeeper) *DS1386 {
	d := &DS1386{ram: ram, keeper: keeper}
	d.registers[regCommand] = transfer
	return d
}

// Size is the number of bytes of the RAM's chip, in the place of whose first bytes the registers
// are seen.
func (d *DS1386) Size() int { return d.ram.Size() }

// implemented are the bits of each register that exist; the others read 0.
var implemented = [clockBytes]byte{
	0xff, 0x7f, 0x7f, 0xff, 0x7f, 0xff, 0x07, 0x87, 0x3f, 0xdf, 0xff, 0xfc, 0xff, 0xff,
}

// ReadAt fills p from offset off. The registers among it are of one instant.
func (d *DS1386) ReadAt(p []byte, off int) error {
	registers, ram, ramOff, err := d.split(p, off)
	if err != nil {
		return err
	}
	if len(registers) > 0 {
		if d.registers[regCommand]&transfer != 0 {
			if err := d.update(); err != nil {
				return err
			}
		}
		copy(registers, d.registers[off:])
	}
	if len(ram) == 0 {
		return nil
	}
	return d.ram.ReadAt(ram, ramOff)
}

// WriteAt stores p at offset off, the registers among it in ascending order.
func (d *DS1386) WriteAt(p []byte, off int) error {
	registers, ram, ramOff, err := d.split(p, off)
	if err != nil {
		return err
	}
	for i, v := range registers {
		if err := d.writeRegister(off+i, v&implemented[off+i]); err != nil {
			return err
		}
	}
	if len(ram) == 0 {
		return nil
	}
	return d.ram.WriteAt(ram, ramOff)
}

// split divides an access into its part among the registers and its part in the RAM.
func (d *DS1386) split(p []byte, off int) (registers, ram []byte, ramOff int, err error) {
	if off < 0 || len(p) > d.Size()-off {
		return nil, nil, 0, fmt.Errorf("nvram: %d bytes at %#x of %d: %w", len(p), off, d.Size(),
			ErrRange)
	}
	n := min(len(p), max(0, clockBytes-off))
	return p[:n], p[n:], off + n, nil
}

func (d *DS1386) writeRegister(reg int, v byte) error {
	was := d.registers[regCommand]&transfer != 0
	if reg != regCommand {
		d.registers[reg] = v
		d.changed = d.changed || isTime(reg)
		return nil
	}
	set := v&transfer != 0
	if was && !set {
		if err := d.update(); err != nil {
			return err
		}
		d.changed = false
	}
	if !was && set && d.changed {
		t, ok := decodeTime((*[regCommand]byte)(d.registers[:]))
		if !ok {
			return fmt.Errorf("nvram: setting the clock: %w", ErrNoTime)
		}
		if err := d.keeper.SetTime(t); err != nil {
			return fmt.Errorf("nvram: setting the clock: %w", err)
		}
	}
	d.registers[reg] = v
	return nil
}

// update brings the time registers up to date, in the form of hours that they are in. When there
// is no time that they could hold, they hold none, so that the clock can still be set.
func (d *DS1386) update() error {
	t, err := d.keeper.Time()
	if err != nil && !errors.Is(err, ErrNoTime) {
		return fmt.Errorf("nvram: reading the clock: %w", err)
	}
	r := (*[regCommand]byte)(d.registers[:])
	flags, twelve := r[regMonth]&monthFlags, r[regHours]&hours12 != 0
	if t = t.UTC(); err != nil || t.Year() < yearFirst || t.Year() > yearLast {
		r[regDay], r[regMonth] = 0, flags // a date that there is not
		return nil
	}
	encodeTime(r, t)
	r[regMonth] |= flags
	if twelve {
		r[regHours] = encodeHour12(t.Hour())
	}
	return nil
}

func encodeHour12(hour int) byte {
	v := byte(hours12)
	if hour >= 12 {
		v |= hoursPM
	}
	return v | toBCD((hour+11)%12+1)
}

func isTime(reg int) bool {
	for _, run := range timeRegisters {
		if run.first <= reg && reg <= run.last {
			return true
		}
	}
	return false
}
