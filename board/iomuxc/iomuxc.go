// Package iomuxc connects the chip's blocks with its pads, in the way that the MCIMX6ULL-EVK wires
// them. It owns no state; Block, SNVS and GPR are nothing but base addresses. What is not named
// here stays as it was: it is the boot ROM's, or nobody's.
//
// A pad has two registers, and a block's input that can come from several pads has one more:
//
//	SW_MUX_CTL_PAD_x   which of the pad's functions is connected; SION: its input is on as well
//	SW_PAD_CTL_PAD_x   pull resistors, hysteresis, open drain, speed, drive strength
//	x_SELECT_INPUT     which pad an input listens to ("daisy chain")
//
// Registers: IMX6ULLRM chapter "IOMUX Controller (IOMUXC)", memory map tables. The pads' control
// values are those that Linux uses for this board. QEMU has none of these registers, and on silicon
// the package was never seen to work.
package iomuxc

import "holdfast/board/mmio"

// Block is the IOMUXC by its base address.
type Block uint32

// Pad is one pad with the function it gets. Registers are offsets from the block.
type Pad struct {
	mux, control, input uint16 // input is 0 when the function needs none
	mode                uint8  // with sion
	choice              uint8  // for input
	value               uint32 // for control
}

const sion = 1 << 4

// Control values.
const (
	controlUART  = 0x1b0b1 // hysteresis, 100 kOhm up, 100 MHz, 40 Ohm, fast edges
	controlI2C   = 0x1b8b0 // the same, open drain and slow edges
	controlRMII  = 0x1b0b0 // the same as for the UART, slow edges
	controlClock = 0x1b031 // the same as for the UART, 50 MHz
	controlLine  = 0x070a1 // 47 kOhm up, 100 MHz, 60 Ohm, fast edges
)

// Set connects one pad.
func (b Block) Set(p Pad) { set(uint32(b), p) }

func set(base uint32, p Pad) {
	mmio.W32(base+uint32(p.mux), uint32(p.mode))
	if p.input != 0 {
		mmio.W32(base+uint32(p.input), uint32(p.choice))
	}
	mmio.W32(base+uint32(p.control), p.value)
}

// ConnectUART1 gives UART1, the console, its two pads. The kernel calls it in its own mode.
func (b Block) ConnectUART1() {
	b.Set(Pad{0x084, 0x310, 0, 0, 0, controlUART})     // UART1_TX_DATA: UART1_TX
	b.Set(Pad{0x088, 0x314, 0x624, 0, 3, controlUART}) // UART1_RX_DATA: UART1_RX
}

// ConnectI2C1 gives I2C1, the clock's bus, its two pads.
func (b Block) ConnectI2C1() {
	b.Set(Pad{0x0b4, 0x340, 0x5a4, 2 | sion, 1, controlI2C}) // UART4_TX_DATA: I2C1_SCL
	b.Set(Pad{0x0b8, 0x344, 0x5a8, 2 | sion, 2, controlI2C}) // UART4_RX_DATA: I2C1_SDA
}

// ConnectI2C2 gives I2C2, the EEPROM's bus, its two pads.
func (b Block) ConnectI2C2() {
	b.Set(Pad{0x0bc, 0x348, 0x5ac, 2 | sion, 2, controlI2C}) // UART5_TX_DATA: I2C2_SCL
	b.Set(Pad{0x0c0, 0x34c, 0x5b0, 2 | sion, 2, controlI2C}) // UART5_RX_DATA: I2C2_SDA
}

// LendI2C1 makes the pads of I2C1 lines 28 (clock) and 29 (data) of GPIO1, open drain as before.
func (b Block) LendI2C1() {
	b.Set(Pad{0x0b4, 0x340, 0, 5 | sion, 0, controlI2C}) // UART4_TX_DATA: GPIO1_IO28
	b.Set(Pad{0x0b8, 0x344, 0, 5 | sion, 0, controlI2C}) // UART4_RX_DATA: GPIO1_IO29
}

// LendI2C2 makes the pads of I2C2 lines 30 (clock) and 31 (data) of GPIO1, open drain as before.
func (b Block) LendI2C2() {
	b.Set(Pad{0x0bc, 0x348, 0, 5 | sion, 0, controlI2C}) // UART5_TX_DATA: GPIO1_IO30
	b.Set(Pad{0x0c0, 0x34c, 0, 5 | sion, 0, controlI2C}) // UART5_RX_DATA: GPIO1_IO31
}

