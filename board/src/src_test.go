//go:build !arm

package src

import (
	"testing"

	"holdfast/board/mmio"
)

const base = 0x020d8000

// model is a register whose bits are cleared by ones.
type model struct{ status uint32 }

func (m *model) ReadRegister(offset uint32, _ int) uint32 {
	if offset != srsr {
		panic("src: another register is read")
	}
	return m.status
}

func (m *model) WriteRegister(_ uint32, _ int, v uint32) { m.status &^= v }

func TestTheCauseIsToldOnce(t *testing.T) {
	for status, want := range map[uint32]string{
		0x00001: "power-on", 0x00010: "watchdog", 0x00011: "watchdog", 0x00080: "watchdog 3",
		0x00008: "user reset", 0x00100: "temperature", 0x10000: "warm boot", 0x10010: "watchdog",
		0: "unknown", 1 << 30: "unknown",
	} {
		m := &model{status}
		remove := mmio.Install(base, 0x4000, m)
		if got := Block(base).Cause(); got != want || m.status != 0 {
			t.Errorf("%#x: %q, want %q; %#x is left", status, got, want, m.status)
		}
		if got := Block(base).Cause(); got != "unknown" {
			t.Errorf("%#x: then %q", status, got)
		}
		remove()
	}
}
