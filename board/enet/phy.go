package enet

import (
	"fmt"
	"sync"

	"holdfast/board/mmio"
)

// Registers of every Ethernet PHY (IEEE 802.3 clause 22.2.4).
const (
	phyControl = 0
	phyStatus  = 1
	phyID1     = 2
	phyID2     = 3
	phyOwn     = 4 // what we advertise
	phyPartner = 5 // what the partner does

	phyStatusLink       = 1 << 2 // latches low: the first read tells of a past loss
	phyStatusNegotiated = 1 << 5

	phyControlReset     = 1 << 15 // reads as one until it is over
	phyControlNegotiate = 1 << 12
	phyControlRestart   = 1 << 9 // negotiate anew

	phyAddresses = 32

	// Ability bits of phyOwn and phyPartner.
	phy100Full = 1 << 8
	phy100Half = 1 << 7
	phy10Full  = 1 << 6

	phySelector = 1 // with the abilities: they are those of IEEE 802.3

	mdioPolls = 10_000 // reads of EIR; a management frame takes 27 us
)

// The EVK's PHY. Microchip KSZ8081RNB data sheet, sections 4.1 "Register Map" and 4.2.
const (
	ksz8081     = 0x00221560
	ksz8081Mask = 0xfffffff0 // but for the revision

	ksz8081Control2 = 0x1f
	// ksz8081RMII50MHz: the reference clock that comes in has 50 MHz, from the processor. The other
	// bits are as after a reset.
	ksz8081RMII50MHz = 0x8190

	phyResetReads = 20_000 // of the control register; 0.5 s, as clause 22.2.4.1.1 has it
)

// PHY names the chip between the controller and the cable.
type PHY struct {
	Address int    // on its management bus, 0-31
	ID      uint32 // registers 2 and 3: 0x0022156x is the EVK's KSZ8081, 0x0007c0d1 QEMU's
}

// Link is the state of the cable.
type Link struct {
	Up         bool
	Mbps       int  // 10 or 100; 0 while it is down or being negotiated
	FullDuplex bool // meaningful with Mbps
}

// phy is a PHY on the management bus of a controller, which need not be the one that it serves.
type phy struct {
	mu  sync.Mutex // one management frame at a time
	bus uint32
	PHY
}

// findPHY looks for the PHY on the controller's own bus, then on the other's, if there is one.
func findPHY(address int, own, other uint32) (*phy, error) {
	for _, bus := range []uint32{own, other} {
		if bus == 0 {
			continue
		}
		mmio.W32(bus+regMSCR, mscrSpeed)
		p := &phy{bus: bus, PHY: PHY{Address: address}}
		id, err := p.identify()
		if err != nil {
			return nil, err
		}
		if id != 0 && id != ^uint32(0) { // an address without a PHY reads as all ones
			p.ID = id
			return p, nil
		}
	}
	return nil, fmt.Errorf("enet: no PHY answers at address %d", address)
}

// setUp gets the EVK's PHY going: resets it, tells it what clock it runs on, and has it negotiate
// nothing but 100 Mb/s in full duplex, which is what the controller is set to. Another PHY, such as
// QEMU's, is left as it is.
func (p *phy) setUp() error {
	if p.ID&ksz8081Mask != ksz8081 {
		return nil
	}
	if err := p.reset(); err != nil {
		return err
	}
	for _, w := range []struct{ reg, value uint32 }{
		{ksz8081Control2, ksz8081RMII50MHz},
		{phyOwn, phy100Full | phySelector},
		{phyControl, phyControlNegotiate | phyControlRestart},
	} {
		if err := p.write(w.reg, w.value); err != nil {
			return err
		}
	}
	return nil
}

func (p *phy) reset() error {
	if err := p.write(phyControl, phyControlReset); err != nil {
		return err
	}
	for range phyResetReads {
		v, err := p.read(phyControl)
		if err != nil {
			return err
		}
		if v&phyControlReset == 0 {
			return nil
		}
	}
	return fmt.Errorf("enet: the PHY at address %d does not leave its reset", p.Address)
}

func (p *phy) identify() (uint32, error) {
	high, err := p.read(phyID1)
	if err != nil {
		return 0, err
	}
	low, err := p.read(phyID2)
	return uint32(high)<<16 | uint32(low), err
}

// read reads a register of the PHY.
func (p *phy) read(reg uint32) (uint16, error) { return p.frame(mmfrRead | reg<<mmfrReg) }

// write writes a register of the PHY.
func (p *phy) write(reg, v uint32) error {
	_, err := p.frame(mmfrWrite | reg<<mmfrReg | v)
	return err
}

// frame sends a management frame and returns the data that it ends with.
func (p *phy) frame(f uint32) (uint16, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mmio.W32(p.bus+regEIR, eventMII)
	mmio.W32(p.bus+regMMFR, f|uint32(p.Address)<<mmfrPHY)
	for range mdioPolls {
		if mmio.R32(p.bus+regEIR)&eventMII != 0 {
			return uint16(mmio.R32(p.bus + regMMFR)), nil
		}
	}
	return 0, fmt.Errorf("enet: no answer from the management bus at %#x", p.bus)
}

// PHY is the chip that Open found.
func (p *Port) PHY() PHY { return p.phy.PHY }

// Link asks the PHY for the state of the cable.
func (p *Port) Link() (Link, error) {
	var regs [5]uint16
	for i, reg := range []uint32{phyStatus, phyStatus, phyOwn, phyPartner} {
		v, err := p.phy.read(reg)
		if err != nil {
			return Link{}, err
		}
		regs[i] = v
	}
	return linkOf(regs[1], regs[2]&regs[3]), nil
}

// linkOf decodes the status register and the abilities that both ends have; the best one is in use
// (IEEE 802.3 annex 28B.3).
func linkOf(status, common uint16) Link {
	l := Link{Up: status&phyStatusLink != 0}
	if !l.Up || status&phyStatusNegotiated == 0 {
		return l
	}
	switch {
	case common&phy100Full != 0:
		l.Mbps, l.FullDuplex = 100, true
	case common&phy100Half != 0:
		l.Mbps = 100
	case common&phy10Full != 0:
		l.Mbps, l.FullDuplex = 10, true
	default:
		l.Mbps = 10
	}
	return l
}
