// Package i2c drives the i.MX I2C block as the only master of its bus: one transaction at a time,
// by polling. It owns the block's registers and nothing beyond them: which devices hang on the bus
// is the caller's business. It must never wait without a limit, because a device that holds a line
// down would stop the node for ever.
//
// Polling, not interrupts: a transaction takes a few milliseconds a few times a day, and QEMU's
// block raises no interrupt for a byte that nobody acknowledged. Waits are limited by a clock that
// the caller passes in; a count of polls would mean another time on every core and emulator. After
// the limit the condition is looked at once more, so that a virtual machine that was stopped
// between two polls does not see a timeout. Between polls other goroutines run.
//
// A transaction on the bus, S a start, P a stop, A an acknowledge, N its absence:
//
//	write       S address+w A  byte A ...                        P
//	read        S address+r A                    byte A ... byte N P
//	both        S address+w A  byte A ...  S address+r A  byte A ... byte N P
//	probe       S address+w A                                    P
//
// Pads and clock gates are the caller's. Registers: IMX6ULRM chapter "I2C Controller (I2C)", memory
// map table; they are 16 bits wide. QEMU's model is hw/i2c/imx_i2c.c.
package i2c

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"holdfast/board/mmio"
)

// What can go wrong on the bus. Tx wraps them.
var (
	ErrNoDevice    = errors.New("no acknowledge from the address")
	ErrRefused     = errors.New("byte not acknowledged")
	ErrTimeout     = errors.New("transfer did not complete")
	ErrArbitration = errors.New("arbitration lost")
	ErrBusy        = errors.New("bus is not free")
)

// Register offsets.
const (
	ifdr = 0x04 // frequency divider
	i2cr = 0x08 // control
	i2sr = 0x0c // status
	i2dr = 0x10 // data: a write sends it, a read takes it and starts the next one
)

// Control register bits.
const (
	enable          = 1 << 7 // IEN; clearing it resets the block
	interruptEnable = 1 << 6 // IIEN
	master          = 1 << 5 // MSTA: rising makes a start, falling a stop
	transmit        = 1 << 4 // MTX
	noAcknowledge   = 1 << 3 // TXAK, for the byte that is received next
	repeatStart     = 1 << 2 // RSTA, reads as zero

	// idle is the control register between transactions. The block's interrupt stays on although
	// nobody listens at the interrupt controller: QEMU sets the flag that is polled only then.
	idle = enable | interruptEnable
)

// Status register bits. The last two are cleared by writing zero, the others only read.
const (
	complete        = 1 << 7 // ICF: no byte is on its way
	busy            = 1 << 5 // IBB: between a start and a stop
	arbitrationLost = 1 << 4 // IAL
	interrupt       = 1 << 1 // IIF: a byte has completed, or arbitration was lost
	notAcknowledged = 1 << 0 // RXAK, of the byte that was sent last
)

const (
	// divider 768 makes 86 kHz of the 66 MHz that feed the block at most: within the 100 kHz that
	// every device on the board's buses takes. IMX6ULRM table "I2C_IFDR Register Field Values".
	divider768 = 0x16

	// settle is how long the block needs after it was enabled.
	settle = 50 * time.Microsecond

	// limit is how long one step may take. A byte takes 0.1 ms; the rest is for a device that
	// stretches the clock. QEMU's silence about a missing acknowledge costs this much, too.
	limit = 2 * time.Millisecond
)

// Bus is one I2C block. It is not safe for concurrent use.
type Bus struct {
	base uint32
	now  func() time.Duration

	// Recover, when set, frees a bus that is busy although this master has nothing on it: a device
	// that was cut off in the middle of a byte holds the data line down. See Unstick.
	Recover func() error
}

// New is the block at base, measured by now, a clock that never goes back. It touches nothing.
func New(base uint32, now func() time.Duration) *Bus {
	return &Bus{base: base, now: now}
}

// Init resets the block, sets its speed and turns it on.
func (b *Bus) Init() {
	b.set(i2cr, 0)
	b.set(ifdr, divider768)
	b.set(i2sr, 0)
	b.set(i2cr, idle)
	b.wait(settle, func() bool { return false })
}

