// Package gpt makes GPT1 a source of interrupts for test images: it counts, and raises its
// interrupt when the count reaches an instant. The package owns GPT1, which the kernel does not
// use; there is no more than one user at a time.
//
// Registers: IMX6ULRM chapter 30 "General Purpose Timer (GPT)". Seen in QEMU, never on silicon.
package gpt

import (
	"os"
	"strconv"

	"holdfast/board"
	"holdfast/board/mmio"
)

// Hz is the frequency of what is counted, the peripheral clock, in QEMU.
const Hz = 49.5e6

const (
	cr  = board.GPT1 + 0x00
	pr  = board.GPT1 + 0x04
	sr  = board.GPT1 + 0x08
	ir  = board.GPT1 + 0x0c
	ocr = board.GPT1 + 0x10
	cnt = board.GPT1 + 0x24

	reset      = 1 << 15
	freeRun    = 1 << 9
	peripheral = 1 << 6
	enable     = 1 << 0
	compare    = 1 << 0 // in SR and in IR
)

// Open opens the file whose reader the interrupt wakes.
func Open() (*os.File, error) {
	return os.OpenFile("/dev/irq/"+strconv.Itoa(board.IRQGPT1), os.O_RDWR, 0)
}

// Start counts from 0, one for each so many ticks of Hz, 1 to 4096.
func Start(prescale uint32) {
	mmio.W32(cr, reset)
	for mmio.R32(cr)&reset != 0 {
	}
	mmio.W32(pr, prescale-1)
	mmio.W32(cr, freeRun|peripheral|enable)
}

// Count is the count. It wraps around.
func Count() uint32 { return mmio.R32(cnt) }

// Set raises the interrupt when the count reaches an instant. One that has passed is not reached
// again for a whole turn.
func Set(at uint32) {
	mmio.W32(sr, compare)
	mmio.W32(ocr, at)
	mmio.W32(ir, compare)
}

// Take ends the interrupt.
func Take() {
	mmio.W32(ir, 0)
	mmio.W32(sr, compare)
}
