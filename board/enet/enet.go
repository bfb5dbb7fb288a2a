// Package enet drives the i.MX6UL's 10/100 Mb/s Ethernet controller, ENET, with its PHY in RMII
// mode (IMX6ULRM chapter 22). It moves whole frames between two descriptor rings and its caller and
// knows nothing of what they carry; a Port has the shape of a network stack's device.
//
// The caller gives it everything that is not the controller's own: the registers' base, uncached
// memory for the rings and buffers, the interrupt as a file, the address. The driver runs on
// goroutines, never in the kernel, and never waits but for its interrupt; every poll is bounded.
//
// Memory, from Config.DMA, all of it uncached, so that there is no cache maintenance to forget
// (QEMU has no caches and would not show it):
//
//	0x00000  64 receive descriptors    each with a buffer of 1,536 bytes, for ever
//	0x00200  64 transmit descriptors   likewise
//	0x00400  64 receive buffers
//	0x18400  64 transmit buffers
//
// A descriptor belongs to the controller while its owned bit is set, to the driver otherwise:
//
//	receive   empty (owned) --frame--> full --Receive's f is done with it--> empty
//	transmit  free --Send--> ready (owned) --on the wire--> free
//
// Nothing interrupts for transmission: Send looks at the descriptor it wants, and a ring that is
// full loses the frame, as Ethernet may.
//
// # Silicon and QEMU
//
// The driver is written for the chip and tested in QEMU's model of it, which leaves things out. Set
// for the chip, ignored by QEMU: DBSWP, RMII, the MDIO clock, the address filter (every frame on
// the wire is delivered, so the layer above filters), frame check sequences (a received frame has
// four bytes where it would be, of no value), padding of short frames. The chip also wants its
// clock gate open, its pads muxed, the 50 MHz reference clock on and its PHY out of reset before
// Open (packages ccm, iomuxc, analog, hc595). Open then sets up the EVK's PHY, a KSZ8081; QEMU has
// another one, which needs nothing. Neither was seen on silicon.
package enet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"holdfast/board/mmio"
)

const (
	ring   = 64   // descriptors each way
	buffer = 1536 // bytes; a multiple of 64, and one frame needs one descriptor

	fcs      = 4
	minFrame = 60   // without FCS; IEEE 802.3 clause 4.2.3.3
	maxFrame = 1514 // without FCS
	header   = 14   // bytes; less is no frame

	// DMASize is how much memory a Port needs, in bytes.
	DMASize = 2 * ring * (bdSize + buffer)

	dmaAlign = 64 // of rings and buffers

	resetPolls = 10_000 // reads of ECR; the reset takes 8 cycles of the bus clock
)

// Config is what a Port stands on.
type Config struct {
	Base uint32  // the controller's registers
	MAC  [6]byte // the station's address, unicast

	DMA     uint32 // bus address of uncached memory, a multiple of 64
	DMASize uint32 // its length, at least the constant DMASize

	// PHY is the PHY's address on its management bus, 0 to 31. MDIO is the base of another
	// controller whose bus it may be on, 0 for none. On the EVK both PHYs are on one bus, which is
	// muxed to one of the controllers: that one answers there does not mean that it is this port's.
	PHY  int
	MDIO uint32

	// Interrupt gives one read for each time that the controller interrupted since the last one,
	// and blocks while there was none. It is read by Receive and closed by Close.
	Interrupt io.ReadCloser
}

// Port is one controller. Send may be called by several goroutines, Receive by one.
type Port struct {
	base      uint32
	interrupt io.ReadCloser
	phy       *phy
	closed    atomic.Bool

	rx half // Receive's

	sending sync.Mutex
	tx      half // guarded by sending

	stats counters
}

// half is one direction: a ring, its buffers, and the descriptor that is next.
type half struct {
	descriptors uint32
	buffers     uint32
	next        uint32
}

// descriptor is the address of descriptor i.
func (h *half) descriptor(i uint32) uint32 { return h.descriptors + i*bdSize }

