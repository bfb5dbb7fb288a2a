// Package syscnt starts the system counter, from which the processor's generic timers count. It
// owns no state; a Block is nothing but its base address. Reading the counter is package timer's.
//
// Out of reset the counter stands still, and CNTFRQ is zero: a boot loader starts the one and
// writes the other. QEMU's counter runs from the start and has no such block, where every register
// reads as zero.
//
// Registers: IMX6ULLRM chapter "System Counter (SYS_CTR)", SYS_CTR_CONTROL memory map. Never seen
// on silicon.
package syscnt

import "holdfast/board/mmio"

// Block is the control half of the system counter by its base address.
type Block uint32

// Hz is the counter's base frequency: the 24 MHz oscillator divided by three.
const Hz = 8_000_000

const (
	cntcr   = 0x00 // control
	cntfid0 = 0x20 // base frequency in Hz, for whoever reads it

	cntcrEnable  = 1 << 0 // EN
	cntcrDebug   = 1 << 1 // HDBG: stands still while a debugger halts the core
	cntcrBase    = 1 << 8 // FCREQ0: run at the base frequency
	cntcrReduced = 1 << 9 // FCREQ1: run at the 32 kHz of the low-power modes
)

// Start makes the counter run at Hz. A counter that runs already goes on from where it is.
func (b Block) Start() {
	base := uint32(b)
	mmio.W32(base+cntfid0, Hz)
	control := mmio.R32(base+cntcr) &^ (cntcrBase | cntcrReduced)
	mmio.W32(base+cntcr, control|cntcrBase|cntcrDebug|cntcrEnable)
}
