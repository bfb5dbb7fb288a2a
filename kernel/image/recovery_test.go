//go:build !arm

package main

import (
	"errors"
	"testing"

	"holdfast/board"
	"holdfast/board/core"
	"holdfast/board/i2c"
	"holdfast/board/mmio"
)

// stuckBus is GPIO1 with a device on two of its wires that holds the data line down until it has
// seen so many rising edges of the clock.
type stuckBus struct {
	direction, level uint32
	clock, data      int
	edges            int
}

func (b *stuckBus) low(line int) bool {
	return b.direction>>line&1 != 0 && b.level>>line&1 == 0
}

func (b *stuckBus) ReadRegister(offset uint32, _ int) uint32 {
	switch offset {
	case 0:
		return b.level
	case 4:
		return b.direction
	}
	v := ^uint32(0)
	for _, line := range []int{b.clock, b.data} {
		if b.low(line) || line == b.data && b.edges > 0 {
			v &^= 1 << line
		}
	}
	return v
}

func (b *stuckBus) WriteRegister(offset uint32, _ int, v uint32) {
	was := b.low(b.clock)
	if offset == 0 {
		b.level = v
	} else {
		b.direction = v
	}
	if was && !b.low(b.clock) {
		b.edges--
	}
}

func TestABusThatIsHeldDownIsClockedFree(t *testing.T) {
	core.Host.PeripheralBase = board.GIC
	defer func() { core.Host.PeripheralBase = 0 }()
	defer mmio.InstallMemory(board.IOMUXC, make([]byte, 0x1000))()
	for _, c := range []struct {
		base        uint32
		clock, data int
		edges       int
		pad, mode   uint32
		want        error
	}{
		{board.I2C1, 28, 29, 9, 0xb8, 0x12, nil},
		{board.I2C2, 30, 31, 1, 0xc0, 0x12, nil},
		{board.I2C2, 30, 31, 10, 0xc0, 0x12, i2c.ErrStuck},
	} {
		b := &stuckBus{clock: c.clock, data: c.data, edges: c.edges}
		remove := mmio.Install(board.GPIO1, 0x1000, b)
		if err := recovery(c.base)(); !errors.Is(err, c.want) {
			t.Errorf("held for %d clocks: %v, want %v", c.edges, err, c.want)
		}
		if b.low(c.clock) || b.low(c.data) {
			t.Errorf("a wire is still driven: direction %#x", b.direction)
		}
		if got := mmio.R32(board.IOMUXC + c.pad); got != c.mode {
			t.Errorf("the pad is not the bus's again: %#x", got)
		}
		remove()
	}
}

func TestQEMUsBusesNeedNoRecovery(t *testing.T) {
	if recovery(board.I2C1) != nil || recovery(board.I2C2) != nil {
		t.Error("there is one")
	}
}