// memory is the first n bytes of the buffer of descriptor i.
func (h *half) memory(i, n uint32) []byte { return mmio.Bytes(h.buffers+i*buffer, n) }

func (h *half) advance() { h.next = (h.next + 1) % ring }

// init writes the ring: every descriptor with its buffer and the given flags.
func (h *half) init(flags uint32) {
	for i := range uint32(ring) {
		f := flags
		if i == ring-1 {
			f |= bdWrap
		}
		mmio.W32(h.descriptor(i)+4, h.buffers+i*buffer)
		mmio.W32(h.descriptor(i), f)
	}
}

// Open resets the controller, finds its PHY and starts it. From then on frames collect in the
// receive ring; Receive fetches them.
func Open(c Config) (*Port, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	p := &Port{base: c.Base, interrupt: c.Interrupt}
	p.rx.descriptors = c.DMA
	p.tx.descriptors = p.rx.descriptors + ring*bdSize
	p.rx.buffers = p.tx.descriptors + ring*bdSize
	p.tx.buffers = p.rx.buffers + ring*buffer
	if err := p.reset(); err != nil {
		return nil, err
	}
	var err error
	if p.phy, err = findPHY(c.PHY, c.Base, c.MDIO); err != nil {
		return nil, err
	}
	if err := p.phy.setUp(); err != nil {
		return nil, err
	}
	p.start(c.MAC)
	return p, nil
}

func (c Config) validate() error {
	switch {
	case c.MAC[0]&1 != 0 || c.MAC == [6]byte{}:
		return fmt.Errorf("enet: %x is not a unicast Ethernet address", c.MAC)
	case c.DMA%dmaAlign != 0:
		return fmt.Errorf("enet: DMA memory at %#x is not aligned to %d bytes", c.DMA, dmaAlign)
	case c.DMASize < DMASize:
		return fmt.Errorf("enet: %d bytes of DMA memory, needs %d", c.DMASize, DMASize)
	case c.PHY < 0 || c.PHY >= phyAddresses:
		return fmt.Errorf("enet: PHY address %d, want 0 to %d", c.PHY, phyAddresses-1)
	case c.Interrupt == nil:
		return errors.New("enet: no interrupt")
	}
	return nil
}

func (p *Port) read(reg uint32) uint32     { return mmio.R32(p.base + reg) }
func (p *Port) write(reg uint32, v uint32) { mmio.W32(p.base+reg, v) }

// reset stops whatever the controller did before, DMA included. In QEMU it resets the PHY as well.
func (p *Port) reset() error {
	p.write(regECR, ecrReset)
	for range resetPolls {
		if p.read(regECR)&ecrReset == 0 {
			p.write(regEIMR, 0)
			p.write(regEIR, ^uint32(0))
			return nil
		}
	}
	return errors.New("enet: the controller does not leave its reset")
}

// start programs the controller and enables it. The chip takes the rings' addresses over when it is
// enabled, not when they are written.
func (p *Port) start(mac [6]byte) {
	p.write(regPALR, binary.BigEndian.Uint32(mac[:4]))
	p.write(regPAUR, uint32(binary.BigEndian.Uint16(mac[4:]))<<16|paurType)
	for _, filter := range []uint32{regIAUR, regIALR, regGAUR, regGALR} {
		p.write(filter, 0) // own address and broadcast only
	}
	p.rx.init(bdOwned)
	p.tx.init(0)
	p.write(regRDSR, p.rx.descriptors)
	p.write(regTDSR, p.tx.descriptors)
	p.write(regMRBR, buffer)
	// A frame that is too long is cut off before it needs a second descriptor. MAX_FL alone would
	// only flag it.
	p.write(regFTRL, buffer)
	p.write(regRCR, (maxFrame+fcs)<<rcrMaxFL|rcrRMII|rcrMII)
	p.write(regTCR, tcrFullDuplex)
	p.write(regTFWR, tfwrStoreForward)
	mmio.Barrier() // the rings, before the controller reads them
	p.write(regECR, ecrEnable|ecrDBSWP)
	p.write(regRDAR, active)
	p.write(regEIMR, eventRXF|eventEBERR)
}

