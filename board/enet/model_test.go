//go:build !arm

package enet

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"holdfast/board/mmio"
)

// model is the controller as the driver sees it, with its quirks: registers, rings and PHY. It
// moves data by DMA only while the driver calls it (a register write, a read of the interrupt), so
// that the driver and the model never touch the memory at once.
type model struct {
	t      *testing.T
	memory []byte
	dma    uint32

	mu   sync.Mutex
	cond *sync.Cond
	regs map[uint32]uint32
	log  []string // writes of registers, in order

	rx, tx   uint32 // descriptors that the controller looks at next
	incoming []received
	sent     [][]byte

	phy         map[int][6]uint16 // registers of each PHY on the bus, by address
	phyWrites   []string          // what was written to them
	phyReset    int               // reads of the control register that a reset lasts
	deaf        bool              // the management bus never finishes
	stuck       bool              // the reset never finishes
	blocked     bool              // the cable takes nothing: transmit descriptors stay ready
	endWhenIdle bool              // the interrupt ends where it would block
	irqClosed   bool
	interrupts  int // that the driver took
}

// received is a frame on its way in, without its frame check sequence.
type received struct {
	data  []byte
	flags uint32
}

const (
	modelBase  = 0x02188000
	modelOther = 0x020b4000
	modelDMA   = 0x80100000
	modelPHY   = 2
)

var (
	modelMAC = [6]byte{2, 0, 0, 0, 0, 10}
	qemuPHY  = [6]uint16{phyStatus: 0x782d, phyID1: 0x0007, phyID2: 0xc0d1, 4: 0x01e1, 5: 0x0f71}
)

func newModel(t *testing.T, base uint32) *model {
	m := &model{
		t: t, dma: modelDMA, regs: map[uint32]uint32{regRCR: 0x05ee0001, regFTRL: 0x7ff},
		phy: map[int][6]uint16{2: qemuPHY},
	}
	m.cond = sync.NewCond(&m.mu)
	t.Cleanup(mmio.Install(base, registers, m))
	return m
}

