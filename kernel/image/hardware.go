package main

import (
	"net/netip"
	"os"
	"strconv"
	"time"

	"holdfast/board"
	"holdfast/board/at24c"
	"holdfast/board/enet"
	"holdfast/board/i2c"
	"holdfast/kernel/node"
	"holdfast/kernel/sys"
	"holdfast/netstack"
	"holdfast/nvram"
)

// openNVRAM is the EEPROM on I2C2, nil when none answers.
func openNVRAM() nvram.Chip {
	start := time.Now()
	since := func() time.Duration { return time.Since(start) }
	bus := i2c.New(board.I2C2, since)
	bus.Init()
	chip, err := at24c.Open(bus, board.EEPROMAddress, nvram.Size, since)
	if err != nil {
		say("image: nvram: " + err.Error())
		return nil
	}
	return chip
}

// on is the machine that the node runs on, with the chip as its memory.
func on(chip nvram.Chip) node.Machine {
	return node.Machine{
		Clock:   newClock(sys.ReadStats().Entered, sys.CounterHz()).now,
		NVRAM:   chip,
		Console: os.Stdout,
		Entropy: node.Entropy{Seed: sys.TakeSeed, Cycles: sys.Counter, Rekey: sys.Rekey},
	}
}

// openNetwork brings up ENET1 and TCP/IP with the node's address; nil when the node has none. Without
// its network a node is of no use to anybody, so that a failure here ends in a reset.
func openNetwork(n *node.Node) node.Network {
	address, gateway := n.Address()
	if !address.IsValid() {
		return nil
	}
	mac := macOf(address.Addr())
	port, err := openENET(mac)
	if err != nil {
		panic("image: ENET1: " + err.Error())
	}
	stack, err := netstack.New(port, netstack.Config{MAC: mac, Addr: address, Gateway: gateway})
	if err != nil {
		panic("image: " + err.Error())
	}
	return stack
}

// openENET opens ENET1. On the EVK the PHYs of both controllers answer on one management bus, which
// the board wires to ENET2.
func openENET(mac [6]byte) (*enet.Port, error) {
	irq, err := os.OpenFile("/dev/irq/"+strconv.Itoa(board.IRQENET1), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	dma, size := sys.DMA()
	return enet.Open(enet.Config{
		Base: board.ENET1, MDIO: board.ENET2, MAC: mac, DMA: dma, DMASize: size, Interrupt: irq,
	})
}

// macOf is 02:00:00:00:00:<last byte of the address> (spec/system.md section 8): locally administered
// and unicast. It comes from the address because that is what makes nodes differ on one wire, with
// or without NVRAM; every i.MX6UL in QEMU has the same address in its fuses.
func macOf(address netip.Addr) [6]byte {
	b := address.As4()
	return [6]byte{0x02, 0, 0, 0, 0, b[3]}
}
