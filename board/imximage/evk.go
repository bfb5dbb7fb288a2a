package imximage

import "slices"

// EVK is the device configuration data of the MCIMX6ULL-EVK: clocks on, the pads of the memory
// bus, and its DDR3L, 512 MB on one chip select, brought up by the memory controller MMDC. The
// order matters: the memory is initialised by writes to MDSCR, between a configuration request and
// its end. The values are those that NXP publishes for this board and that U-Boot's mx6ullevk uses;
// an MCIMX6UL-EVK has others.
//
// Registers: IMX6ULLRM chapters "Clock Controller Module (CCM)", "IOMUX Controller (IOMUXC)" and
// "Multi Mode DDR Controller (MMDC)", memory map tables.
func EVK() []Write { return slices.Concat(clocks(), pads(), configuration(), start()) }

// clocks opens every clock gate, CCM_CCGR0 to 6.
func clocks() []Write {
	return []Write{
		{0x020c4068, 0xffffffff},
		{0x020c406c, 0xffffffff},
		{0x020c4070, 0xffffffff},
		{0x020c4074, 0xffffffff},
		{0x020c4078, 0xffffffff},
		{0x020c407c, 0xffffffff},
		{0x020c4080, 0xffffffff},
	}
}

// pads says what kind of memory it is, and how strongly each pad and group of pads is driven.
func pads() []Write {
	return []Write{
		{0x020e04b4, 0x000c0000}, // GRP_DDR_TYPE: DDR3
		{0x020e04ac, 0x00000000}, // GRP_DDRPKE
		{0x020e027c, 0x00000030}, // DRAM_SDCLK0
		{0x020e0250, 0x00000030}, // DRAM_CAS
		{0x020e024c, 0x00000030}, // DRAM_RAS
		{0x020e0490, 0x00000030}, // GRP_ADDDS
		{0x020e0288, 0x000c0030}, // DRAM_RESET
		{0x020e0270, 0x00000000}, // DRAM_SDBA2
		{0x020e0260, 0x00000030}, // DRAM_ODT0
		{0x020e0264, 0x00000030}, // DRAM_ODT1
		{0x020e04a0, 0x00000030}, // GRP_CTLDS
		{0x020e0494, 0x00020000}, // GRP_DDRMODE_CTL
		{0x020e0280, 0x00000030}, // DRAM_SDQS0
		{0x020e0284, 0x00000030}, // DRAM_SDQS1
		{0x020e04b0, 0x00020000}, // GRP_DDRMODE
		{0x020e0498, 0x00000030}, // GRP_B0DS
		{0x020e04a4, 0x00000030}, // GRP_B1DS
		{0x020e0244, 0x00000030}, // DRAM_DQM0
		{0x020e0248, 0x00000030}, // DRAM_DQM1
	}
}

// configuration asks the MMDC for permission to configure it, and gives it the board's calibration,
// the timing and the size of the memory.
func configuration() []Write {
	return []Write{
		{0x021b001c, 0x00008000}, // MDSCR: configuration request
		{0x021b0800, 0xa1390003}, // MPZQHWCTRL: ZQ calibration
		{0x021b080c, 0x00000004}, // MPWLDECTRL0: write levelling
		{0x021b083c, 0x41640158}, // MPDGCTRL0: read DQS gating
		{0x021b0848, 0x40403237}, // MPRDDLCTL: read delay
		{0x021b0850, 0x40403c33}, // MPWRDLCTL: write delay
		{0x021b081c, 0x33333333}, // MPRDDQBY0DL
		{0x021b0820, 0x33333333}, // MPRDDQBY1DL
		{0x021b082c, 0xf3333333}, // MPWRDQBY0DL
		{0x021b0830, 0xf3333333}, // MPWRDQBY1DL
		{0x021b08c0, 0x00944009}, // MPDCCR: duty cycle
		{0x021b08b8, 0x00000800}, // MPMUR0: force the measurement

		{0x021b0004, 0x0002002d}, // MDPDC
		{0x021b0008, 0x1b333030}, // MDOTC
		{0x021b000c, 0x676b52f3}, // MDCFG0
		{0x021b0010, 0xb66d0b63}, // MDCFG1
		{0x021b0014, 0x01ff00db}, // MDCFG2
		{0x021b0018, 0x00201740}, // MDMISC
		{0x021b001c, 0x00008000}, // MDSCR: configuration request
		{0x021b002c, 0x000026d2}, // MDRWD
		{0x021b0030, 0x006b1023}, // MDOR
		{0x021b0040, 0x0000004f}, // MDASP: memory ends at 0xa0000000
		{0x021b0000, 0x84180000}, // MDCTL: 15 rows, 10 columns, 16 bits
		{0x021b0890, 0x00400000}, // MPPDCMPR2
	}
}

// start sets the memory's own mode registers, through MDSCR, and begins to refresh it.
func start() []Write {
	return []Write{
		{0x021b001c, 0x02008032}, // MR2
		{0x021b001c, 0x00008033}, // MR3
		{0x021b001c, 0x00048031}, // MR1
		{0x021b001c, 0x15208030}, // MR0
		{0x021b001c, 0x04008040}, // ZQ calibration, long

		{0x021b0020, 0x00000800}, // MDREF
		{0x021b0818, 0x00000227}, // MPODTCTRL
		{0x021b0004, 0x0002552d}, // MDPDC
		{0x021b0404, 0x00011006}, // MAPSR
		{0x021b001c, 0x00000000}, // MDSCR: go
	}
}
