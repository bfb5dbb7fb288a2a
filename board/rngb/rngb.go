// Package rngb drives the random number generator of the i.MX 6ULL. It owns the block's registers
// and nothing beyond them; what becomes of the numbers is the caller's business, who should not
// rely on them alone. It must never wait without a limit.
//
//	self-test --STDN--> seeding --SDN--> words in the FIFO, one by one, seeded anew by itself
//
// The 6UL has no such block, and neither has QEMU: touching it there ends in an external abort. So
// package analog is asked for the chip first.
//
// Registers: IMX6ULLRM chapter "True Random Number Generator (RNGB)", memory map table and section
// "Automatic seeding". Only host tests have ever run it; it was never seen on silicon.
package rngb

import (
	"errors"
	"runtime"
	"time"

	"holdfast/board/mmio"
)

const (
	cmd = 0x04
	cr  = 0x08
	sr  = 0x0c
	out = 0x14

	cmdReset          = 1 << 6 // SR
	cmdClearError     = 1 << 5 // CE
	cmdClearInterrupt = 1 << 4 // CI
	cmdSeed           = 1 << 1 // GS
	cmdSelfTest       = 1 << 0 // ST

	crMaskError = 1 << 6
	crMaskDone  = 1 << 5
	crAutoSeed  = 1 << 4 // AR

	srFailed   = 0x3ff << 21 // ST_PF: which self-tests failed
	srError    = 1 << 16     // ERR
	srLevel    = 0xf << 8    // FIFO_LVL: words that can be read
	srSeeded   = 1 << 5      // SDN
	srSelfTest = 1 << 4      // STDN

	// limit is how long one step may take. Seeding takes 20,000 samples, some milliseconds.
	limit = 500 * time.Millisecond
)

// Block is an RNGB by its base address, with a clock that never goes back.
type Block struct {
	Base uint32
	Now  func() time.Duration
}

// What can go wrong.
var (
	ErrTimeout  = errors.New("rngb: the generator does not finish")
	ErrSelfTest = errors.New("rngb: the self-test has failed")
	ErrBroken   = errors.New("rngb: the generator reports an error")
)

// Init resets the generator, tests and seeds it.
func (b Block) Init() error {
	b.command(cmdReset)
	b.command(cmdClearError)
	mmio.W32(b.Base+cr, crMaskError|crMaskDone|crAutoSeed)
	b.command(cmdSelfTest)
	if err := b.await(srSelfTest); err != nil {
		return err
	}
	if mmio.R32(b.Base+sr)&srFailed != 0 {
		return ErrSelfTest
	}
	b.command(cmdClearInterrupt)
	b.command(cmdSeed)
	if err := b.await(srSeeded); err != nil {
		return err
	}
	b.command(cmdClearInterrupt)
	return nil
}

// Read fills p with random bytes, after Init. After an error the content of p must not be used.
func (b Block) Read(p []byte) error {
	for len(p) > 0 {
		if err := b.await(srLevel); err != nil {
			return err
		}
		v := mmio.R32(b.Base + out)
		var word [4]byte
		for i := range word {
			word[i] = byte(v >> (8 * i))
		}
		p = p[copy(p, word[:]):]
	}
	return nil
}

func (b Block) command(bit uint32) { mmio.W32(b.Base+cmd, bit) }

// await waits until one of the bits is set in the status register.
func (b Block) await(bits uint32) error {
	for end := b.Now() + limit; ; runtime.Gosched() {
		over := b.Now() >= end
		status := mmio.R32(b.Base + sr)
		switch {
		case status&srError != 0:
			return ErrBroken
		case status&bits != 0:
			return nil
		case over:
			return ErrTimeout
		}
	}
}
