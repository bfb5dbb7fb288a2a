//go:build !arm

package ccm

import (
	"testing"

	"holdfast/board/mmio"
)

const base = 0x020c4000

func TestOpenSetsOnePairOfBits(t *testing.T) {
	for _, c := range []struct {
		gate         Gate
		register, to uint32
	}{
		{ENETOf6ULL, 0x68, 3 << 12}, {ENETOf6UL, 0x74, 3 << 4}, {UART1, 0x7c, 3 << 24},
		{GPIO5, 0x6c, 3 << 30}, {I2C1, 0x70, 3 << 6}, {CAAMMemoryOf6UL, 0x68, 3 << 8},
		{AIPS3Of6ULL, 0x80, 3 << 18}, {WDOG3, 0x80, 3 << 20},
	} {
		memory := make([]byte, 0x4000)
		remove := mmio.InstallMemory(base, memory)
		const other = 1 << 1
		mmio.W32(base+c.register, other)
		Block(base).Open(c.gate)
		if v := mmio.R32(base + c.register); v != c.to|other {
			t.Errorf("gate %#x: register %#x = %#x, want %#x", c.gate, c.register, v, c.to|other)
		}
		mmio.W32(base+c.register, 0)
		for at := uint32(0); at < 0x100; at += 4 {
			if v := mmio.R32(base + at); v != 0 {
				t.Errorf("gate %#x: register %#x = %#x as well", c.gate, at, v)
			}
		}
		remove()
	}
}

func TestTheUARTsAreFedByTheCrystal(t *testing.T) {
	defer mmio.InstallMemory(base, make([]byte, 0x4000))()
	mmio.W32(base+cscdr1, 0x00490b3f)
	Block(base).ClockUARTsByOscillator()
	if v := mmio.R32(base + cscdr1); v != 0x00490b40 {
		t.Errorf("CSCDR1 = %#x", v)
	}
}
