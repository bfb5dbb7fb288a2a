package qemu

import (
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// maxPending bounds the console bytes that wait for a slow receiver: some minutes of a guest
	// that prints as fast as it can. What comes beyond it is dropped, counted (Process.Lost), and
	// its place marked by a line, so that the loss can neither stop the guest nor go unseen.
	maxPending = 16 << 20
	// maxLine bounds a line, in bytes; a longer one is delivered in pieces.
	maxLine = 8 << 10
	// chunkCost is what a chunk counts against maxPending besides its bytes, so that a guest that
	// prints only newlines cannot make the queue's headers the larger part.
	chunkCost = 64
)

// chunk is console output with the instant its last byte was read. A chunk that holds a newline
// takes no more, so that the instant of a line is that of the read which completed it.
type chunk struct {
	at    time.Time
	bytes []byte
	lost  int  // bytes dropped instead; then bytes is empty
	full  bool // holds a newline: what is read later starts another chunk
}

// backlog is the bounded queue between the console's reader, which must never wait, and the
// goroutine that calls the receiver, which may.
type backlog struct {
	mu     sync.Mutex
	more   sync.Cond // signalled by put and close
	chunks []chunk
	size   int // bytes and chunk costs in chunks
	lost   uint64
	closed bool
}

func newBacklog() *backlog {
	b := new(backlog)
	b.more.L = &b.mu
	return b
}

// put appends a copy of p, read at the given instant. It never waits.
func (b *backlog) put(at time.Time, p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.more.Signal()
	last := len(b.chunks) - 1
	switch {
	case b.size+len(p)+chunkCost > maxPending:
		b.lost += uint64(len(p))
		if last < 0 || b.chunks[last].lost == 0 {
			b.chunks = append(b.chunks, chunk{full: true})
			last++
		}
		b.chunks[last].lost += len(p)
		b.chunks[last].at = at
		return
	case last < 0 || b.chunks[last].full:
		b.chunks = append(b.chunks, chunk{})
		b.size += chunkCost
		last++
	}
	c := &b.chunks[last]
	c.at = at
	c.bytes = append(c.bytes, p...)
	b.size += len(p)
	for _, x := range p {
		c.full = c.full || x == '\n'
	}
}

// close says that no more will be put.
func (b *backlog) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.more.Signal()
}

// take waits for output and returns all of it; none means that the queue was closed.
func (b *backlog) take() []chunk {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.chunks) == 0 && !b.closed {
		b.more.Wait()
	}
	chunks := b.chunks
	b.chunks, b.size = nil, 0
	return chunks
}

func (b *backlog) dropped() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

// drain reads the console until it ends and never waits for anything else.
func drain(console io.Reader, to *backlog) {
	defer to.close()
	buf := make([]byte, 64<<10)
	for {
		n, err := console.Read(buf)
		if n > 0 {
			to.put(time.Now(), buf[:n])
		}
		if err != nil {
			return // EOF and a reset connection both mean that QEMU is gone
		}
	}
}

// deliver hands a backlog on, bytes to raw and lines to onLine, either of which may be nil, until
// it is closed and empty. A partial last line is delivered then. Once raw fails it gets no more,
// and its error is returned.
func deliver(from *backlog, raw io.Writer, onLine func(time.Time, string)) (rawErr error) {
	write := func(p []byte) {
		if raw != nil && rawErr == nil {
			_, rawErr = raw.Write(p)
		}
	}
	s := splitter{emit: onLine}
	var last time.Time
	for chunks := from.take(); chunks != nil; chunks = from.take() {
		for _, c := range chunks {
			if c.lost > 0 {
				s.flush(c.at)
				c.bytes = fmt.Appendf(nil, "[console: %d bytes lost, receiver too slow]\n", c.lost)
			}
			write(c.bytes)
			s.write(c.at, c.bytes)
			last = c.at
		}
	}
	s.flush(last)
	return rawErr
}

// splitter cuts console output into lines. A line ends at a newline; carriage returns before it
// are dropped. A line above maxLine bytes is emitted in pieces of that size.
type splitter struct {
	emit    func(time.Time, string) // nil: lines are thrown away
	partial []byte
}

func (s *splitter) write(at time.Time, p []byte) {
	if s.emit == nil {
		return
	}
	for _, x := range p {
		if x == '\n' {
			s.line(at)
			continue
		}
		if len(s.partial) == maxLine {
			s.line(at)
		}
		s.partial = append(s.partial, x)
	}
}

// flush emits what there is of a line.
func (s *splitter) flush(at time.Time) {
	if len(s.partial) > 0 {
		s.line(at)
	}
}

func (s *splitter) line(at time.Time) {
	b := s.partial
	s.partial = s.partial[:0]
	for len(b) > 0 && b[len(b)-1] == '\r' {
		b = b[:len(b)-1]
	}
	s.emit(at, printable(b))
}

// printable returns b as valid UTF-8 that is safe on a terminal: bytes that are not UTF-8 and
// control characters, but for the tab, become \xNN. A backslash stays as it is, so that ordinary
// text never changes; who needs the exact bytes reads the raw console.
func printable(b []byte) string {
	const hex = "0123456789abcdef"
	clean := make([]byte, 0, len(b))
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		control := r < 0x20 && r != '\t' || 0x7f <= r && r <= 0x9f
		if control || r == utf8.RuneError && size == 1 {
			for _, x := range b[:size] {
				clean = append(clean, '\\', 'x', hex[x>>4], hex[x&15])
			}
		} else {
			clean = append(clean, b[:size]...)
		}
		b = b[size:]
	}
	return string(clean)
}
