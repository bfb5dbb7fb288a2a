// Package src reads from the i.MX system reset controller why the chip was reset. It owns no state;
// a Block is nothing but its base address. It resets nothing: see package wdog.
//
// Registers: IMX6ULLRM chapter "System Reset Controller (SRC)", SRC_SRSR. In QEMU the register has
// its power-on value after every reset, so that the answer is worth something on silicon only,
// where it was never seen.
package src

import "holdfast/board/mmio"

// Block is a reset controller by its base address.
type Block uint32

const srsr = 0x08 // reset status; bits stay until they are written with ones

// causes are the bits of SRSR, in the order in which they are told: the watchdogs before the
// power-on bit, which an older reset may have left.
var causes = [...]struct {
	bit  uint32
	name string
}{
	{1 << 4, "watchdog"},
	{1 << 7, "watchdog 3"},
	{1 << 2, "CSU"},
	{1 << 3, "user reset"},
	{1 << 5, "JTAG"},
	{1 << 6, "JTAG software"},
	{1 << 8, "temperature"},
	{1 << 16, "warm boot"},
	{1 << 0, "power-on"},
}

// Cause is why the chip was last reset, in words, "unknown" when no bit says it. It clears the
// register, so that the next reset tells its own cause: ask once.
func (b Block) Cause() string {
	status := mmio.R32(uint32(b) + srsr)
	mmio.W32(uint32(b)+srsr, status)
	for i := range causes {
		if status&causes[i].bit != 0 {
			return causes[i].name
		}
	}
	return "unknown"
}
