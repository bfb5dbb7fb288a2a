// Package wdog drives the i.MX watchdog: reset at once, or reset unless serviced in time. It owns
// no state; a Watchdog is nothing but its base address.
//
// The control register may be written once per boot. Silicon locks the timeout's enable bit, and
// QEMU's model drops it at a second write, which would turn the watchdog off without a word. So
// there is one Start, its timeout can not be changed, and Reset is the end in any case.
//
// Registers are 16 bits wide: IMX6ULRM chapter "Watchdog Timer", memory map table.
package wdog

import "holdfast/board/mmio"

// Watchdog is a watchdog by its base address.
type Watchdog uint32

const (
	wcr  = 0x0 // control
	wsr  = 0x2 // service
	wrsr = 0x4 // reset status
	wmcr = 0x8 // power-down counter

	wcrTimeoutShift  = 8
	wcrNotAssertPin  = 1 << 5 // WDA: leave the WDOG_B pin alone
	wcrNotReset      = 1 << 4 // SRS: 0 resets at once
	wcrEnable        = 1 << 2 // WDE
	wcrStopInDebug   = 1 << 1 // WDBG
	wcrStopInWaiting = 1 << 0 // WDZST: stands still only in the low-power stop mode

	serviceFirst, serviceSecond = 0x5555, 0xaaaa

	wrsrSoftware = 1 << 0 // SFTW
	wrsrTimeout  = 1 << 1 // TOUT
)

// TimeoutMax is the longest timeout in half seconds: 128 s.
const TimeoutMax = 256

// Start arms the watchdog: it resets the chip unless Service is called at least every halfSeconds
// half seconds, 1 to TimeoutMax. Nothing but a reset stops it again. It must be called once.
func (w Watchdog) Start(halfSeconds int) {
	if halfSeconds < 1 || halfSeconds > TimeoutMax {
		panic("wdog: timeout out of range")
	}
	w.StopPowerDownCounter()
	mmio.W16(uint32(w)+wcr, uint16(halfSeconds-1)<<wcrTimeoutShift|
		wcrNotAssertPin|wcrNotReset|wcrEnable|wcrStopInDebug|wcrStopInWaiting)
	w.Service()
}

// Service starts the timeout anew.
func (w Watchdog) Service() {
	mmio.W16(uint32(w)+wsr, serviceFirst)
	mmio.W16(uint32(w)+wsr, serviceSecond)
}

// StopPowerDownCounter keeps silicon from pulling WDOG_B 16 s after power-on, which it does
// whether the watchdog was started or not.
func (w Watchdog) StopPowerDownCounter() { mmio.W16(uint32(w)+wmcr, 0) }

// LastReset is what this watchdog had to do with the last reset of the chip: a timeout, a software
// reset such as Reset's, or neither. QEMU always says neither.
func (w Watchdog) LastReset() (timeout, software bool) {
	status := mmio.R16(uint32(w) + wrsr)
	return status&wrsrTimeout != 0, status&wrsrSoftware != 0
}

// Reset pulls the software reset. On a working board it does not return: the chip is in reset a
// few cycles of the 32 kHz clock later. Three writes, because one can be lost when it coincides
// with that clock (erratum ERR004346 of the i.MX 6 family).
func (w Watchdog) Reset() {
	for range 3 {
		mmio.W16(uint32(w)+wcr, wcrEnable)
	}
}
