package kernel

// keyboard is what has arrived at the console and was not read yet. While its ring is full nothing
// more is taken from the port, so that a flood costs no more than what somebody reads of it: QEMU
// holds back what is typed, silicon has a FIFO and then counts an overrun.
type keyboard struct {
	ring     [keyboardSize]byte // received characters
	head     uint32
	received uint32
	lost     uint32 // overruns of the port, each a character or more
}

const keyboardSize = 256

// receive is the console's interrupt on its way in: it keeps what arrived.
func (k *kernel) receive() {
	b := &k.console.keyboard
	if port.Overrun() {
		b.lost++
	}
	for b.received != keyboardSize {
		c, ok := port.Get()
		if !ok {
			break
		}
		b.ring[(b.head+b.received)%keyboardSize] = c
		b.received++
	}
	if b.received == keyboardSize {
		port.SetReceiveInterrupt(false)
	}
	if f := k.files.get(0); f != nil && f.kind == fileKeyboard && b.received != 0 {
		k.raise(f, epollIn)
	}
}

// readKeyboard is read from descriptor 0.
func (k *kernel) readKeyboard(buf, n uint32) int32 {
	b := &k.console.keyboard
	if n == 0 {
		return 0
	}
	if n = min(n, b.received); n == 0 {
		return -eAGAIN
	}
	if !k.writable(buf, n) {
		return -eFAULT
	}
	for i := range n {
		*(*byte)(ptr(buf + i)) = b.ring[b.head]
		b.head = (b.head + 1) % keyboardSize
	}
	if b.received == keyboardSize {
		port.SetReceiveInterrupt(true)
	}
	b.received -= n
	return int32(n)
}
