// Package uart drives the i.MX UART as a console: one byte out, one byte in, and the interrupts of
// both directions. It owns no buffers and no state; a Port is nothing but its base address.
//
// Every method may be called in the kernel's interrupt-masked mode. Only Put waits, while the
// transmit FIFO is full, which at 115,200 baud is at most one character time, 87 us.
//
// Pads and clock gate are the loader's, and the baud rate, unless SetSpeed has set it: Init leaves
// them as they are.
//
// Registers: IMX6ULRM chapter "Universal Asynchronous Receiver/Transmitter", memory map table.
package uart

import "holdfast/board/mmio"

// Port is a UART by its base address.
type Port uint32

// FIFO is how many characters each direction holds on silicon. QEMU's sends at once and holds one.
const FIFO = 32

// Register offsets.
const (
	urxd = 0x00 // received character and its flags
	utxd = 0x40 // character to send
	ucr1 = 0x80
	ucr2 = 0x84
	ucr3 = 0x88
	ufcr = 0x90
	usr1 = 0x94
	usr2 = 0x98
	uts  = 0xb4
)

// Register bits.
const (
	urxdReady = 1 << 15 // CHARRDY

	ucr1Enable        = 1 << 0  // UARTEN
	ucr1ReceiveReady  = 1 << 9  // RRDYEN: interrupt while the receive FIFO holds UFCR.RXTL characters
	ucr1TransmitReady = 1 << 13 // TRDYEN: interrupt while the transmit FIFO holds fewer than UFCR.TXTL

	ucr2NotReset   = 1 << 0  // SRST is active low
	ucr2Receive    = 1 << 1  // RXEN
	ucr2Transmit   = 1 << 2  // TXEN
	ucr2EightBits  = 1 << 5  // WS
	ucr2IgnoreRTS  = 1 << 14 // IRTS
	ucr3RXDMux     = 1 << 2  // RXDMUXSEL, which the manual demands of every user
	ufcrLevelsMask = 0x3f<<10 | 0x3f
	ufcrTXTLHalf   = FIFO / 2 << 10
	ufcrRXTLOne    = 1
	usr2Ready      = 1 << 0 // RDR: at least one character received
	usr2Overrun    = 1 << 1 // ORE: a character found the FIFO full; cleared by writing 1
	utsTransmitMax = 1 << 4 // TXFULL
)

// Init turns the port on, eight bits, without flow control and without interrupts. The registers
// that set the speed keep what the loader wrote.
func (p Port) Init() {
	base := uint32(p)
	mmio.W32(base+ucr1, ucr1Enable)
	mmio.W32(base+ucr2,
		ucr2IgnoreRTS|ucr2EightBits|ucr2Transmit|ucr2Receive|ucr2NotReset)
	mmio.SetBits32(base+ucr3, ucr3RXDMux)
	mmio.W32(base+ufcr, mmio.R32(base+ufcr)&^ufcrLevelsMask|ufcrTXTLHalf|ufcrRXTLOne)
}

// HasRoom reports whether Put would not wait.
func (p Port) HasRoom() bool { return mmio.R32(uint32(p)+uts)&utsTransmitMax == 0 }

// Put sends c as soon as the transmit FIFO has room.
func (p Port) Put(c byte) {
	for !p.HasRoom() {
	}
	mmio.W32(uint32(p)+utxd, uint32(c))
}

// Get takes the next received character, if there is one. A character that arrived damaged counts
// like any other: a console has no use for the difference.
func (p Port) Get() (c byte, ok bool) {
	if mmio.R32(uint32(p)+usr2)&usr2Ready == 0 {
		return 0, false
	}
	v := mmio.R32(uint32(p) + urxd)
	return byte(v), v&urxdReady != 0
}

// Overrun reports whether characters have arrived since the last call that found no room in the
// receive FIFO: one or more, nobody knows how many.
func (p Port) Overrun() bool {
	if mmio.R32(uint32(p)+usr2)&usr2Overrun == 0 {
		return false
	}
	mmio.W32(uint32(p)+usr2, usr2Overrun)
	return true
}

// SetReceiveInterrupt has the port raise its interrupt while characters wait, or not. The line is a
// level: it falls when Get has taken the last one.
func (p Port) SetReceiveInterrupt(on bool) { p.setInterrupt(ucr1ReceiveReady, on) }

// SetTransmitInterrupt has the port raise its interrupt while the transmit FIFO is less than half
// full, or not. The line is a level: whoever has nothing to send turns it off.
func (p Port) SetTransmitInterrupt(on bool) { p.setInterrupt(ucr1TransmitReady, on) }

func (p Port) setInterrupt(bit uint32, on bool) {
	if on {
		mmio.SetBits32(uint32(p)+ucr1, bit)
	} else {
		mmio.ClearBits32(uint32(p)+ucr1, bit)
	}
}
