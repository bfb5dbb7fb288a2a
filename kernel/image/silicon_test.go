//go:build !arm

package main

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"holdfast/board"
	"holdfast/board/analog"
	"holdfast/board/core"
	"holdfast/board/enet"
	"holdfast/board/mmio"
)

// onSilicon makes this the chip of the given identity, with memory for its registers. A register
// behind the third bridge, which the 6UL has not, ends in a panic, as it ends in an abort there.
func onSilicon(t *testing.T, identity uint32) {
	core.Host.PeripheralBase = board.GIC
	t.Cleanup(func() { core.Host.PeripheralBase = 0 })
	blocks := []uint32{board.CCM, board.ANALOG, board.SRC, board.WDOG1, board.IOMUXC, board.GPR,
		board.GPIO5}
	if identity>>8 == uint32(analog.IMX6ULL) {
		blocks = append(blocks, board.IOMUXCSNVS, board.RNGB)
	} else {
		blocks = append(blocks, board.CAAM)
	}
	for _, base := range blocks {
		t.Cleanup(mmio.InstallMemory(base, make([]byte, 0x1000)))
	}
	mmio.W32(board.ANALOG+0x260, identity)
	mmio.W32(board.ANALOG+0x0e0, 1<<31) // the PLL has locked
}

const (
	identity6UL  = 0x00640001
	identity6ULL = 0x00650000
)

func TestEachChipOfTheBoardIsWoken(t *testing.T) {
	for name, c := range map[string]struct {
		identity  uint32
		registers map[uint32]uint32
	}{
		"6UL": {identity6UL, map[uint32]uint32{
			board.CCM + 0x74: 3 << 4, board.IOMUXC + 0x38: 5,
		}},
		"6ULL": {identity6ULL, map[uint32]uint32{
			board.CCM + 0x68: 3 << 12, board.CCM + 0x80: 3 << 18, board.IOMUXCSNVS + 0x24: 5,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			onSilicon(t, c.identity)
			var hw hardware
			hw.wakeBoard()
			c.registers[board.CCM+0x70] = 3<<6 | 3<<8                // both I2C
			c.registers[board.CCM+0x6c] = 3<<30 | 3<<26              // GPIO5, GPIO1
			c.registers[board.IOMUXC+0xdc] = 0x14                    // the reference clock's pad
			c.registers[board.GPR+4] = 1 << 17                       // and its direction
			c.registers[board.ANALOG+0xe0] = 1<<31 | 1<<13 | 1       // and the PLL
			c.registers[board.GPIO5+4] = 1<<7 | 1<<8 | 1<<10 | 1<<11 // the shift register's wires
			for register, want := range c.registers {
				if got := mmio.R32(register); got != want {
					t.Errorf("register %#x = %#x, want %#x", register, got, want)
				}
			}
			if off := mmio.R32(board.GPIO5) & (1 << 8); off != 0 {
				t.Error("the shift register is off")
			}
		})
	}
}

func TestQEMUsBoardIsLeftAlone(t *testing.T) {
	var hw hardware
	hw.wakeBoard() // there is no register that could be touched
	hw.watchLink()
	if hw.generator() != nil {
		t.Error("QEMU has a generator of random numbers")
	}
}

func TestTheChipsGeneratorIsHashed(t *testing.T) {
	onSilicon(t, identity6ULL)
	const testedSeededFull = 1<<4 | 1<<5 | 1<<8
	mmio.W32(board.RNGB+0x0c, testedSeededFull)
	mmio.W32(board.RNGB+0x14, 0x04030201)
	hw := hardware{model: analog.IMX6ULL}
	got, ok := hw.generator()()
	if want := sha256.Sum256([]byte(strings.Repeat("\x01\x02\x03\x04", 64))); !ok || got != want {
		t.Errorf("%x, %v, want %x", got, ok, want)
	}
	mmio.W32(board.RNGB+0x0c, 1<<16)
	if _, ok := hw.generator()(); ok {
		t.Error("a broken generator gives a seed")
	}
}

func TestTheGeneratorOfThe6ULIsAsked(t *testing.T) {
	onSilicon(t, identity6UL)
	hw := hardware{model: analog.IMX6UL}
	if _, ok := hw.random(); ok { // no entropy comes from zeros
		t.Error("a module that never answers gives a seed")
	}
	if got := mmio.R32(board.CCM + 0x68); got != 0x3f<<8 {
		t.Errorf("CCGR0 = %#x", got)
	}
}

func TestTheCauseOfAResetIsToldInWords(t *testing.T) {
	for _, c := range []struct {
		status uint32
		dog    uint16
		want   string
	}{
		{1, 0, "power-on"}, {1 << 4, 2, "watchdog (starved)"}, {1 << 4, 1, "watchdog (told to)"},
	} {
		t.Run(c.want, func(t *testing.T) {
			onSilicon(t, identity6ULL)
			mmio.W32(board.SRC+8, c.status)
			mmio.W16(board.WDOG1+4, c.dog)
			if got := resetCause(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestALinkInWords(t *testing.T) {
	for _, c := range []struct {
		link enet.Link
		err  error
		want string
	}{
		{enet.Link{}, nil, "down"}, {enet.Link{Up: true}, nil, "up, negotiating"},
		{enet.Link{Up: true, Mbps: 100, FullDuplex: true}, nil, "up, 100 Mb/s full duplex"},
		{enet.Link{Up: true, Mbps: 10}, nil, "no frame will pass"},
		{enet.Link{}, errors.New("deaf"), "deaf"},
	} {
		if got := describeLink(c.link, c.err); !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.link, got, c.want)
		}
	}
}
