// Package gic drives the ARM generic interrupt controller, version 2, of a single-core chip: it
// masks, acknowledges and ends interrupts. It owns no state; a Controller is nothing but its base
// address, and which interrupt means what is the caller's business.
//
// All interrupts are put into group 0 with one priority, but for those that Defer names. The kernel
// runs in the secure state, where group 0 arrives as IRQ while GICC_CTLR.FIQEn is clear.
//
// Registers: ARM Generic Interrupt Controller Architecture Specification IHI 0048B, tables 4-1 and
// 4-2; the offsets of the two halves are those of the Cortex-A7 (DDI 0464, section 8.2.1).
package gic

import "holdfast/board/mmio"

// Controller is a GIC by the base address of its register block.
type Controller uint32

const (
	distributor  = 0x1000
	cpuInterface = 0x2000

	gicdCTLR       = distributor + 0x000
	gicdTYPER      = distributor + 0x004
	gicdIGROUPR    = distributor + 0x080 // one bit an interrupt
	gicdISENABLER  = distributor + 0x100 // one bit an interrupt
	gicdICENABLER  = distributor + 0x180 // one bit an interrupt
	gicdIPRIORITYR = distributor + 0x400 // one byte an interrupt
	gicdITARGETSR  = distributor + 0x800 // one byte an interrupt

	giccCTLR = cpuInterface + 0x000
	giccPMR  = cpuInterface + 0x004
	giccIAR  = cpuInterface + 0x00c
	giccEOIR = cpuInterface + 0x010

	firstShared = 32 // ids below are private to the core
	idMask      = 0x3ff
	firstNoID   = 1020 // this and above say that nothing is pending

	samePriority = 0xa0a0a0a0
	lastPriority = 0xf0 // of those that every implementation of 16 priorities has, the lowest
	toCoreZero   = 0x01010101
)

// Pending is an acknowledged interrupt, to be handed back to End.
type Pending uint32

// ID is the interrupt's number. It reports false when nothing was pending.
func (p Pending) ID() (id uint32, ok bool) {
	id = uint32(p) & idMask
	return id, id < firstNoID
}

// Init masks every interrupt, sends the shared ones to core 0 and turns the controller on.
func (c Controller) Init() {
	base := uint32(c)
	n := (mmio.R32(base+gicdTYPER)&0x1f + 1) * 32
	mmio.W32(base+gicdCTLR, 0)
	for id := uint32(0); id < n; id += 32 {
		mmio.W32(base+gicdICENABLER+id/8, 0xffffffff)
		mmio.W32(base+gicdIGROUPR+id/8, 0)
	}
	for id := uint32(0); id < n; id += 4 {
		mmio.W32(base+gicdIPRIORITYR+id, samePriority)
		if id >= firstShared {
			mmio.W32(base+gicdITARGETSR+id, toCoreZero)
		}
	}
	mmio.W32(base+gicdCTLR, 1)
	mmio.W32(base+giccPMR, 0xff)
	mmio.W32(base+giccCTLR, 1)
}

// Defer has interrupt id acknowledged after all others that are pending.
func (c Controller) Defer(id uint32) {
	addr, shift := uint32(c)+gicdIPRIORITYR+id&^3, id%4*8
	mmio.W32(addr, mmio.R32(addr)&^(0xff<<shift)|lastPriority<<shift)
}

// Mask keeps interrupt id from being signalled. It stays pending while its device asserts it.
func (c Controller) Mask(id uint32) {
	mmio.W32(uint32(c)+gicdICENABLER+id/32*4, 1<<(id%32))
}

// Unmask lets interrupt id be signalled, at once if it is pending.
func (c Controller) Unmask(id uint32) {
	mmio.W32(uint32(c)+gicdISENABLER+id/32*4, 1<<(id%32))
}

// Acknowledge takes the pending interrupt of the highest priority, if there is one. What it
// returns goes to End, whatever it is.
func (c Controller) Acknowledge() Pending { return Pending(mmio.R32(uint32(c) + giccIAR)) }

// End tells the controller that p has been handled.
func (c Controller) End(p Pending) { mmio.W32(uint32(c)+giccEOIR, uint32(p)) }
