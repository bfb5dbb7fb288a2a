// Package caam takes entropy from the i.MX 6UL's cryptographic module, CAAM: the raw output of its
// ring oscillators, without the generator behind it that the module also has. It owns the registers
// of that part, RTIC and job rings it leaves alone. What it reads is not conditioned: the caller
// hashes it. It must never wait without a limit.
//
//	program --run--> collecting --ENT_VAL--> 512 bits, of which the last word starts it again
//
// The 6ULL has no CAAM (see package rngb), and QEMU's i.MX 6UL has one that reads as zeros.
//
// Registers: i.MX 6UltraLite Security Reference Manual, IMX6ULSRM, chapter "CAAM", registers
// RTMCTL, RTSDCTL, RTFRQMIN, RTFRQMAX, RTENT. In QEMU it was seen to give up in time; it was never
// seen on silicon.
package caam

import (
	"encoding/binary"
	"errors"
	"runtime"
	"time"

	"holdfast/board/mmio"
)

const (
	rtmctl   = 0x600 // control
	rtsdctl  = 0x610 // how long a sample lasts, and how many there are
	rtfrqmin = 0x618 // bounds of the oscillators' count
	rtfrqmax = 0x61c
	rtent    = 0x640 // the first of the words

	rtmctlProgram = 1 << 16 // PRGM: stands still and can be set up
	rtmctlError   = 1 << 12 // ERR: a statistical test has failed; writing 1 clears it
	rtmctlValid   = 1 << 10 // ENT_VAL
	rtmctlDefault = 1 << 6  // RST_DEF
	rtmctlAccess  = 1 << 5  // TRNG_ACC: the words can be read

	// A sample lasts 12,000 cycles, as Linux has it for this module on a relative of the chip: the
	// longer, the better.
	sampleCycles = 12_000
	samples      = 512
	frequencyAny = 1 << 20 // no upper bound

	words = 16

	// limit is how long one collection may take: 512 samples of 12,000 cycles at 132 MHz are 47 ms.
	limit = time.Second
)

// Block is a CAAM by its base address, with a clock that never goes back.
type Block struct {
	Base uint32
	Now  func() time.Duration
}

// What can go wrong.
var (
	ErrTimeout = errors.New("caam: no entropy in time")
	ErrBroken  = errors.New("caam: the entropy fails its statistical tests")
	ErrStuck   = errors.New("caam: every word of the entropy is the same")
)

// Init sets the oscillators up and starts them.
func (b Block) Init() {
	b.set(rtmctl, rtmctlProgram|rtmctlError)
	b.set(rtmctl, rtmctlProgram|rtmctlDefault)
	b.set(rtsdctl, sampleCycles<<16|samples)
	b.set(rtfrqmin, sampleCycles/4)
	b.set(rtfrqmax, frequencyAny)
	b.set(rtmctl, rtmctlAccess)
}

// Read fills p with raw entropy, after Init. After an error the content of p must not be used.
func (b Block) Read(p []byte) error {
	var collected [4 * words]byte
	defer clear(collected[:])
	for len(p) > 0 {
		if err := b.await(); err != nil {
			return err
		}
		same := true
		for i := range words {
			v := mmio.R32(b.Base + rtent + uint32(i)*4)
			binary.LittleEndian.PutUint32(collected[4*i:], v)
			same = same && v == binary.LittleEndian.Uint32(collected[:])
		}
		if same {
			return ErrStuck
		}
		p = p[copy(p, collected[:]):]
	}
	return nil
}

func (b Block) set(register, v uint32) { mmio.W32(b.Base+register, v) }

// await waits for the end of a collection.
func (b Block) await() error {
	for end := b.Now() + limit; ; runtime.Gosched() {
		over := b.Now() >= end
		status := mmio.R32(b.Base + rtmctl)
		switch {
		case status&rtmctlError != 0:
			return ErrBroken
		case status&rtmctlValid != 0:
			return nil
		case over:
			return ErrTimeout
		}
	}
}
