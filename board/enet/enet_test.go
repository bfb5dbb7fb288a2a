//go:build !arm

package enet

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"holdfast/board/mmio"
)

// fetch runs Receive until it has delivered n frames, then closes the port and returns them.
func fetch(t *testing.T, p *Port, n int) [][]byte {
	t.Helper()
	var got [][]byte
	err := p.Receive(func(frame []byte) {
		got = append(got, slices.Clone(frame))
		if len(got) == n {
			p.Close()
		}
	})
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("Receive ended with %v", err)
	}
	return got
}

// numbered is a frame of n bytes that differs from others.
func numbered(n, number int) received {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i + number*7)
	}
	return received{data: data}
}

func TestOpenProgramsTheControllerBeforeItEnablesIt(t *testing.T) {
	m := newModel(t, modelBase)
	p := m.open(t)
	for reg, want := range map[uint32]uint32{
		regPALR: 0x02000000, regPAUR: 0x000a8808,
		regRDSR: modelDMA, regTDSR: modelDMA + 0x200,
		regMRBR: 1536, regFTRL: 1536, regRCR: 1518<<16 | 0x104, regTCR: 4, regTFWR: 0x100,
		regMSCR: 0x1a, regECR: 0x102, regEIMR: 0x02400000, regRDAR: 1 << 24,
	} {
		if got := m.register(reg); got != want {
			t.Errorf("register %03x is %08x, want %08x", reg, got, want)
		}
	}
	order := strings.Join(m.log, " ")
	for _, pair := range [][2]string{
		{"024=00000001", "188="},         // reset before anything else
		{"180=", "024=00000102"},         // rings before enable
		{"024=00000102", "010=01000000"}, // enable before there are descriptors to use
	} {
		first, then := strings.Index(order, pair[0]), strings.Index(order, pair[1])
		if first < 0 || then < first {
			t.Errorf("%s does not come before %s in %s", pair[0], pair[1], order)
		}
	}
	if mac := HardwareMAC(modelBase); mac != modelMAC {
		t.Errorf("the hardware's address is %x", mac)
	}
	if phy := p.PHY(); phy != (PHY{Address: 2, ID: 0x0007c0d1}) {
		t.Errorf("PHY %+v", phy)
	}
}

func TestFramesComeInOrderThroughManyTurnsOfTheRing(t *testing.T) {
	m := newModel(t, modelBase)
	p := m.open(t)
	const n = 3*ring + 5
	var want [][]byte
	for i := range n {
		f := numbered(60+i, i)
		want = append(want, f.data)
		m.arrive(f) // all at once: three times the ring must wait for descriptors
	}
	got := fetch(t, p, n)
	if !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("%d frames, other than the %d sent", len(got), n)
	}
	if s := p.Stats(); s != (Stats{Received: n}) {
		t.Errorf("statistics %+v", s)
	}
	if m.interrupts > n/ring+1 {
		t.Errorf("%d interrupts for %d frames that came at once", m.interrupts, n)
	}
}

func TestFramesThatWereHandledDoNotInterruptAgain(t *testing.T) {
	m := newModel(t, modelBase)
	p := m.open(t)
	m.endWhenIdle = true
	m.arrive(numbered(60, 0))
	n := 0
	p.Receive(func([]byte) {
		if n++; n < 3 { // while this one is handled the next one comes in, into the ring
			m.arrive(numbered(60, n))
			m.WriteRegister(regRDAR, 4, active)
		}
	})
	if n != 3 || m.interrupts != 1 {
		t.Errorf("%d frames and %d interrupts", n, m.interrupts)
	}
}

func TestIdleComesBehindEachBurst(t *testing.T) {
	m := newModel(t, modelBase)
	p := m.open(t)
	m.arrive(numbered(60, 0), numbered(60, 1), numbered(60, 2))
	var happened []string
	p.ReceiveBursts(
		func([]byte) { happened = append(happened, "frame") },
		func() {
			happened = append(happened, "idle")
			if len(happened) > 4 {
				p.Close()
				return
			}
			m.arrive(numbered(60, 3))
		},
	)
	if got := strings.Join(happened, " "); got != "frame frame frame idle frame idle" {
		t.Errorf("happened: %s", got)
	}
}

func TestWhatIsNoWholeFrameIsCountedAndDropped(t *testing.T) {
	long, good := 1600, 1514
	for _, c := range []struct {
		name string
		bad  received
		want Stats
	}{
		{"wrong check sequence", received{numbered(100, 0).data, bdCR}, Stats{Bad: 1}},
		{"not whole bytes", received{numbered(100, 0).data, bdNO}, Stats{Bad: 1}},
		{"flagged as cut off", received{numbered(100, 0).data, bdTR}, Stats{TooLong: 1}},
		{"flagged as too long", received{numbered(100, 0).data, bdLG}, Stats{TooLong: 1}},
		{"overrun, with every other flag", received{
			numbered(100, 0).data, bdOV | bdLG | bdNO | bdCR | bdTR}, Stats{Overrun: 1}},
		{"one byte too long", numbered(good+1, 0), Stats{TooLong: 1}},
		{"cut off", numbered(long, 0), Stats{TooLong: 1}},
		{"as long as a datagram can be", numbered(65000, 0), Stats{TooLong: 1}},
		{"nothing", numbered(0, 0), Stats{TooShort: 1}},
		{"one byte less than a header", numbered(header-1, 0), Stats{TooShort: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel(t, modelBase)
			p := m.open(t)
			shortest, longest := numbered(header, 1), numbered(good, 2)
			m.arrive(shortest, c.bad, longest)
			got := fetch(t, p, 2)
			if !slices.EqualFunc(got, [][]byte{shortest.data, longest.data}, bytes.Equal) {
				t.Errorf("%d frames, other than the good ones", len(got))
			}
			want := c.want
			want.Received = 2
			if s := p.Stats(); s != want {
				t.Errorf("statistics %+v, want %+v", s, want)
			}
		})
	}
}

