// Package gpio drives and reads lines of the i.MX GPIO block. It owns no state; a Port is nothing
// but its base address, and two goroutines must not drive lines of one port at the same time.
//
// A line drives its pad once IOMUXC has connected the two: see package iomuxc.
//
// Registers: IMX6ULLRM chapter "General Purpose Input/Output (GPIO)", memory map table. Never seen
// on silicon.
package gpio

import "holdfast/board/mmio"

// Port is a GPIO block of 32 lines by its base address.
type Port uint32

const (
	dr   = 0x0 // data
	gdir = 0x4 // direction: 1 is an output
	psr  = 0x8 // the pads' levels

	lines = 32
)

// Drive makes a line, 0 to 31, an output of the given level. The level stands before the direction
// is turned, so that the line never shows the other one.
func (p Port) Drive(line int, high bool) {
	check(line)
	if high {
		mmio.SetBits32(uint32(p)+dr, 1<<line)
	} else {
		mmio.ClearBits32(uint32(p)+dr, 1<<line)
	}
	mmio.SetBits32(uint32(p)+gdir, 1<<line)
}

// Release makes a line, 0 to 31, an input: whoever else is on the wire decides its level.
func (p Port) Release(line int) {
	check(line)
	mmio.ClearBits32(uint32(p)+gdir, 1<<line)
}

// Level is the level of the pad of a line, 0 to 31, whoever drives it.
func (p Port) Level(line int) bool {
	check(line)
	return mmio.R32(uint32(p)+psr)>>line&1 != 0
}

func check(line int) {
	if line < 0 || line >= lines {
		panic("gpio: line out of range")
	}
}
