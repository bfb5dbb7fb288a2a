package kernel

import (
	"holdfast/board"
	"holdfast/board/uart"
)

// console is UART1: what the program writes to descriptors 1 and 2, what it reads from 0 (see
// keyboard.go), and what the kernel itself has to say.
//
// What is written goes into a ring, and the transmit interrupt takes it from there, so that nobody
// waits for a character time. When the ring has no room for a piece of a write, the thread sleeps
// until half of it is free: that is counted, and nothing is lost. Pieces come out whole, so that a
// line of up to pieceMax bytes is never cut by another one. The kernel's own words do not wait:
// what finds no room is left out and counted.
//
// At the end there is nobody to take interrupts. lastWords then sends what the ring holds, and
// everything behind it, by polling: a panic comes out whole, after what came before it.
//
// The console remembers enough of the output to end in one "panic: " line.
type console struct {
	ring     [ringSize]byte // what is to be sent, from head on
	head     uint32
	queued   uint32
	returned bool   // the carriage return ahead of the line feed at head is sent
	polled   bool   // the end has come: nothing goes through the ring any more
	waiting  uint64 // set of threads that wait for room
	waits    uint64 // writes that waited
	leftOut  uint32 // bytes of the kernel's own that found no room

	line     [lineMax]byte // the start of the current line
	column   uint32
	panicked bool // a line that starts with "panic: " has been printed

	fatal     [lineMax]byte // the runtime's last "fatal error: " line, without its prefixes
	fatalSize uint32

	keyboard keyboard
	epitaph  epitaph
}

const (
	port = uart.Port(board.UART1)

	lineMax = 240

	// ringSize is 0.7 s of output at 115,200 baud: long for a thread that waits, short for a panic
	// that has to get out before a watchdog bites.
	ringSize = 8192

	// pieceMax is how many bytes one entry into the kernel puts into the ring: the longest line of
	// evidence, with room to spare.
	pieceMax = 640

	panicPrefix   = "panic: "
	fatalPrefix   = "fatal error: "
	runtimePrefix = "runtime: "
)

func (c *console) init() { port.Init() }

// put prints one byte.
func (c *console) put(b byte) {
	if b == '\n' {
		c.endLine()
	} else if c.column < lineMax {
		c.line[c.column] = b
		c.column++
	}
	c.epitaph.add(b)
	switch {
	case c.polled:
		send(b)
	case c.queued == ringSize:
		c.leftOut++
	default:
		c.ring[(c.head+c.queued)%ringSize] = b
		if c.queued++; c.queued == 1 {
			port.SetTransmitInterrupt(true)
		}
	}
}

// send sends one byte by polling, with a carriage return ahead of a line feed.
func send(b byte) {
	if b == '\n' {
		port.Put('\r')
	}
	port.Put(b)
}

// transmit is the console's interrupt on its way out: it fills the port, and wakes whoever waits
// for room. It stops after as much as the port holds, because a port that sends at once, QEMU's,
// never fills.
func (k *kernel) transmit() {
	c := &k.console
	for n := 0; n < uart.FIFO && c.queued != 0 && port.HasRoom(); n++ {
		b := c.ring[c.head%ringSize]
		if b == '\n' && !c.returned {
			port.Put('\r')
			c.returned = true
			continue
		}
		port.Put(b)
		c.returned = false
		c.head = (c.head + 1) % ringSize
		c.queued--
	}
	if c.queued == 0 {
		port.SetTransmitInterrupt(false)
	}
	if c.queued > ringSize/2 {
		return
	}
	for ; c.waiting != 0; c.waiting &= c.waiting - 1 {
		i := lowest(c.waiting)
		k.wake(i, int32(k.threads[i].regs[0])) // which is its call's first argument
	}
}

// lastWords sends by polling from here on, first what is in the ring, and ends the line that
// something else began. The ring's own figures may be nonsense, in a kernel that was overwritten.
func (c *console) lastWords() {
	if !c.polled {
		c.polled = true
		for n := c.queued; n != 0 && n <= ringSize; n-- {
			b := c.ring[c.head%ringSize]
			if c.returned {
				port.Put(b)
			} else {
				send(b)
			}
			c.returned = false
			c.head++
		}
	}
	c.freshLine()
}

// endLine looks at what the line was.
func (c *console) endLine() {
	if c.lineStarts(panicPrefix) || c.lineStarts(fatalPrefix) {
		c.remember()
	}
	if c.lineStarts(panicPrefix) {
		c.panicked = true
	}
	switch { // some of the messages name the runtime themselves
	case c.lineStarts(fatalPrefix + runtimePrefix):
		c.keepFatal(len(fatalPrefix + runtimePrefix))
	case c.lineStarts(fatalPrefix):
		c.keepFatal(len(fatalPrefix))
	}
	c.column = 0
}

// remember begins the epitaph with the current line.
func (c *console) remember() {
	if c.epitaph.recording == recordingMark {
		return
	}
	c.epitaph.begin()
	for i := range c.column {
		c.epitaph.add(c.line[i])
	}
}

// keepFatal remembers the current line from a column on.
func (c *console) keepFatal(from int) {
	c.fatalSize = uint32(copy(c.fatal[:], c.line[from:c.column]))
}

// lineStarts reports whether the current line starts with s.
func (c *console) lineStarts(s string) bool {
	if c.column < uint32(len(s)) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c.line[i] != s[i] {
			return false
		}
	}
	return true
}

// freshLine ends a line that something else began.
func (c *console) freshLine() {
	if c.column != 0 {
		c.put('\n')
	}
}

// text prints s.
func (c *console) text(s string) {
	for i := 0; i < len(s); i++ {
		c.put(s[i])
	}
}

// decimal prints v in decimal.
func (c *console) decimal(v uint32) {
	var digits [10]byte
	i := len(digits)
	for {
		i--
		digits[i] = byte('0' + v%10)
		if v /= 10; v == 0 {
			break
		}
	}
	for ; i < len(digits); i++ {
		c.put(digits[i])
	}
}

// hex prints v as eight hexadecimal digits.
func (c *console) hex(v uint32) {
	for shift := 28; shift >= 0; shift -= 4 {
		c.put("0123456789abcdef"[v>>uint(shift)&15])
	}
}

// writeConsole is write to the console. It works in pieces: see pause. A piece that finds no room
// waits for it; signals wait with it, since the runtime would not write the rest of a panic again.
func (k *kernel) writeConsole(t *thread, buf, n uint32) int32 {
	c := &k.console
	n = min(n, 1<<30)
	end := min(n, t.done+pieceMax)
	if !k.readable(buf+t.done, end-t.done) {
		return -eFAULT
	}
	if ringSize-c.queued < end-t.done {
		c.waits++
		c.waiting |= set(k.sched.current)
		k.sleep(0)
		t.uninterruptible = true
		return t.pause(t.done)
	}
	for i := t.done; i < end; i++ {
		c.put(*(*byte)(ptr(buf + i)))
	}
	if end < n {
		return t.pause(end)
	}
	return int32(n)
}