func TestAPieceOfAFrameIsNoFrame(t *testing.T) {
	var c counters
	if c.received(100) || c.rxLong.Load() != 1 { // a descriptor without the last flag
		t.Error("a first piece counts as a frame")
	}
}

func TestSendJoinsAndPads(t *testing.T) {
	m := newModel(t, modelBase)
	p := m.open(t)
	full := numbered(maxFrame, 3).data
	for _, c := range []struct {
		parts [][]byte
		want  []byte // nil: refused
	}{
		{nil, nil},
		{[][]byte{full[:header-1]}, nil},
		{[][]byte{full[:header]}, append(slices.Clone(full[:header]), make([]byte, 46)...)},
		{[][]byte{full[:20], nil, full[20:59]}, append(slices.Clone(full[:59]), 0)},
		{[][]byte{full[:60]}, full[:60]},
		{[][]byte{full[:14], full[14:34], full[34:]}, full},
		{[][]byte{full, {0}}, nil},
	} {
		m.sent = nil
		ok := p.Send(c.parts)
		if ok != (c.want != nil) {
			t.Errorf("%d parts: sent %v", len(c.parts), ok)
		}
		if ok && (len(m.sent) != 1 || !bytes.Equal(m.sent[0], c.want)) {
			t.Errorf("%d parts: on the wire %x, want %x", len(c.parts), m.sent, c.want)
		}
	}
	if s := p.Stats(); s != (Stats{Sent: 4, Unfit: 3}) {
		t.Errorf("statistics %+v", s)
	}
}

func TestAFullRingRefusesAndRecovers(t *testing.T) {
	m := newModel(t, modelBase)
	p := m.open(t)
	m.blocked = true
	frame := func(i int) [][]byte { return [][]byte{numbered(64, i).data} }
	for i := range ring {
		if !p.Send(frame(i)) {
			t.Fatalf("frame %d refused by an empty ring", i)
		}
	}
	if p.Send(frame(ring)) {
		t.Error("a full ring took a frame")
	}
	m.blocked = false
	p.write(regTDAR, active) // the cable takes frames again
	for i := ring; i < 3*ring; i++ {
		if !p.Send(frame(i)) {
			t.Fatalf("frame %d refused", i)
		}
	}
	if len(m.sent) != 3*ring {
		t.Fatalf("%d frames on the wire", len(m.sent))
	}
	for i, f := range m.sent {
		if !bytes.Equal(f, frame(i)[0]) {
			t.Errorf("frame %d is another one", i)
		}
	}
	if s := p.Stats(); s != (Stats{Sent: 3 * ring, RingFull: 1}) {
		t.Errorf("statistics %+v", s)
	}
}

func TestAClosedPortIsSilent(t *testing.T) {
	m := newModel(t, modelBase)
	p := m.open(t)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if p.Send([][]byte{make([]byte, 60)}) || len(m.sent) != 0 {
		t.Error("a closed port sent a frame")
	}
	m.arrive(numbered(60, 0))
	err := p.Receive(func([]byte) { t.Error("a closed port received a frame") })
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("Receive: %v", err)
	}
	if m.register(regECR)&ecrEnable != 0 {
		t.Error("the controller is still enabled")
	}
}

func TestAFailedControllerEndsReceive(t *testing.T) {
	m := newModel(t, modelBase)
	p := m.open(t)
	m.regs[regEIR] |= eventEBERR
	if err := p.Receive(nil); err == nil || !strings.Contains(err.Error(), "DMA") {
		t.Errorf("Receive: %v", err)
	}
}

func TestThePHYIsFoundOnEitherBus(t *testing.T) {
	own, other := newModel(t, modelBase), newModel(t, modelOther)
	own.phy, other.phy = nil, map[int][6]uint16{1: evkPHY, 2: evkPHY}
	p, err := own.tryOpen(t, Config{MDIO: modelOther})
	if err != nil {
		t.Fatal(err)
	}
	if phy := p.PHY(); phy != (PHY{Address: 2, ID: 0x00221561}) || len(other.phyWrites) == 0 {
		t.Errorf("PHY %+v", phy)
	}
}

// evkPHY is a KSZ8081.
var evkPHY = [6]uint16{phyID1: 0x0022, phyID2: 0x1561}

