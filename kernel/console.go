package kernel

import (
	"holdfast/board"
	"holdfast/board/uart"
)

// console is UART1: what the program writes to descriptors 1 and 2, what it reads from 0, and what
// the kernel itself has to say. It remembers enough of the output to end in one "panic: " line.
type console struct {
	line     [lineMax]byte // the start of the current line
	column   uint32
	panicked bool // a line that starts with "panic: " has been printed

	fatal     [lineMax]byte // the runtime's last "fatal error: " line, without its prefixes
	fatalSize uint32

	keyboard [keyboardSize]byte // received characters, a ring
	head     uint32
	received uint32
	lost     uint32 // characters that found the ring full
}

const (
	port = uart.Port(board.UART1)

	lineMax      = 120
	keyboardSize = 256

	// writeMax is how many bytes one entry into the kernel sends to the console.
	writeMax = 256

	panicPrefix   = "panic: "
	fatalPrefix   = "fatal error: "
	runtimePrefix = "runtime: "
)

func (c *console) init() { port.Init() }

// put sends one byte, with a carriage return ahead of a line feed.
func (c *console) put(b byte) {
	if b == '\n' {
		c.endLine()
		port.Put('\r')
	} else if c.column < lineMax {
		c.line[c.column] = b
		c.column++
	}
	port.Put(b)
}

// endLine looks at what the line was.
func (c *console) endLine() {
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

// writeConsole is write to the console.
func (k *kernel) writeConsole(t *thread, buf, n uint32) int32 {
	n = min(n, 1<<30)
	end := min(n, t.done+writeMax)
	if !k.readable(buf+t.done, end-t.done) {
		return -eFAULT
	}
	for i := t.done; i < end; i++ {
		k.console.put(*(*byte)(ptr(buf + i)))
	}
	if end < n {
		return t.pause(end)
	}
	return int32(n)
}

// receive is the console's interrupt: it keeps what arrived.
func (k *kernel) receive() {
	c := &k.console
	for {
		b, ok := port.Get()
		if !ok {
			break
		}
		if c.received == keyboardSize {
			c.lost++
			continue
		}
		c.keyboard[(c.head+c.received)%keyboardSize] = b
		c.received++
	}
	if f := k.files.get(0); f != nil && f.kind == fileKeyboard && c.received != 0 {
		k.raise(f, epollIn)
	}
}

// readKeyboard is read from descriptor 0.
func (k *kernel) readKeyboard(buf, n uint32) int32 {
	c := &k.console
	if n == 0 {
		return 0
	}
	if n = min(n, c.received); n == 0 {
		return -eAGAIN
	}
	if !k.writable(buf, n) {
		return -eFAULT
	}
	for i := range n {
		*(*byte)(ptr(buf + i)) = c.keyboard[c.head]
		c.head = (c.head + 1) % keyboardSize
	}
	c.received -= n
	return int32(n)
}
