package main

import (
	"net/netip"
	"os"
	"strconv"
	"time"

	"holdfast/board"
	"holdfast/board/analog"
	"holdfast/board/at24c"
	"holdfast/board/ds1338"
	"holdfast/board/enet"
	"holdfast/board/i2c"
	"holdfast/board/wdog"
	"holdfast/kernel/node"
	"holdfast/kernel/sys"
	"holdfast/mesh/when"
	"holdfast/netstack"
	"holdfast/netstack/ack"
	"holdfast/nvram"
)

// hardware is the board's devices, as far as they are open.
type hardware struct {
	chip  nvram.Chip     // nil: none answers
	clock *ds1338.Device // nil: none answers
	model analog.Chip    // zero: QEMU's
	port  *enet.Port
	stack *netstack.Stack
}

// openNVRAM opens the EEPROM on I2C2.
func (hw *hardware) openNVRAM() {
	bus, since := openI2C(board.I2C2)
	chip, err := at24c.Open(bus, board.EEPROMAddress, nvram.Size, since)
	if err != nil {
		say("image: nvram: " + err.Error())
		return
	}
	hw.chip = chip
}

// openClock opens the real-time clock on I2C1: another bus than the EEPROM's, so that the loop can
// read it while marks are being saved.
func (hw *hardware) openClock() {
	bus, _ := openI2C(board.I2C1)
	clock, err := ds1338.Open(bus, board.RTCAddress)
	if err != nil {
		say("image: clock: " + err.Error())
		return
	}
	hw.clock = clock
}

// openI2C is the bus, turned on, and the time that it goes by.
func openI2C(base uint32) (*i2c.Bus, func() time.Duration) {
	start := time.Now()
	since := func() time.Duration { return time.Since(start) }
	bus := i2c.New(base, since)
	bus.Recover = recovery(base)
	bus.Init()
	return bus, since
}

// machine is what the node runs on.
func (hw *hardware) machine() node.Machine {
	m := node.Machine{
		Clock:    newClock(sys.ReadStats().Entered, sys.CounterHz()).now,
		NVRAM:    hw.chip,
		Watchdog: watchdog(board.WDOG1),
		Console:  os.Stdout,
		Keyboard: os.Stdin,
		Epitaph:  sys.Epitaph(),
		Restart:  sys.Reset,
		PowerOff: sys.PowerOff,
		Threads:  threads,
		Entropy: node.Entropy{Seed: sys.TakeSeed, Cycles: sys.Counter, Rekey: sys.Rekey,
			Chip: hw.generator()},
		Figures: hw.figures,
	}
	if hw.clock != nil {
		m.Second = hw.second
	}
	return m
}

// threads is the kernel's, as the node shows them.
func threads() (list []node.Thread) {
	tick := float64(time.Second) / float64(sys.CounterHz())
	for _, t := range sys.ReadThreads() {
		busy := time.Duration(float64(t.Ticks) * tick)
		list = append(list, node.Thread{ID: t.ID, State: t.State, Busy: busy})
	}
	return list
}

// second reads the real-time clock.
func (hw *hardware) second() (when.Calendar, bool) {
	t, err := hw.clock.Time()
	return when.Calendar(t.Unix()), err == nil
}

// watchdog is the chip's as the node wants it.
type watchdog wdog.Watchdog

func (w watchdog) Start(after time.Duration) {
	wdog.Watchdog(w).Start(int(after / (500 * time.Millisecond)))
}

func (w watchdog) Feed() { wdog.Watchdog(w).Service() }

// openNetwork brings up ENET1 and TCP/IP with the node's address; nil when the node has none.
// Without its network a node is of no use to anybody, so that a failure here ends in a reset.
func (hw *hardware) openNetwork(n *node.Node) node.Network {
	address, gateway := n.Address()
	if !address.IsValid() {
		return nil
	}
	mac := macOf(address.Addr())
	var err error
	if hw.port, err = openENET(mac); err != nil {
		panic("image: ENET1: " + err.Error())
	}
	hw.stack, err = netstack.New(ack.New(hw.port), netstack.Config{
		MAC: mac, Addr: address, Gateway: gateway,
		Counter: netstack.Counter{Read: sys.Counter, Hz: sys.CounterHz()},
	})
	if err != nil {
		panic("image: " + err.Error())
	}
	hw.watchLink()
	return hw.stack
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
		Base: board.ENET1, PHY: board.PHY1, MDIO: board.ENET2, MAC: mac, DMA: dma, DMASize: size,
		Interrupt: irq,
	})
}

// macOf is 02:00:00:00:00:<last byte of the address> (spec/system.md section 8): locally
// administered and unicast. It comes from the address because that is what makes nodes differ on
// one wire, with or without NVRAM; every i.MX6UL in QEMU has the same address in its fuses.
func macOf(address netip.Addr) [6]byte {
	b := address.As4()
	return [6]byte{0x02, 0, 0, 0, 0, b[3]}
}