func TestTheBoardsPHYIsSetUp(t *testing.T) {
	m := newModel(t, modelBase)
	m.phy, m.phyReset = map[int][6]uint16{1: evkPHY, 2: evkPHY}, 7
	m.open(t)
	want := "2:00=8000 2:1f=8190 2:04=0101 2:00=1200"
	if got := strings.Join(m.phyWrites, " "); got != want || m.phyReset != 0 {
		t.Errorf("%s, want %s; %d reads left", got, want, m.phyReset)
	}
}

func TestAnotherPHYIsLeftAsItIs(t *testing.T) {
	m := newModel(t, modelBase) // with QEMU's
	m.open(t)
	if len(m.phyWrites) != 0 {
		t.Errorf("writes %s", m.phyWrites)
	}
}

func TestOpenFailsWithAReason(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*model)
		want   string
	}{
		{"no PHY", func(m *model) { m.phy = nil }, "no PHY answers"},
		{"only another one's PHY", func(m *model) { m.phy = map[int][6]uint16{1: qemuPHY} }, "address 2"},
		{"a PHY address that floats low", func(m *model) { m.phy = map[int][6]uint16{2: {}} }, "no PHY"},
		{"a PHY that stays in its reset", func(m *model) {
			m.phy, m.phyReset = map[int][6]uint16{2: evkPHY}, phyResetReads+1
		}, "leave its reset"},
		{"a management bus without clock", func(m *model) { m.deaf = true }, "management bus"},
		{"a controller without clock", func(m *model) { m.stuck = true }, "reset"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel(t, modelBase)
			c.change(m)
			_, err := m.tryOpen(t, Config{})
			if err == nil || !strings.HasPrefix(err.Error(), "enet: ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if m.register(regECR)&ecrEnable != 0 {
				t.Error("the controller is enabled")
			}
		})
	}
}

func TestAConfigThatCannotWorkIsRefused(t *testing.T) {
	newModel(t, modelBase) // untouched, or the access would panic elsewhere
	good := Config{
		Base: modelBase, MAC: modelMAC, DMA: modelDMA, DMASize: DMASize, Interrupt: (*line)(nil),
	}
	if err := good.validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Config){
		"a group address":  func(c *Config) { c.MAC[0] = 1 },
		"no address":       func(c *Config) { c.MAC = [6]byte{} },
		"odd memory":       func(c *Config) { c.DMA += 32 },
		"one byte too few": func(c *Config) { c.DMASize-- },
		"no interrupt":     func(c *Config) { c.Interrupt = nil },
		"PHY 32":           func(c *Config) { c.PHY = 32 },
		"PHY -1":           func(c *Config) { c.PHY = -1 },
	} {
		c := good
		change(&c)
		if _, err := Open(c); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestTheLinkIsReadFromThePHY(t *testing.T) {
	m := newModel(t, modelBase)
	p := m.open(t)
	for _, c := range []struct {
		status, own, partner uint16
		want                 Link
	}{
		{0x782d, 0x01e1, 0x0f71, Link{Up: true, Mbps: 100, FullDuplex: true}}, // QEMU's
		{0x7809, 0x01e1, 0x0f71, Link{}},                                      // QEMU's, unplugged
		{0x7804, 0x01e1, 0x0f71, Link{Up: true}},                              // still negotiating
		{0x782d, 0x01e1, 0x00a1, Link{Up: true, Mbps: 100}},
		{0x782d, 0x0061, 0x01e1, Link{Up: true, Mbps: 10, FullDuplex: true}},
		{0x782d, 0x0021, 0x01e1, Link{Up: true, Mbps: 10}},
	} {
		phy := qemuPHY
		phy[phyStatus], phy[phyOwn], phy[phyPartner] = c.status, c.own, c.partner
		m.phy = map[int][6]uint16{2: phy}
		if got, err := p.Link(); got != c.want || err != nil {
			t.Errorf("status %04x, abilities %04x and %04x: %+v, %v, want %+v",
				c.status, c.own, c.partner, got, err, c.want)
		}
	}
	m.deaf = true
	if _, err := p.Link(); err == nil {
		t.Error("a deaf bus has a link")
	}
}

func TestTheRingsFitTheirMemoryAndTheDocumentedPlaces(t *testing.T) {
	m := newModel(t, modelBase)
	p := m.open(t)
	if p.rx.buffers != modelDMA+0x400 || p.tx.buffers != modelDMA+0x18400 {
		t.Errorf("buffers at %#x and %#x", p.rx.buffers, p.tx.buffers)
	}
	for name, h := range map[string]*half{"receive": &p.rx, "transmit": &p.tx} {
		for i := range uint32(ring) {
			at := mmio.R32(h.descriptor(i) + 4)
			if at%dmaAlign != 0 || at < modelDMA+0x400 || at+buffer > modelDMA+DMASize {
				t.Errorf("%s buffer %d at %#x", name, i, at)
			}
			if wrap := mmio.R32(h.descriptor(i))&bdWrap != 0; wrap != (i == ring-1) {
				t.Errorf("%s descriptor %d: wrap %v", name, i, wrap)
			}
		}
	}
}
