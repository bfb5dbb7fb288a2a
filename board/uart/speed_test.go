//go:build !arm

package uart

import (
	"testing"

	"holdfast/board/mmio"
)

func TestTheSpeedIsExact(t *testing.T) {
	const base = 0x02020000
	defer mmio.InstallMemory(base, make([]byte, 0x4000))()
	mmio.W32(base+ucr1, 0x2201)
	mmio.W32(base+ufcr, 0x0a01)
	Port(base).SetSpeed()
	if v := mmio.R32(base + ucr1); v != 0 {
		t.Errorf("UCR1 = %#x, the port is on", v)
	}
	if v := mmio.R32(base + ufcr); v != 0x0a81 { // RFDIV 5 divides by one
		t.Errorf("UFCR = %#x", v)
	}
	n, d := mmio.R32(base+ubir)+1, mmio.R32(base+ubmr)+1
	if baud := 24_000_000 * n / 16 / d; baud != 115_200 || 24_000_000*n/16%d != 0 {
		t.Errorf("%d baud", baud)
	}
}
