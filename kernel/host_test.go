//go:build !arm

package kernel

import (
	"encoding/binary"
	"sync"
	"syscall"
	"testing"

	"holdfast/board"
	"holdfast/board/mmio"
	"holdfast/board/timer"
)

// bench is a kernel on a simulated machine: 16 MB of memory, an image with code, constants and
// data, a GIC, a UART, and a counter that moves when the test says so.
type bench struct {
	*kernel
	t    *testing.T
	gic  *fakeGIC
	uart *fakeUART

	shutdown func() // takes the machine away; the test's end does it otherwise
}

const (
	benchRAM  = 16 << 20
	benchHz   = 1000000
	benchCode = board.ImageText
	benchData = board.Image + 0x10000 // four pages, of which two and a bit are in the file
	benchZero = benchData + 3*pageSize
	benchPool = benchData + 6*pageSize
)

func newBench(t *testing.T) *bench {
	b := &bench{kernel: new(kernel), t: t, gic: newGIC(), uart: new(fakeUART)}
	host.memory = newMemory(t)
	host.kernel = b.kernel
	host.wait = func() { t.Fatal("the kernel waits for an interrupt that never comes") }
	timer.Host.Count, timer.Host.Frequency = 5*benchHz, benchHz
	removeGIC := mmio.Install(board.GIC, 0x8000, b.gic)
	removeUART := mmio.Install(board.UART1, 0x4000, b.uart)
	b.shutdown = sync.OnceFunc(func() {
		removeGIC()
		removeUART()
		if err := syscall.Munmap(host.memory); err != nil {
			t.Error(err)
		}
		host.memory, host.kernel = nil, nil
	})
	t.Cleanup(b.shutdown)
	writeELF()
	b.boot(benchRAM / megabyte)
	b.uart.sent = nil
	return b
}

// newMemory is all addresses that the kernel manages. It costs as little as there is touched of it.
// Where the page tables say that an address has its frame makes no difference here.
func newMemory(t *testing.T) []byte {
	memory, err := syscall.Mmap(-1, 0, spaceEnd-board.DRAM, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	return memory
}

// writeELF writes the headers of the simulated image.
func writeELF() {
	le := binary.LittleEndian
	h := host.memory[board.Image-board.DRAM:]
	le.PutUint32(h, elfMagic)
	le.PutUint32(h[elfPhoff:], 52)
	le.PutUint16(h[elfPhnum:], 4)
	for i, p := range [][4]uint32{ // type, start and file size, memory size, flags
		{6, board.Image, 0x80, 4},
		{elfPTLoad, board.Image, 0x3000, 5},
		{elfPTLoad, board.Image + 0x4000, 0x2000, 4},
		{elfPTLoad, benchData, 2*pageSize + 100, 6},
	} {
		ph := h[52+i*elfPhdrSize:]
		memory := p[2]
		if p[3] == 6 {
			memory = 5*pageSize + 200
		}
		for j, v := range []uint32{p[0], p[1] - board.Image, p[1], p[1], p[2], memory, p[3], 4096} {
			le.PutUint32(ph[4*j:], v)
		}
	}
}

// running is the thread that runs.
func (b *bench) running() *thread { return &b.threads[b.sched.current] }

// call makes the running thread make a system call, and returns what it got, if it still runs.
func (b *bench) call(number uint32, args ...uint32) int32 {
	b.t.Helper()
	for {
		t := b.running()
		pc := t.pc
		t.regs[7] = number
		copy(t.regs[:6], make([]uint32, 6))
		copy(t.regs[:], args)
		b.trap(causeCall)
		if t.pc != pc-4 {
			return int32(t.regs[0])
		}
		t.pc = pc // the call is not done yet: it is made again
	}
}

// spawn makes the running thread start another one and returns its index.
func (b *bench) spawn() int {
	b.t.Helper()
	tid := b.call(callClone, cloneThread, benchData+pageSize)
	if tid < 1 {
		b.t.Fatalf("clone: %d", tid)
	}
	return int(tid) - 1
}

// interrupts lets the pending interrupts in.
func (b *bench) interrupts(ids ...uint32) {
	b.gic.pending = append(b.gic.pending, ids...)
	b.trap(causeInterrupt)
}

// pass lets time pass, in microseconds, and takes the timer's interrupts.
func (b *bench) pass(us uint64) {
	for end := timer.Host.Count + us; timer.Host.Count < end; {
		timer.Host.Count = min(end, max(timer.Host.Count, timer.Host.Compare))
		if timer.Host.Count >= timer.Host.Compare {
			b.interrupts(board.IRQVirtualTimer)
		}
	}
}

// fakeGIC hands out the pending interrupts that are not masked.
type fakeGIC struct {
	pending []uint32
	masked  map[uint32]bool
	regs    map[uint32]uint32
}

func newGIC() *fakeGIC {
	return &fakeGIC{masked: map[uint32]bool{}, regs: map[uint32]uint32{0x1004: 0x404}} // 160 lines
}

func (g *fakeGIC) ReadRegister(offset uint32, _ int) uint32 {
	if offset != 0x200c {
		return g.regs[offset]
	}
	for i, id := range g.pending {
		if !g.masked[id] {
			g.pending = append(g.pending[:i:i], g.pending[i+1:]...)
			return id
		}
	}
	return 1023
}

func (g *fakeGIC) WriteRegister(offset uint32, _ int, v uint32) {
	set := func(base uint32, masked bool) {
		for bit := range uint32(32) {
			if v>>bit&1 != 0 {
				g.masked[(offset-base)*8+bit] = masked
			}
		}
	}
	switch {
	case offset >= 0x1100 && offset < 0x1180:
		set(0x1100, false)
	case offset >= 0x1180 && offset < 0x1200:
		set(0x1180, true)
	default:
		g.regs[offset] = v
	}
}

// fakeUART keeps what was sent and hands out what was typed.
type fakeUART struct {
	sent, typed []byte
	full        bool // sends nothing more
	overrun     bool
	control     uint32 // UCR1
}

const (
	uartReceiveInterrupt  = 1 << 9
	uartTransmitInterrupt = 1 << 13
)

func (u *fakeUART) ReadRegister(offset uint32, _ int) uint32 {
	switch {
	case offset == 0x80:
		return u.control
	case offset == 0xb4 && u.full:
		return 1 << 4
	case offset == 0x98 && u.overrun:
		return 1 << 1
	case offset == 0x98 && len(u.typed) != 0:
		return 1
	case offset == 0x00 && len(u.typed) != 0:
		c := u.typed[0]
		u.typed = u.typed[1:]
		return 1<<15 | uint32(c)
	}
	return 0
}

func (u *fakeUART) WriteRegister(offset uint32, _ int, v uint32) {
	switch offset {
	case 0x40:
		u.sent = append(u.sent, byte(v))
	case 0x80:
		u.control = v
	case 0x98:
		u.overrun = false
	}
}

// sent takes the console's interrupts until it has nothing more to send, and returns all it sent.
func (b *bench) sent() string {
	for b.uart.control&uartTransmitInterrupt != 0 {
		b.interrupts(board.IRQUART1)
	}
	return string(b.uart.sent)
}

// want fails the test when a system call's result is another.
func (b *bench) want(what string, got, want int32) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s: %d, want %d", what, got, want)
	}
}

// store writes words to memory that the program has touched.
func (b *bench) store(a uint32, words ...uint32) {
	b.t.Helper()
	if !b.wordsWritable(a, uint32(len(words))*4) {
		b.t.Fatalf("%#x is not writable", a)
	}
	for i, w := range words {
		*word(a + 4*uint32(i)) = w
	}
}
