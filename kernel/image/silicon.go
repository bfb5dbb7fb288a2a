package main

import (
	"crypto/sha256"
	"time"

	"holdfast/board"
	"holdfast/board/analog"
	"holdfast/board/caam"
	"holdfast/board/ccm"
	"holdfast/board/core"
	"holdfast/board/enet"
	"holdfast/board/gpio"
	"holdfast/board/hc595"
	"holdfast/board/iomuxc"
	"holdfast/board/rngb"
	"holdfast/board/src"
	"holdfast/board/wdog"
)

// What the image does on silicon and not in QEMU, where the devices run from the start, need no
// pads, and there is no generator of random numbers. Run once in QEMU, with core.Emulated turned
// round, it does what it does on a 6UL, finds no entropy in the CAAM, and goes on. None of it was
// seen on silicon, and what only the 6ULL does in host tests alone.

// wakeBoard gets the devices going that the node uses, and says what reset the board.
func (hw *hardware) wakeBoard() {
	if core.Emulated() {
		return
	}
	hw.model = analog.Block(board.ANALOG).Chip()
	say("image: " + hw.model.String() + ", reset by " + resetCause())

	const pads = iomuxc.Block(board.IOMUXC)
	clocks := ccm.Block(board.CCM)
	clocks.Open(ccm.I2C1)
	clocks.Open(ccm.I2C2)
	pads.ConnectI2C1()
	pads.ConnectI2C2()

	clocks.Open(ccm.GPIO1)
	clocks.Open(ccm.GPIO5)
	if hw.model == analog.IMX6UL {
		clocks.Open(ccm.ENETOf6UL)
		pads.ConnectExpander()
	} else {
		clocks.Open(ccm.ENETOf6ULL)
		clocks.Open(ccm.AIPS3Of6ULL)
		iomuxc.SNVS(board.IOMUXCSNVS).ConnectExpander()
	}
	pads.ConnectENET1()
	iomuxc.GPR(board.GPR).DriveENET1Clock()
	if err := analog.Block(board.ANALOG).StartENETClock(); err != nil {
		say("image: ENET1: " + err.Error())
	}
	resetPHYs()
}

// resetCause is what the reset controller says, and of watchdog 1, which is the node's, whether it
// was starved or told to.
func resetCause() string {
	cause := src.Block(board.SRC).Cause()
	switch timeout, software := wdog.Watchdog(board.WDOG1).LastReset(); {
	case timeout:
		return cause + " (starved)"
	case software:
		return cause + " (told to)"
	}
	return cause
}

// resetPHYs resets both PHYs, with the reference clock running. KSZ8081RNB data sheet, section
// "Reset Circuit" and table "Reset Timing": 0.5 ms of reset, 0.1 ms to the first management frame.
func resetPHYs() {
	const phys = board.ExpanderENET1 | board.ExpanderENET2
	hc595.Write(expander(board.GPIO5), board.ExpanderIdle&^phys)
	time.Sleep(time.Millisecond)
	hc595.Write(expander(board.GPIO5), board.ExpanderIdle)
	time.Sleep(time.Millisecond)
}

// expander is the port that the board's shift register hangs on.
type expander gpio.Port

func (e expander) Data(high bool)  { gpio.Port(e).Drive(board.ExpanderData, high) }
func (e expander) Shift(high bool) { gpio.Port(e).Drive(board.ExpanderShift, high) }
func (e expander) Latch(high bool) { gpio.Port(e).Drive(board.ExpanderLatch, high) }
func (e expander) Off(high bool)   { gpio.Port(e).Drive(board.ExpanderOff, high) }

// generator is the chip's own generator of random numbers, nil in QEMU, which has none.
func (hw *hardware) generator() func() ([32]byte, bool) {
	if core.Emulated() {
		return nil
	}
	return hw.random
}

// random is eight times as many bytes as it returns, hashed: neither generator promises one bit of
// entropy for each that it hands out.
func (hw *hardware) random() (seed [32]byte, ok bool) {
	var raw [8 * len(seed)]byte
	defer clear(raw[:])
	if err := hw.readGenerator(raw[:]); err != nil {
		say("image: entropy: " + err.Error())
		return seed, false
	}
	return sha256.Sum256(raw[:]), true
}

// readGenerator fills p from CAAM on the 6UL, from RNGB on the 6ULL.
func (hw *hardware) readGenerator(p []byte) error {
	start := time.Now()
	since := func() time.Duration { return time.Since(start) }
	if hw.model == analog.IMX6UL {
		clocks := ccm.Block(board.CCM)
		clocks.Open(ccm.CAAMMemoryOf6UL)
		clocks.Open(ccm.CAAMAClkOf6UL)
		clocks.Open(ccm.CAAMIPGOf6UL)
		generator := caam.Block{Base: board.CAAM, Now: since}
		generator.Init()
		return generator.Read(p)
	}
	generator := rngb.Block{Base: board.RNGB, Now: since}
	if err := generator.Init(); err != nil {
		return err
	}
	return generator.Read(p)
}

// watchLink says when the cable of ENET1 comes and goes, for ever. QEMU's never does by itself.
func (hw *hardware) watchLink() {
	if core.Emulated() {
		return
	}
	go func() {
		last := "unknown"
		for range time.Tick(time.Second) {
			if now := describeLink(hw.port.Link()); now != last {
				say("image: ENET1: link " + now)
				last = now
			}
		}
	}()
}

// describeLink is a link in words.
func describeLink(l enet.Link, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case !l.Up:
		return "down"
	case l.Mbps == 100 && l.FullDuplex:
		return "up, 100 Mb/s full duplex"
	case l.Mbps == 0:
		return "up, negotiating"
	}
	return "up, but not with 100 Mb/s in full duplex: no frame will pass"
}
