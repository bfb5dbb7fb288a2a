package uart

import "holdfast/board/mmio"

const (
	ubir = 0xa4 // fraction of the speed: numerator less one
	ubmr = 0xa8 // and denominator less one

	ufcrDividerMask = 7 << 7 // RFDIV
	ufcrDividerOne  = 5 << 7
)

// The speed is a fraction of the module's clock, undivided: 24 MHz * (47+1) / (624+1) / 16 is
// 115,200 exactly.
const (
	numerator   = 48
	denominator = 625
)

// SetSpeed makes the port run at 115,200 baud from the chip's 24 MHz crystal. It turns the port
// off: Init has to follow. It is for a board whose loader has not set the speed; QEMU has none.
//
// Registers: IMX6ULLRM, the same chapter, "Binary Rate Multiplier (BRM)". Never seen on silicon.
func (p Port) SetSpeed() {
	base := uint32(p)
	mmio.W32(base+ucr1, 0)
	mmio.W32(base+ufcr, mmio.R32(base+ufcr)&^ufcrDividerMask|ufcrDividerOne)
	mmio.W32(base+ubir, numerator-1) // before the denominator, which takes both over
	mmio.W32(base+ubmr, denominator-1)
}
