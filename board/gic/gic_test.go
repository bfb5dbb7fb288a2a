//go:build !arm

package gic

import (
	"testing"

	"holdfast/board/mmio"
)

const base = 0x00a00000

// model keeps the registers and the enable bits, which are set and cleared through two addresses.
type model struct {
	regs    map[uint32]uint32
	enabled [5]uint32
}

func (m *model) ReadRegister(offset uint32, width int) uint32 { return m.regs[offset] }

func (m *model) WriteRegister(offset uint32, width int, v uint32) {
	switch {
	case offset >= gicdISENABLER && offset < gicdISENABLER+20:
		m.enabled[(offset-gicdISENABLER)/4] |= v
	case offset >= gicdICENABLER && offset < gicdICENABLER+20:
		m.enabled[(offset-gicdICENABLER)/4] &^= v
	default:
		m.regs[offset] = v
	}
}

func install(t *testing.T) (*model, Controller) {
	m := &model{regs: map[uint32]uint32{gicdTYPER: 0x404}} // 160 lines, as on the i.MX 6UL
	for i := range m.enabled {
		m.enabled[i] = 0xffffffff
	}
	t.Cleanup(mmio.Install(base, 0x8000, m))
	return m, Controller(base)
}

func TestInitMasksAllLinesAndTurnsBothHalvesOn(t *testing.T) {
	m, c := install(t)
	c.Init()
	for i, e := range m.enabled {
		if e != 0 {
			t.Errorf("lines %d-%d: enabled %#x", i*32, i*32+31, e)
		}
	}
	if m.regs[gicdCTLR] != 1 || m.regs[giccCTLR] != 1 || m.regs[giccPMR] != 0xff {
		t.Errorf("GICD_CTLR %d, GICC_CTLR %d, GICC_PMR %#x",
			m.regs[gicdCTLR], m.regs[giccCTLR], m.regs[giccPMR])
	}
	if _, ok := m.regs[gicdITARGETSR+28]; ok {
		t.Error("a private interrupt was given a target: that register is read-only")
	}
	if m.regs[gicdITARGETSR+156] != toCoreZero {
		t.Error("the last shared interrupts have no target")
	}
}

func TestMaskAndUnmaskTouchOneLine(t *testing.T) {
	m, c := install(t)
	c.Init()
	for _, id := range []uint32{27, 31, 32, 150, 159} {
		c.Unmask(id)
	}
	want := [5]uint32{1<<27 | 1<<31, 1, 0, 0, 1<<22 | 1<<31}
	if m.enabled != want {
		t.Errorf("enabled %x, want %x", m.enabled, want)
	}
	c.Mask(150)
	want[4] = 1 << 31
	if m.enabled != want {
		t.Errorf("enabled %x, want %x", m.enabled, want)
	}
}

func TestAcknowledgeTellsAnInterruptFromNone(t *testing.T) {
	m, c := install(t)
	for _, tt := range []struct {
		iar, id uint32
		ok      bool
	}{
		{27, 27, true}, {1019, 1019, true}, {1020, 1020, false}, {1023, 1023, false},
		{1<<10 | 5, 5, true},
	} {
		m.regs[giccIAR] = tt.iar
		p := c.Acknowledge()
		if id, ok := p.ID(); id != tt.id || ok != tt.ok {
			t.Errorf("IAR %#x: id %d, %v", tt.iar, id, ok)
		}
		c.End(p)
		if m.regs[giccEOIR] != tt.iar {
			t.Errorf("IAR %#x was ended with %#x", tt.iar, m.regs[giccEOIR])
		}
	}
}

func TestADeferredInterruptComesAfterItsNeighbours(t *testing.T) {
	m, c := install(t)
	c.Init()
	c.Defer(58)
	if got := m.regs[gicdIPRIORITYR+56]; got != 0xa0f0a0a0 {
		t.Errorf("priorities of 56 to 59: %#x", got)
	}
}