// Receive calls f with each frame that arrives, without its frame check sequence, until the port is
// closed or the controller has failed; it returns why. The frame lies in uncached memory and is
// valid during the call.
func (p *Port) Receive(f func(frame []byte)) error {
	return p.ReceiveBursts(f, func() {})
}

// ReceiveBursts is Receive, and calls idle when f was called and the ring is empty again.
func (p *Port) ReceiveBursts(f func(frame []byte), idle func()) error {
	var count [8]byte
	for {
		if _, err := p.interrupt.Read(count[:]); err != nil {
			return fmt.Errorf("enet: waiting for the interrupt: %w", err)
		}
		if p.read(regEIR)&eventEBERR != 0 {
			return errors.New("enet: a DMA access failed, the controller has stopped")
		}
		// The event is cleared before the ring is looked at, because a frame that comes in between
		// must raise it again; and once more behind the frames, or what came while they were
		// handled, and was handled with them, would interrupt once more for nothing.
		for more := true; more; {
			p.write(regEIR, eventRXF)
			if more = p.drain(f); more {
				idle()
			}
		}
	}
}

// drain hands all received frames to f and their buffers back to the controller. It reports whether
// there were any.
func (p *Port) drain(f func(frame []byte)) bool {
	for n := 0; ; n++ {
		d := p.rx.descriptor(p.rx.next)
		status := mmio.R32(d)
		if status&bdOwned != 0 {
			if n > 0 {
				// A controller that ran out of descriptors waits for this; QEMU then delivers what
				// it kept back. While it runs it ignores it.
				mmio.Barrier()
				p.write(regRDAR, active)
			}
			return n > 0
		}
		mmio.Barrier() // the flags, before the frame that they announce
		if p.stats.received(status) {
			f(p.rx.memory(p.rx.next, status&bdLength-fcs))
		}
		mmio.Barrier() // the last look at the frame, before it may be overwritten
		mmio.W32(d, status&bdWrap|bdOwned)
		p.rx.advance()
	}
}

// Send sends one frame, the concatenation of parts, padded to Ethernet's minimum. False means that
// it is lost: the ring is full, or it is no frame.
func (p *Port) Send(parts [][]byte) bool {
	n := uint32(0)
	for _, part := range parts {
		n += uint32(len(part))
	}
	if n < header || n > maxFrame {
		p.stats.txBad.Add(1)
		return false
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	d := p.tx.descriptor(p.tx.next)
	status := mmio.R32(d)
	if status&bdOwned != 0 || p.closed.Load() {
		p.stats.txFull.Add(1)
		return false
	}
	length := max(n, minFrame) // neither the chip in RMII mode nor QEMU pads for us
	memory := p.tx.memory(p.tx.next, length)
	filled := 0
	for _, part := range parts {
		filled += copy(memory[filled:], part)
	}
	clear(memory[filled:])
	mmio.Barrier() // the frame, before the flags that give it away
	mmio.W32(d, status&bdWrap|bdOwned|bdLast|bdCRC|length)
	mmio.Barrier() // the descriptor, before the controller is told to look
	p.write(regTDAR, active)
	p.tx.advance()
	p.stats.txFrames.Add(1)
	return true
}

// Close stops the controller and ends Receive. A frame that is being sent may not get out.
func (p *Port) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	p.write(regEIMR, 0)
	p.write(regECR, ecrDBSWP)
	if err := p.interrupt.Close(); err != nil {
		return fmt.Errorf("enet: closing the interrupt: %w", err)
	}
	return nil
}

// HardwareMAC is the address that the controller at base was given by the loader or, in QEMU, by
// the command line; zeros when it has none. It is lost in Open.
func HardwareMAC(base uint32) (mac [6]byte) {
	binary.BigEndian.PutUint32(mac[:4], mmio.R32(base+regPALR))
	binary.BigEndian.PutUint16(mac[4:], uint16(mmio.R32(base+regPAUR)>>16))
	return mac
}
