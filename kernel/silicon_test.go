//go:build !arm

package kernel

import (
	"testing"

	"holdfast/board"
	"holdfast/board/core"
	"holdfast/board/mmio"
	"holdfast/board/timer"
)

// onSilicon lets a kernel boot where the processor knows its interrupt controller, with memory for
// the registers that it then touches.
func onSilicon(t *testing.T) *bench {
	core.Host.PeripheralBase = board.GIC
	t.Cleanup(func() { core.Host.PeripheralBase = 0 })
	for _, base := range []uint32{board.SYSCNT, board.CCM, board.IOMUXC, board.WDOG1, board.WDOG2,
		board.WDOG3} {
		t.Cleanup(mmio.InstallMemory(base, make([]byte, 0x1000)))
	}
	for _, base := range []uint32{board.WDOG1, board.WDOG2, board.WDOG3} {
		mmio.W16(base+8, 1) // the power-down counter runs
	}
	return newBench(t)
}

func TestOnSiliconTheKernelWakesWhatItNeeds(t *testing.T) {
	b := onSilicon(t)
	if b.clock.hz != 8_000_000 || timer.Hz() != 8_000_000 || mmio.R32(board.SYSCNT)&1 == 0 {
		t.Errorf("the counter runs at %d Hz, the processor says %d, control %#x", b.clock.hz,
			timer.Hz(), mmio.R32(board.SYSCNT))
	}
	for _, base := range []uint32{board.WDOG1, board.WDOG2, board.WDOG3} {
		if mmio.R16(base+8) != 0 || mmio.R16(base) != 0 {
			t.Errorf("watchdog %#x: power-down counter %d, control %#x", base, mmio.R16(base+8),
				mmio.R16(base))
		}
	}
	for register, want := range map[uint32]uint32{
		board.CCM + 0x7c: 3<<24 | 3<<10, board.CCM + 0x74: 3 << 16, board.CCM + 0x80: 3 << 20,
		board.CCM + 0x24: 1 << 6, board.IOMUXC + 0x310: 0x1b0b1,
	} {
		if got := mmio.R32(register); got != want {
			t.Errorf("register %#x = %#x, want %#x", register, got, want)
		}
	}
}

func TestOnSiliconTheLoadersPagesAreNoise(t *testing.T) {
	b := onSilicon(t)
	// The same again, with what cells hold when the power comes on.
	noise := host.memory[seedPage-board.DRAM:][:2*pageSize]
	for i := range noise {
		noise[i] = byte(i*7 + 1)
	}
	copy(host.memory[bootPage-board.DRAM:], "-noise\nram=8\n")
	*b.kernel = kernel{}
	b.boot(benchRAM / megabyte)
	if got := readStart(b.threads[0].regs[13]); len(got.args) != 1 {
		t.Errorf("arguments %q", got.args)
	}
	if b.memory.size != benchRAM {
		t.Errorf("%d bytes of memory", b.memory.size)
	}
	b.want("seed", b.takeSeed(benchData), 0)
	for i := range uint32(board.SeedSize / 4) {
		if w := *word(benchData + 4*i); w != 0 {
			t.Fatalf("word %d of the seed is %#x", i, w)
		}
	}
}
