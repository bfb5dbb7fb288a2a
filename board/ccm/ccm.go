// Package ccm opens clock gates and chooses the UARTs' clock in the i.MX clock controller. It owns
// no state; a Block is nothing but its base address. It never closes a gate and never touches what
// the processor, the buses and the memory run on: the boot ROM has set those up.
//
// Where the image's device configuration data has run, all gates are open already; opening one
// again does no harm. Every gate has two bits, 3 for a clock that runs in all modes but stop.
//
// Registers: IMX6ULLRM chapter "Clock Controller Module (CCM)", CCM_CCGR0 to 6 and CCM_CSCDR1; for
// the gates that the 6UL has elsewhere, the same in IMX6ULRM. QEMU keeps what is written and gates
// nothing: never seen on silicon.
package ccm

import "holdfast/board/mmio"

// Block is a clock controller by its base address.
type Block uint32

// Gate names a clock gate: the register's number in the high four bits, the pair of bits, which the
// manual calls CG0 to CG15, in the low four.
type Gate uint8

// The gates of the blocks that Holdfast uses.
const (
	ENETOf6ULL  Gate = 0<<4 | 6 // ENET1 and ENET2
	GPIO1       Gate = 1<<4 | 13
	GPIO5       Gate = 1<<4 | 15
	I2C1        Gate = 2<<4 | 3
	I2C2        Gate = 2<<4 | 4
	ENETOf6UL   Gate = 3<<4 | 2 // ENET1 and ENET2
	WDOG1       Gate = 3<<4 | 8
	WDOG2       Gate = 5<<4 | 5
	UART1       Gate = 5<<4 | 12
	AIPS3Of6ULL Gate = 6<<4 | 9 // the bridge behind which RNGB and IOMUXC_SNVS are
	WDOG3       Gate = 6<<4 | 10

	// The 6UL's CAAM; the 6ULL has none and other gates here.
	CAAMMemoryOf6UL Gate = 0<<4 | 4
	CAAMAClkOf6UL   Gate = 0<<4 | 5
	CAAMIPGOf6UL    Gate = 0<<4 | 6
)

const (
	cscdr1 = 0x24
	ccgr0  = 0x68

	cscdr1Oscillator = 1 << 6 // UART_CLK_SEL: 0 is PLL3 divided by six
	cscdr1Divider    = 0x3f   // UART_CLK_PODF: divides by one more than this

	gateOn = 3
)

// OscillatorHz is the frequency of the crystal that everything derives from.
const OscillatorHz = 24_000_000

// Open lets the clock of one block run.
func (b Block) Open(g Gate) {
	mmio.SetBits32(uint32(b)+ccgr0+uint32(g>>4)*4, gateOn<<(g&15*2))
}

// ClockUARTsByOscillator feeds all UARTs with OscillatorHz, whatever the PLLs do. It must be called
// while none of them sends.
func (b Block) ClockUARTsByOscillator() {
	at := uint32(b) + cscdr1
	mmio.W32(at, mmio.R32(at)&^cscdr1Divider|cscdr1Oscillator)
}
