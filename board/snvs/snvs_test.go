//go:build !arm

package snvs

import (
	"testing"

	"holdfast/board/mmio"
)

func TestPowerOffKeepsTheClockRunning(t *testing.T) {
	const base = 0x020cc000
	memory := make([]byte, 0x4000)
	defer mmio.InstallMemory(base, memory)()
	mmio.W32(base+lpcr, 1) // SRTC_ENV
	Block(base).PowerOff()
	if v := mmio.R32(base + lpcr); v != 0x61 {
		t.Errorf("LPCR = %#x, want 0x61", v)
	}
}