// ConnectENET1 gives ENET1 its RMII and the management bus, on which both PHYs of the board are.
func (b Block) ConnectENET1() {
	b.Set(Pad{0x074, 0x300, 0x578, 0, 0, controlRMII})         // GPIO1_IO06: ENET1_MDIO
	b.Set(Pad{0x078, 0x304, 0, 0, 0, controlRMII})             // GPIO1_IO07: ENET1_MDC
	b.Set(Pad{0x0c4, 0x350, 0, 0, 0, controlRMII})             // ENET1_RX_DATA0
	b.Set(Pad{0x0c8, 0x354, 0, 0, 0, controlRMII})             // ENET1_RX_DATA1
	b.Set(Pad{0x0cc, 0x358, 0, 0, 0, controlRMII})             // ENET1_RX_EN
	b.Set(Pad{0x0d0, 0x35c, 0, 0, 0, controlRMII})             // ENET1_TX_DATA0
	b.Set(Pad{0x0d4, 0x360, 0, 0, 0, controlRMII})             // ENET1_TX_DATA1
	b.Set(Pad{0x0d8, 0x364, 0, 0, 0, controlRMII})             // ENET1_TX_EN
	b.Set(Pad{0x0dc, 0x368, 0x574, 4 | sion, 2, controlClock}) // ENET1_TX_CLK: ENET1_REF_CLK1
	b.Set(Pad{0x0e0, 0x36c, 0, 0, 0, controlRMII})             // ENET1_RX_ER
}

// ConnectExpander makes GPIO5's lines 7, 8, 10 and 11, to which the board has wired a shift
// register with more outputs, ordinary pins. On the 6ULL their pads are another block's: see SNVS.
func (b Block) ConnectExpander() {
	b.Set(Pad{0x014, 0x2a0, 0, 5, 0, controlLine}) // BOOT_MODE0: GPIO5_IO10
	b.Set(Pad{0x018, 0x2a4, 0, 5, 0, controlLine}) // BOOT_MODE1: GPIO5_IO11
	b.Set(Pad{0x038, 0x2c4, 0, 5, 0, controlLine}) // SNVS_TAMPER7: GPIO5_IO07
	b.Set(Pad{0x03c, 0x2c8, 0, 5, 0, controlLine}) // SNVS_TAMPER8: GPIO5_IO08
}

// SNVS is the 6ULL's IOMUXC_SNVS, the pads of the low-power domain, by its base address. The 6UL
// has no such block: touching it ends in an external abort.
type SNVS uint32

// ConnectExpander is the 6ULL's way for what Block.ConnectExpander does on the 6UL.
func (s SNVS) ConnectExpander() {
	set(uint32(s), Pad{0x000, 0x044, 0, 5, 0, controlLine}) // BOOT_MODE0: GPIO5_IO10
	set(uint32(s), Pad{0x004, 0x048, 0, 5, 0, controlLine}) // BOOT_MODE1: GPIO5_IO11
	set(uint32(s), Pad{0x024, 0x068, 0, 5, 0, controlLine}) // SNVS_TAMPER7: GPIO5_IO07
	set(uint32(s), Pad{0x028, 0x06c, 0, 5, 0, controlLine}) // SNVS_TAMPER8: GPIO5_IO08
}

// GPR is the IOMUXC's general purpose registers by their base address.
type GPR uint32

const (
	gpr1 = 0x04

	gpr1ENET1FromPad  = 1 << 13 // ENET1_CLK_SEL: the 50 MHz come from outside
	gpr1ENET1ToOutput = 1 << 17 // ENET1_TX_CLK_DIR: the 50 MHz go out to the PHY
)

// DriveENET1Clock makes ENET1 and its PHY run on the chip's own 50 MHz, which leave by the pad
// ENET1_TX_CLK and come back through it.
func (g GPR) DriveENET1Clock() {
	at := uint32(g) + gpr1
	mmio.W32(at, mmio.R32(at)&^gpr1ENET1FromPad|gpr1ENET1ToOutput)
}
