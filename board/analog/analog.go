// Package analog drives two things of the i.MX analog block: it tells which chip this is, and turns
// on the PLL that makes the Ethernet PHYs' 50 MHz. It owns no state; a Block is nothing but its
// base address.
//
// Registers: IMX6ULLRM chapter "Clock Controller Module (CCM)", CCM_ANALOG_PLL_ENET, and chapter
// "USB PHY", USB_ANALOG_DIGPROG. QEMU has the identity of an i.MX 6UL and a PLL that is always
// locked: the PLL was never seen on silicon.
package analog

import (
	"errors"
	"fmt"

	"holdfast/board/mmio"
)

// Block is the analog block by its base address.
type Block uint32

const (
	pllENET = 0x0e0
	digprog = 0x260 // DIGPROG: chip and revision

	pllENETDivider1  = 3 << 0  // ENET0_DIV_SELECT, of ENET1's clock
	pllENET50MHz     = 1 << 0  // the divider's value
	pllENETPowerDown = 1 << 12 // POWERDOWN
	pllENETClock1    = 1 << 13 // ENET1_125M_EN: ENET1's clock comes out, at whatever frequency
	pllENETBypass    = 1 << 16 // BYPASS: the crystal instead of the PLL
	pllENETLock      = 1 << 31 // LOCK

	// lockPolls bounds the wait for the PLL, which locks within a millisecond. A read takes some
	// 0.1 us.
	lockPolls = 100_000
)

// Chip is what a chip of the family is called in its identity register.
type Chip uint16

// The chips that the board is fitted with.
const (
	IMX6UL  Chip = 0x6400 // also QEMU's
	IMX6ULL Chip = 0x6500
)

func (c Chip) String() string {
	switch c {
	case IMX6UL:
		return "i.MX 6UL"
	case IMX6ULL:
		return "i.MX 6ULL"
	}
	return fmt.Sprintf("unknown chip %#04x", uint16(c))
}

// Chip is which chip this is. The low byte of its identity, the revision, is left out.
func (b Block) Chip() Chip { return Chip(mmio.R32(uint32(b)+digprog) >> 8) }

// StartENETClock makes the 50 MHz for ENET1 and its PHY, and waits until it is steady.
func (b Block) StartENETClock() error {
	at := uint32(b) + pllENET
	v := mmio.R32(at)&^(pllENETPowerDown|pllENETDivider1) | pllENET50MHz
	mmio.W32(at, v)
	for range lockPolls {
		if mmio.R32(at)&pllENETLock != 0 {
			mmio.W32(at, v&^pllENETBypass|pllENETClock1)
			return nil
		}
	}
	return errors.New("analog: the Ethernet PLL does not lock")
}
