//go:build !arm

package uart

import (
	"testing"

	"holdfast/board/mmio"
)

const base = 0x02020000

// model is the part of the UART that the driver relies on.
type model struct {
	regs map[uint32]uint32
	sent []byte
	recv []byte
	full int // reads of UTS that still say the FIFO is full

	overrun bool
}

func (m *model) ReadRegister(offset uint32, width int) uint32 {
	switch offset {
	case urxd:
		if len(m.recv) == 0 {
			return 0
		}
		c := m.recv[0]
		m.recv = m.recv[1:]
		return urxdReady | uint32(c)
	case usr2:
		v := uint32(0)
		if len(m.recv) != 0 {
			v |= usr2Ready
		}
		if m.overrun {
			v |= usr2Overrun
		}
		return v
	case uts:
		if m.full > 0 {
			m.full--
			return utsTransmitMax
		}
		return 0
	}
	return m.regs[offset]
}

func (m *model) WriteRegister(offset uint32, width int, v uint32) {
	if offset == utxd {
		if m.full > 0 {
			panic("uart: a character was sent into a full FIFO")
		}
		m.sent = append(m.sent, byte(v))
		return
	}
	if offset == usr2 {
		m.overrun = m.overrun && v&usr2Overrun == 0
		return
	}
	m.regs[offset] = v
}

func install(t *testing.T) (*model, Port) {
	m := &model{regs: map[uint32]uint32{ufcr: 0x801}}
	t.Cleanup(mmio.Install(base, 0x4000, m))
	return m, Port(base)
}

func TestInitKeepsTheSpeedAndTurnsBothDirectionsOn(t *testing.T) {
	m, p := install(t)
	m.regs[ufcr] = 0xa3f // RFDIV, TXTL, and a receive threshold of 63
	p.Init()
	if m.regs[ucr1] != 1 {
		t.Errorf("UCR1 = %#x", m.regs[ucr1])
	}
	if m.regs[ucr2]&(ucr2NotReset|ucr2Receive|ucr2Transmit) != 7 {
		t.Errorf("UCR2 = %#x", m.regs[ucr2])
	}
	if m.regs[ufcr] != 0x4201 {
		t.Errorf("UFCR = %#x, want the divider kept and thresholds of 16 and 1", m.regs[ufcr])
	}
}

func TestPutWaitsForRoom(t *testing.T) {
	m, p := install(t)
	m.full = 3
	p.Put('a')
	p.Put('b')
	if string(m.sent) != "ab" {
		t.Errorf("sent %q", m.sent)
	}
}

func TestGetTakesWhatArrivedAndThenNothing(t *testing.T) {
	m, p := install(t)
	m.recv = []byte("x\x00")
	for _, want := range []byte("x\x00") {
		if c, ok := p.Get(); !ok || c != want {
			t.Errorf("Get = %q, %v; want %q", c, ok, want)
		}
	}
	if c, ok := p.Get(); ok {
		t.Errorf("Get of an empty port = %q", c)
	}
}

func TestEachInterruptIsTurnedOnAndOffByItself(t *testing.T) {
	m, p := install(t)
	p.Init()
	for _, step := range []struct {
		what string
		do   func()
		want uint32
	}{
		{"receive", func() { p.SetReceiveInterrupt(true) }, ucr1ReceiveReady},
		{"both", func() { p.SetTransmitInterrupt(true) }, ucr1ReceiveReady | ucr1TransmitReady},
		{"transmit", func() { p.SetReceiveInterrupt(false) }, ucr1TransmitReady},
		{"none", func() { p.SetTransmitInterrupt(false) }, 0},
	} {
		step.do()
		if m.regs[ucr1] != ucr1Enable|step.want {
			t.Errorf("%s: UCR1 = %#x", step.what, m.regs[ucr1])
		}
	}
}

func TestThereIsRoomUntilTheFIFOIsFull(t *testing.T) {
	m, p := install(t)
	m.full = 1
	if p.HasRoom() {
		t.Error("a full FIFO has room")
	}
	if !p.HasRoom() {
		t.Error("an empty FIFO has no room")
	}
}

func TestAnOverrunIsToldOnce(t *testing.T) {
	m, p := install(t)
	if p.Overrun() {
		t.Error("an overrun before there was one")
	}
	m.overrun = true
	if !p.Overrun() || p.Overrun() {
		t.Error("not told exactly once")
	}
}
