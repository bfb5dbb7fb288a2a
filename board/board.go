// Package board is the MCIMX6ULL-EVK, the one board Holdfast runs on, as data: where its blocks
// are, which interrupt each one raises, and where its memory is. It holds no code. The drivers of
// the blocks stand in folders beside it, one block a package, and take the base address as an
// argument; the two come together in the kernel and in the image.
//
// The addresses are those of the i.MX 6UltraLite and 6ULL (NXP IMX6ULRM and IMX6ULLRM, chapter 2
// "Memory Maps" and chapter 3 "Interrupts and DMA Events"), and of QEMU's mcimx6ul-evk, which
// models an i.MX 6UL: the 6ULL's third peripheral bridge at 0x02200000 is not there.
package board

// Physical addresses of the register blocks.
const (
	GIC = 0x00a00000 // interrupt controller: the distributor at +0x1000, the CPU interface at +0x2000

	UART7  = 0x02018000
	UART1  = 0x02020000 // the console
	UART8  = 0x02024000
	GPT1   = 0x02098000
	GPIO1  = 0x0209c000
	GPIO2  = 0x020a0000
	GPIO3  = 0x020a4000
	GPIO4  = 0x020a8000
	GPIO5  = 0x020ac000
	ENET2  = 0x020b4000
	WDOG1  = 0x020bc000
	WDOG2  = 0x020c0000
	CCM    = 0x020c4000 // clock controller
	ANALOG = 0x020c8000 // PLLs, USB PHYs and the chip's identity
	SNVS   = 0x020cc000 // secure non-volatile storage: RTC, power-off
	EPIT1  = 0x020d0000
	EPIT2  = 0x020d4000
	SRC    = 0x020d8000 // system reset controller
	GPC    = 0x020dc000
	IOMUXC = 0x020e0000 // pads
	GPR    = 0x020e4000 // IOMUXC general purpose registers
	GPT2   = 0x020e8000
	CAAM   = 0x02140000 // 6UL only: nothing on the 6ULL, zeros in QEMU
	ENET1  = 0x02188000
	USDHC1 = 0x02190000
	USDHC2 = 0x02194000
	I2C1   = 0x021a0000
	I2C2   = 0x021a4000
	I2C3   = 0x021a8000
	OCOTP  = 0x021bc000 // fuses
	SYSCNT = 0x021dc000 // system counter behind the generic timers
	WDOG3  = 0x021e4000
	UART2  = 0x021e8000
	UART3  = 0x021ec000
	UART4  = 0x021f0000
	UART5  = 0x021f4000
	I2C4   = 0x021f8000
	UART6  = 0x021fc000
	RNGB   = 0x02284000 // 6ULL only, as all behind it: an external abort on the 6UL and in QEMU

	IOMUXCSNVS = 0x02290000 // pads of the low-power domain; on the 6UL they are the IOMUXC's
)

// The ranges that hold registers, whole megabytes: the kernel maps them as device memory and
// nothing else below the DRAM.
const (
	GICRange         = 0x00a00000
	GICRangeSize     = 0x00100000
	PeripheralsRange = 0x02000000 // the three AIPS bridges
	PeripheralsSize  = 0x00300000
)

// Interrupt numbers at the GIC, as the kernel's /dev/irq/N files take them. A shared peripheral
// interrupt has the manual's number + 32, private ones are below 32.
const (
	IRQVirtualTimer = 27 // private: the virtual timer of the ARM generic timer

	spi = 32 // the first shared peripheral interrupt

	IRQSNVSKey   = spi + 4
	IRQRNGB      = spi + 6
	IRQWDOG3     = spi + 11
	IRQUART6     = spi + 17
	IRQSNVSClock = spi + 19
	IRQUSDHC1    = spi + 22
	IRQUSDHC2    = spi + 23
	IRQUART1     = spi + 26
	IRQUART2     = spi + 27
	IRQUART3     = spi + 28
	IRQUART4     = spi + 29
	IRQUART5     = spi + 30
	IRQI2C4      = spi + 35
	IRQI2C1      = spi + 36
	IRQI2C2      = spi + 37
	IRQI2C3      = spi + 38
	IRQUART7     = spi + 39
	IRQUART8     = spi + 40
	IRQGPT1      = spi + 55
	IRQEPIT1     = spi + 56
	IRQEPIT2     = spi + 57
	IRQWDOG1     = spi + 80
	IRQWDOG2     = spi + 81
	IRQGPT2      = spi + 109
	IRQENET1     = spi + 118 // 119 is its 1588 timer; QEMU raises both with every event
	IRQENET2     = spi + 120 // 121 is its 1588 timer; QEMU raises both with every event

	IRQs = 160 // interrupt lines that the GIC implements
)

// Memory and what the loader leaves in it.
//
// The kernel owns the first megabyte of the DRAM, the second one is the DMA pool, the image
// follows. All three are fixed, so that neither a driver nor the build depends on the size of the
// memory; package kernel has the picture.
const (
	DRAM        = 0x80000000
	DRAMSize    = 512 << 20 // fitted on the EVK
	DRAMSizeMax = 512 << 20 // as much as the kernel uses of more

	DMA     = 0x80100000 // the DMA pool: normal memory, uncached, never executable
	DMASize = 0x00100000

	Image     = 0x80200000 // the image's ELF headers
	ImageText = 0x80201000 // its code, the linker's -T

	// SeedPage holds SeedSize bytes of entropy for one boot, or zeros. The kernel wipes it.
	SeedPage = 0x80008000
	SeedSize = 32

	// BootPage holds lines that end in '\n', then a zero byte: "-flag" is an argument of the
	// program, "NAME=VALUE" its environment, "ram=MIB" the memory size, "measure=1" has the kernel
	// measure how long it masks interrupts. The kernel reads at most BootSize bytes.
	BootPage = 0x80009000
	BootSize = 2048
)

// Addresses of the Ethernet PHYs, both on the one management bus.
const (
	PHY1 = 2 // KSZ8081 at ENET1
	PHY2 = 1 // KSZ8081 at ENET2
)

// GPIO1's lines to the pads of the I2C buses, for a bus that a device holds down.
const (
	I2C1Clock = 28
	I2C1Data  = 29
	I2C2Clock = 30
	I2C2Data  = 31
)

// GPIO5's lines to the board's shift register, a 74LV595, and what hangs on its outputs: the resets
// of the PHYs among others, all released in ExpanderIdle. While the register is off, resistors
// decide.
const (
	ExpanderLatch = 7
	ExpanderOff   = 8
	ExpanderData  = 10
	ExpanderShift = 11

	ExpanderENET1 = 1 << 1 // not reset
	ExpanderENET2 = 1 << 2 // not reset
	ExpanderIdle  = 0x57   // as Linux leaves it: HDMI, both PHYs, Bluetooth and the camera running
)

// Addresses on the board's I2C buses, seven bits.
const (
	EEPROMAddress = 0x50 // AT24C64 on I2C2: the node's NVRAM
	RTCAddress    = 0x68 // DS1338 on I2C1
)