// open opens the driver on the model, with memory for its rings.
func (m *model) open(t *testing.T) *Port {
	t.Helper()
	p, err := m.tryOpen(t, Config{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (m *model) tryOpen(t *testing.T, c Config) (*Port, error) {
	m.memory = make([]byte, DMASize)
	for i := range m.memory {
		m.memory[i] = 0xa5 // what the loader left
	}
	t.Cleanup(mmio.InstallMemory(m.dma, m.memory))
	c.Base, c.MAC, c.DMA, c.DMASize, c.Interrupt = modelBase, modelMAC, m.dma, DMASize, (*line)(m)
	c.PHY = modelPHY
	return Open(c)
}

// ReadRegister implements mmio.Device.
func (m *model) ReadRegister(offset uint32, width int) uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.word(offset, width)
	return m.regs[offset]
}

// WriteRegister implements mmio.Device.
func (m *model) WriteRegister(offset uint32, width int, v uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.word(offset, width)
	m.log = append(m.log, fmt.Sprintf("%03x=%08x", offset, v))
	switch offset {
	case regEIR:
		m.regs[regEIR] &^= v
	case regECR:
		m.control(v)
	case regMMFR:
		m.manage(v)
	case regTDAR:
		if m.enabled() {
			m.transmit()
		}
	case regRDAR:
		if m.enabled() {
			m.regs[regRDAR] = active
			m.receive()
		}
	case regRDSR:
		m.regs[offset], m.rx = v&^7, v&^7
	case regTDSR:
		m.regs[offset], m.tx = v&^7, v&^7
	default:
		m.regs[offset] = v
	}
	m.cond.Broadcast()
}

func (m *model) word(offset uint32, width int) {
	if width != 4 {
		m.t.Errorf("%d-byte access to register %#x", width, offset)
	}
}

func (m *model) enabled() bool { return m.regs[regECR]&ecrEnable != 0 }

func (m *model) control(v uint32) {
	switch {
	case v&ecrReset != 0 && m.stuck:
		m.regs[regECR] = ecrReset
	case v&ecrReset != 0:
		m.regs[regECR], m.regs[regEIR], m.regs[regRCR] = 0, 0, 0x05ee0001
	default:
		m.regs[regECR] = v
	}
	if !m.enabled() {
		m.regs[regRDAR] = 0
	}
}

func (m *model) manage(v uint32) {
	if m.deaf {
		return
	}
	data, address, reg := uint32(0xffff), int(v>>mmfrPHY&31), v>>mmfrReg&31
	write := v>>28 == 0b0101
	if v>>28 != 0b0110 && !write || v>>16&3 != 2 || m.regs[regMSCR] == 0 {
		m.t.Errorf("management frame %08x with MSCR %#x", v, m.regs[regMSCR])
	}
	phy, ok := m.phy[address]
	switch {
	case write:
		m.phyWrites = append(m.phyWrites, fmt.Sprintf("%d:%02x=%04x", address, reg, v&0xffff))
	case ok && reg == phyControl && m.phyReset > 0:
		m.phyReset--
		data = phyControlReset
	case ok && reg < 6:
		data = uint32(phy[reg])
	}
	m.regs[regMMFR] = v&^0xffff | data
	m.regs[regEIR] |= eventMII
}

func (m *model) word32(addr uint32) []byte { return m.memory[addr-m.dma:][:4] }
func (m *model) load(addr uint32) uint32   { return binary.LittleEndian.Uint32(m.word32(addr)) }
func (m *model) store(addr, v uint32)      { binary.LittleEndian.PutUint32(m.word32(addr), v) }

// next is the descriptor behind d.
func (m *model) next(d, flags, start uint32) uint32 {
	if flags&bdWrap != 0 {
		return start
	}
	return d + bdSize
}

// transmit sends every ready frame at once, as QEMU does.
func (m *model) transmit() {
	for !m.blocked && m.load(m.tx)&bdOwned != 0 {
		flags := m.load(m.tx)
		if flags&(bdLast|bdCRC) != bdLast|bdCRC {
			m.t.Errorf("transmit flags %08x", flags)
		}
		at := m.load(m.tx+4) - m.dma
		m.sent = append(m.sent, slices.Clone(m.memory[at:at+flags&bdLength]))
		m.store(m.tx, flags&^bdOwned)
		m.tx = m.next(m.tx, flags, m.regs[regTDSR])
	}
}

// receive puts frames into empty descriptors until it has no more of one or the other; without an
// empty one it stops until RDAR is written, and keeps the frames.
func (m *model) receive() {
	for len(m.incoming) > 0 && m.regs[regRDAR] != 0 {
		if m.load(m.rx)&bdOwned == 0 {
			m.regs[regRDAR] = 0
			return
		}
		m.put(m.incoming[0])
		m.incoming = m.incoming[1:]
		m.regs[regEIR] |= eventRXF
	}
}

// put writes one frame with four bytes of check sequence, cut off as FTRL says, into as many
// descriptors as it takes. A frame that does not fit loses its tail.
func (m *model) put(f received) {
	data, flags := append(slices.Clone(f.data), 0xde, 0xad, 0xbe, 0xef), f.flags
	if n := int(m.regs[regFTRL]); len(data) > n {
		data, flags = data[:n], flags|bdTR|bdLG
	}
	if len(data) > int(m.regs[regRCR]>>rcrMaxFL) {
		flags |= bdLG
	}
	for m.load(m.rx)&bdOwned != 0 {
		had := m.load(m.rx)
		n := min(len(data), int(m.regs[regMRBR]))
		copy(m.memory[m.load(m.rx+4)-m.dma:], data[:n])
		data = data[n:]
		now := had&bdWrap | uint32(n)
		if len(data) == 0 {
			now |= bdLast | flags
		}
		m.store(m.rx, now)
		m.rx = m.next(m.rx, had, m.regs[regRDSR])
		if len(data) == 0 {
			return
		}
	}
}

// arrive lets frames come in; they are in memory when the driver next waits for the interrupt.
func (m *model) arrive(frames ...received) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.incoming = append(m.incoming, frames...)
	m.cond.Broadcast()
}

func (m *model) register(offset uint32) uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.regs[offset]
}

// line is the model's interrupt as the kernel's file has it: level-triggered, one read for each
// time that it was found raised.
type line model

func (l *line) Read(b []byte) (int, error) {
	m := (*model)(l)
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		if m.irqClosed {
			return 0, os.ErrClosed
		}
		m.receive()
		if m.regs[regEIR]&m.regs[regEIMR] != 0 {
			m.interrupts++
			return len(b), nil
		}
		if m.endWhenIdle {
			return 0, os.ErrClosed
		}
		m.cond.Wait()
	}
}

func (l *line) Close() error {
	m := (*model)(l)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.irqClosed = true
	m.cond.Broadcast()
	return nil
}
