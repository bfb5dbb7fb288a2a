// Package at24c drives a serial EEPROM of the AT24C32 to AT24C512 family behind I2C: bytes at
// offsets, as the node's NVRAM wants them. It owns the chip's addressing, its pages and its write
// cycle. It must never let a write cross a page, and never return from a write before the chip has
// stored it.
//
// On the bus, W being the device address for writing, R for reading, OO the offset with its high
// byte first:
//
//	read        W OO, repeated start, R byte byte ...
//	write       W OO byte ... stop       at most to the end of the page of 32 bytes
//	ready?      W stop                   not acknowledged while the chip is writing
//
// A chip wraps around inside the page when more bytes arrive, and does not answer for up to 5 ms
// after the stop while it writes its cells; both are hidden here. A power cut during that time may
// leave any of the page's bytes old or new. Atmel AT24C32/64 data sheet, "Write Operations" and
// "Acknowledge Polling". QEMU's model (hw/nvram/eeprom_at24c.c) has neither pages nor a write
// cycle and stores the bytes at the stop.
package at24c

import (
	"errors"
	"fmt"
	"time"
)

const (
	// PageBytes is the size of a page: of the smallest chips of the family, which divides the
	// pages of the larger ones.
	PageBytes = 32

	// sizeMax is as far as the two bytes of an offset reach.
	sizeMax = 1 << 16

	// writeCycle is how long a chip may not answer. Data sheets have 5 ms, and 10 ms at the lowest
	// supply voltages; the rest is for a bus that is slow to find out.
	writeCycle = 20 * time.Millisecond
)

// ErrRange says that an access does not lie inside the chip.
var ErrRange = errors.New("outside the chip")

// Bus is what the chip hangs on: one transaction that sends w and then receives r in full, and that
// fails when the device does not acknowledge. With both empty it asks whether the device answers.
type Bus interface {
	Tx(address uint8, w, r []byte) error
}

// Device is one chip. It is not safe for concurrent use.
type Device struct {
	bus     Bus
	address uint8
	size    int
	now     func() time.Duration
}

// Open is the chip of size bytes at the seven-bit address, with a clock that never goes back. It
// waits until the chip answers, because a reset can come in the middle of a write cycle; a chip
// that does not is an error.
func Open(bus Bus, address uint8, size int, now func() time.Duration) (*Device, error) {
	if size < PageBytes || size > sizeMax || size%PageBytes != 0 {
		panic("at24c: no chip has such a size")
	}
	d := &Device{bus, address, size, now}
	if err := d.ready(); err != nil {
		return nil, err
	}
	return d, nil
}

// Size is the number of bytes of the chip.
func (d *Device) Size() int { return d.size }

// ReadAt fills p from offset off. After an error the content of p is undefined.
func (d *Device) ReadAt(p []byte, off int) error {
	if err := d.check(len(p), off); err != nil || len(p) == 0 {
		return err
	}
	if err := d.bus.Tx(d.address, offset(off), p); err != nil {
		return fmt.Errorf("at24c: reading %d bytes at %#x: %w", len(p), off, err)
	}
	return nil
}

// WriteAt stores p at offset off, page by page in ascending order. When it returns nil, all of it
// survives a power cut; after an error any part of p may have been stored.
func (d *Device) WriteAt(p []byte, off int) error {
	if err := d.check(len(p), off); err != nil {
		return err
	}
	for len(p) > 0 {
		n := min(len(p), PageBytes-off%PageBytes)
		if err := d.bus.Tx(d.address, append(offset(off), p[:n]...), nil); err != nil {
			return fmt.Errorf("at24c: writing %d bytes at %#x: %w", n, off, err)
		}
		if err := d.ready(); err != nil {
			return err
		}
		p, off = p[n:], off+n
	}
	return nil
}

// ready waits until the chip answers. Whatever goes wrong is tried again until the time is over,
// when the last error is returned. The try that decides begins after the end of the time, so that a
// machine that was stopped meanwhile still gives the chip a chance.
func (d *Device) ready() error {
	for end := d.now() + writeCycle; ; {
		late := d.now() >= end
		err := d.bus.Tx(d.address, nil, nil)
		if err == nil {
			return nil
		}
		if late {
			return fmt.Errorf("at24c: no answer for %v: %w", writeCycle, err)
		}
	}
}

// check says whether n bytes at off lie inside the chip.
func (d *Device) check(n, off int) error {
	if off < 0 || n > d.size-off {
		return fmt.Errorf("at24c: %d bytes at %#x of %d: %w", n, off, d.size, ErrRange)
	}
	return nil
}

// offset is what a transaction begins with, with room for a page behind it.
func offset(off int) []byte {
	return append(make([]byte, 0, 2+PageBytes), byte(off>>8), byte(off))
}
