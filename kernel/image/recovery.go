package main

import (
	"time"

	"holdfast/board"
	"holdfast/board/core"
	"holdfast/board/gpio"
	"holdfast/board/i2c"
	"holdfast/board/iomuxc"
)

// halfPeriod is half a clock of an I2C bus at 100 kHz.
const halfPeriod = 5 * time.Microsecond

// wires are the two of a bus while their pads are GPIO1's. Nobody drives them high: they are pulled
// up.
type wires struct {
	clock, data int
}

const wiresPort = gpio.Port(board.GPIO1)

func (w wires) SetClock(high bool) { setWire(w.clock, high) }
func (w wires) SetData(high bool)  { setWire(w.data, high) }
func (w wires) Data() bool         { return wiresPort.Level(w.data) }

func setWire(line int, high bool) {
	if high {
		wiresPort.Release(line)
	} else {
		wiresPort.Drive(line, false)
	}
	for start := time.Now(); time.Since(start) < halfPeriod; {
	}
}

// recovery frees the bus of the I2C block at base when a device, that a reset cut off in the middle
// of a byte, holds it down; nil in QEMU, where none does. It was never seen on silicon.
func recovery(base uint32) func() error {
	const pads = iomuxc.Block(board.IOMUXC)
	switch {
	case core.Emulated():
		return nil
	case base == board.I2C1:
		return func() error {
			pads.LendI2C1()
			defer pads.ConnectI2C1()
			return i2c.Unstick(wires{board.I2C1Clock, board.I2C1Data})
		}
	default:
		return func() error {
			pads.LendI2C2()
			defer pads.ConnectI2C2()
			return i2c.Unstick(wires{board.I2C2Clock, board.I2C2Data})
		}
	}
}