// Tx makes one transaction with the device at the seven-bit address: it sends w, then receives r in
// full. Either may be empty; with both empty it asks whether the device answers. After an error the
// bus is released and the content of r is undefined.
func (b *Bus) Tx(address uint8, w, r []byte) error {
	if address > 0x7f {
		panic("i2c: an address has seven bits")
	}
	err := b.start()
	if err == nil {
		err = b.transfer(address, w, r)
	}
	if err != nil {
		b.set(i2cr, idle)
		return fmt.Errorf("i2c: address %#x: %w", address, err)
	}
	return nil
}

func (b *Bus) transfer(address uint8, w, r []byte) error {
	if len(w) > 0 || len(r) == 0 {
		if err := b.address(address << 1); err != nil {
			return err
		}
		for _, v := range w {
			if err := b.send(v); err != nil {
				return err
			}
		}
		if len(r) == 0 {
			return b.stop()
		}
		b.set(i2cr, idle|master|transmit|repeatStart)
	}
	if err := b.address(address<<1 | 1); err != nil {
		return err
	}
	return b.receive(r)
}

// start takes the bus.
func (b *Bus) start() error {
	free := func() bool { return b.status()&busy == 0 }
	if !b.wait(limit, free) {
		if b.Recover == nil {
			return ErrBusy
		}
		if err := b.Recover(); err != nil {
			return errors.Join(ErrBusy, err)
		}
		b.Init()
		if !free() {
			return ErrBusy
		}
	}
	b.set(i2sr, 0)
	b.set(i2cr, idle|master|transmit)
	if !b.wait(limit, func() bool { return b.status()&(busy|arbitrationLost) != 0 }) {
		return ErrTimeout
	}
	if b.status()&arbitrationLost != 0 {
		return ErrArbitration
	}
	return nil
}

// stop releases the bus.
func (b *Bus) stop() error {
	b.set(i2cr, idle)
	if !b.wait(limit, func() bool { return b.status()&busy == 0 }) {
		return ErrBusy
	}
	return nil
}

// address sends the first byte after a start.
func (b *Bus) address(v uint8) error {
	err := b.send(v)
	if err == ErrRefused {
		return ErrNoDevice
	}
	return err
}

// send sends one byte and waits until it was acknowledged.
func (b *Bus) send(v uint8) error {
	b.set(i2sr, 0)
	b.set(i2dr, uint16(v))
	err := b.byteDone()
	status := b.status()
	switch {
	case err == ErrTimeout && status&(complete|notAcknowledged) == complete|notAcknowledged:
		// QEMU's way to say it: no interrupt flag, but no byte on its way and no acknowledge. On
		// silicon a byte that is stuck has the complete flag clear.
		return ErrRefused
	case err != nil:
		return err
	case status&notAcknowledged != 0:
		return ErrRefused
	}
	return nil
}

// receive takes bytes after the address was acknowledged. The block starts the next byte whenever
// the data register is read, so that what follows a byte is decided before it is read: no
// acknowledge for the last one, and a stop instead of one more.
func (b *Bus) receive(r []byte) error {
	const receiving = idle | master
	last := len(r) - 1
	control := uint16(receiving)
	if last == 0 {
		control |= noAcknowledge
	}
	b.set(i2cr, control)
	b.set(i2sr, 0)
	b.get(i2dr) // what is in it is the address; reading it starts the first byte
	for i := range r {
		if err := b.byteDone(); err != nil {
			return err
		}
		b.set(i2sr, 0)
		switch i {
		case last:
			if err := b.stop(); err != nil {
				return err
			}
		case last - 1:
			b.set(i2cr, receiving|noAcknowledge)
		}
		r[i] = uint8(b.get(i2dr))
	}
	return nil
}

// byteDone waits for the end of the byte that is on its way.
func (b *Bus) byteDone() error {
	if !b.wait(limit, func() bool { return b.status()&interrupt != 0 }) {
		return ErrTimeout
	}
	if b.status()&arbitrationLost != 0 {
		return ErrArbitration
	}
	return nil
}

// wait polls until the condition holds or the time is over, and says whether it holds.
func (b *Bus) wait(d time.Duration, condition func() bool) bool {
	for end := b.now() + d; ; runtime.Gosched() {
		if condition() {
			return true
		}
		if b.now() >= end {
			return condition()
		}
	}
}

func (b *Bus) status() uint16                { return b.get(i2sr) }
func (b *Bus) get(register uint32) uint16    { return mmio.R16(b.base + register) }
func (b *Bus) set(register uint32, v uint16) { mmio.W16(b.base+register, v) }
