package enet

// Register offsets from the block's base (IMX6ULRM chapter 22.6).
const (
	regEIR  = 0x004 // interrupt events, write 1 to clear
	regEIMR = 0x008 // which events interrupt
	regRDAR = 0x010 // "there are empty receive descriptors"
	regTDAR = 0x014 // "there are ready transmit descriptors"
	regECR  = 0x024 // control: reset, enable
	regMMFR = 0x040 // MDIO: one management frame
	regMSCR = 0x044 // MDIO: clock
	regRCR  = 0x084 // receive control
	regTCR  = 0x0c4 // transmit control
	regPALR = 0x0e4 // own address, bytes 0-3
	regPAUR = 0x0e8 // own address, bytes 4-5, and the PAUSE frame's type
	regIAUR = 0x118 // hash filter for unicast addresses, upper and lower half
	regIALR = 0x11c
	regGAUR = 0x120 // hash filter for group addresses, upper and lower half
	regGALR = 0x124
	regTFWR = 0x144 // when transmission begins
	regRDSR = 0x180 // receive ring
	regTDSR = 0x184 // transmit ring
	regMRBR = 0x188 // size of a receive buffer
	regFTRL = 0x1b0 // length beyond which a received frame is cut off

	registers = 0x4000 // size of the block
)

// Bits of the registers that the driver uses.
const (
	eventRXF   = 1 << 25 // a frame was received
	eventMII   = 1 << 23 // a management frame is done
	eventEBERR = 1 << 22 // a DMA access failed; the controller has stopped

	active = 1 << 24 // in RDAR and TDAR

	ecrReset  = 1 << 0
	ecrEnable = 1 << 1
	ecrDBSWP  = 1 << 8 // descriptors are little-endian; QEMU ignores it, silicon needs it

	mmfrRead  = 1<<30 | 2<<28 | 2<<16 // start, opcode, turnaround
	mmfrWrite = 1<<30 | 1<<28 | 2<<16
	mmfrPHY   = 23 // shift
	mmfrReg   = 18 // shift

	// The MDIO clock may be 2.5 MHz at most: 66 MHz / (2 * (13 + 1)) is 2.36. The data is held for
	// one cycle of the 66 MHz, 15 ns of the 10 that are asked for.
	mscrSpeed = 13 << 1

	rcrRMII  = 1 << 8 // QEMU ignores it, the EVK's PHYs need it
	rcrMII   = 1 << 2 // always 1
	rcrMaxFL = 16     // shift; RCR's reset value has loopback on, so it is written whole

	tcrFullDuplex = 1 << 2

	tfwrStoreForward = 1 << 8 // a frame goes out only when the FIFO has it whole

	paurType = 0x8808 // fixed by IEEE 802.3 annex 31B
)

// A legacy buffer descriptor is two little-endian words: flags and length, and the address of the
// buffer. (Enhanced ones add checksums and time stamps, four times as long; QEMU has no use for
// either on receive.)
//
//	31       30   29    28   27    26        21 20 19  18  17  16 15           0
//	+-------+----+-----+----+-----+---- ... +--+--+---+---+---+---+-------------+
//	| empty | RO | wrap|    | last|         |LG|NO|   | CR| OV| TR| length      |  receive
//	| ready | TO | wrap|    | last| CRC ... |  |  |   |   |   |   | length      |  transmit
//	+-------+----+-----+----+-----+---- ... +--+--+---+---+---+---+-------------+
const (
	bdOwned = 1 << 31 // the controller's: empty for receive, ready for transmit
	bdWrap  = 1 << 29 // the ring's last
	bdLast  = 1 << 27 // the frame's last
	bdCRC   = 1 << 26 // transmit: append the frame check sequence

	bdLG = 1 << 21 // longer than MAX_FL
	bdNO = 1 << 20 // not a whole number of bytes
	bdCR = 1 << 18 // wrong frame check sequence
	bdOV = 1 << 17 // the FIFO overran; no other flag is valid
	bdTR = 1 << 16 // cut off at FTRL

	bdLength = 0xffff
	bdSize   = 8 // bytes
)
