//go:build !arm

package syscnt

import (
	"testing"

	"holdfast/board/mmio"
)

func TestStartSelectsTheBaseFrequencyAndEnables(t *testing.T) {
	const base = 0x021dc000
	defer mmio.InstallMemory(base, make([]byte, 0x4000))()
	mmio.W32(base+cntcr, 1<<9|1<<20)
	Block(base).Start()
	if v := mmio.R32(base + cntcr); v != 1<<20|0x103 {
		t.Errorf("CNTCR = %#x", v)
	}
	if v := mmio.R32(base + cntfid0); v != 8_000_000 {
		t.Errorf("CNTFID0 = %d", v)
	}
}
