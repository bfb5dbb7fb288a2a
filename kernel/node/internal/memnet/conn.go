package memnet

import (
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// streamMax bounds what one direction of a connection holds, like TCP's buffers.
const streamMax = 64 << 10

// stream is one direction of a connection. Its fields are guarded by the net's mu.
type stream struct {
	net      *Net
	from, to *Host
	sent     []chunk // not there yet
	arrived  []byte
	finished bool // the sender has ended it
	ended    bool // its end has arrived
	reset    bool // the peer's stack does not know the connection
	refused  bool // the reader is gone
	aborted  bool // the sender closed with unread data of its own: what was on its way is lost
	changed  chan struct{}
}

type chunk struct {
	data []byte // empty: the end of the stream
	at   time.Time
}

func (n *Net) newStream(from, to *Host) *stream {
	s := &stream{net: n, from: from, to: to, changed: make(chan struct{})}
	n.streams[s] = struct{}{}
	return s
}

// settle moves what can have arrived. The caller holds the net's mu.
func (s *stream) settle() {
	if s.to.dead && s.net.hosts[s.to.addr] != s.to && !s.from.dead && len(s.sent) > 0 {
		s.reset = true // the next boot at that address answers with a reset
	}
	for len(s.sent) > 0 && s.net.reach(s.from, s.to) && !s.sent[0].at.After(time.Now()) {
		if len(s.sent[0].data) == 0 {
			s.ended = true
		}
		s.arrived = append(s.arrived, s.sent[0].data...)
		s.sent = s.sent[1:]
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *stream) held() int {
	n := len(s.arrived)
	for _, c := range s.sent {
		n += len(c.data)
	}
	return n
}

// put sends a chunk; an empty one ends the stream. The caller holds the net's mu.
func (s *stream) put(b []byte) {
	s.sent = append(s.sent, chunk{b, time.Now().Add(s.net.delay)})
	if s.net.delay > 0 {
		time.AfterFunc(s.net.delay, func() {
			s.net.mu.Lock()
			defer s.net.mu.Unlock()
			s.settle()
		})
	}
	s.settle()
}

// conn is one end of a connection.
type conn struct {
	local, remote netip.AddrPort
	in, out       *stream
	closed        chan struct{}
	once          sync.Once
	read, write   deadline
}

func newConn(local, remote netip.AddrPort, in, out *stream) *conn {
	c := &conn{local: local, remote: remote, in: in, out: out, closed: make(chan struct{})}
	c.read.moved, c.write.moved = make(chan struct{}), make(chan struct{})
	return c
}

// Read looks at the deadline before it looks for data, as the node's own stack does.
func (c *conn) Read(b []byte) (int, error) {
	for {
		expired, moved := c.read.state()
		n, changed, err := c.take(b, expired)
		if n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
		c.wait(changed, moved)
	}
}

func (c *conn) take(b []byte, expired bool) (int, <-chan struct{}, error) {
	mu := &c.in.net.mu
	mu.Lock()
	defer mu.Unlock()
	switch {
	case c.isClosed():
		return 0, nil, c.opError("read", net.ErrClosed)
	case expired:
		return 0, nil, c.opError("read", os.ErrDeadlineExceeded)
	case c.in.aborted:
		return 0, nil, c.opError("read", syscall.ECONNRESET)
	case len(c.in.arrived) > 0:
		n := copy(b, c.in.arrived)
		c.in.arrived = c.in.arrived[n:]
		c.in.settle()
		return n, nil, nil
	case c.out.reset:
		return 0, nil, c.opError("read", syscall.ECONNRESET)
	case c.in.ended:
		return 0, nil, io.EOF
	}
	return 0, c.in.changed, nil
}

func (c *conn) Write(b []byte) (int, error) {
	for done := 0; ; {
		expired, moved := c.write.state()
		n, changed, err := c.give(b[done:], expired)
		done += n
		if done == len(b) || err != nil {
			return done, err
		}
		c.wait(changed, moved)
	}
}

func (c *conn) give(b []byte, expired bool) (int, <-chan struct{}, error) {
	mu := &c.out.net.mu
	mu.Lock()
	defer mu.Unlock()
	switch {
	case c.isClosed():
		return 0, nil, c.opError("write", net.ErrClosed)
	case c.out.finished:
		return 0, nil, c.opError("write", syscall.EPIPE)
	case expired:
		return 0, nil, c.opError("write", os.ErrDeadlineExceeded)
	case c.out.reset || c.out.refused:
		return 0, nil, c.opError("write", syscall.ECONNRESET)
	}
	n := min(len(b), streamMax-c.out.held())
	if n == 0 {
		return 0, c.out.changed, nil
	}
	c.out.put(append([]byte(nil), b[:n]...))
	return n, nil, nil
}

// wait returns when something changed: the stream, the deadline, or that the connection is closed.
func (c *conn) wait(changed, moved <-chan struct{}) {
	select {
	case <-changed:
	case <-moved:
	case <-c.closed:
	}
}

func (c *conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// Close sends the end of the stream behind what was written, or, as TCP does, a reset that
// overtakes it when there is something that was not read (RFC 2525 section 2.17).
func (c *conn) Close() error {
	c.once.Do(func() {
		mu := &c.in.net.mu
		mu.Lock()
		defer mu.Unlock()
		close(c.closed)
		if c.out.aborted = len(c.in.arrived) > 0; c.out.aborted {
			c.out.sent, c.out.arrived = nil, nil
		}
		c.endStream()
		c.in.refused = true
		c.in.settle()
		c.read.set(time.Time{})
		c.write.set(time.Time{})
	})
	return nil
}

// CloseWrite sends the end of the stream; reading goes on.
func (c *conn) CloseWrite() error {
	mu := &c.out.net.mu
	mu.Lock()
	defer mu.Unlock()
	c.endStream()
	return nil
}

// endStream ends what this end sends, once. The caller holds the net's mu.
func (c *conn) endStream() {
	if !c.out.finished {
		c.out.finished = true
		c.out.put(nil)
	}
}

func (c *conn) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(c.local) }
func (c *conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }

func (c *conn) SetDeadline(t time.Time) error {
	c.read.set(t)
	c.write.set(t)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.read.set(t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.write.set(t)
	return nil
}

func (c *conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// deadline is the time after which one direction's calls fail.
type deadline struct {
	mu    sync.Mutex
	at    time.Time
	timer *time.Timer
	moved chan struct{} // closed and replaced when at was set or has come
}

// state reports whether the deadline has passed, and a channel that is closed when that may change.
func (d *deadline) state() (expired bool, moved <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.at.IsZero() && !d.at.After(time.Now()), d.moved
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = t
	d.wake()
	if left := time.Until(t); !t.IsZero() && left > 0 {
		d.timer = time.AfterFunc(left, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.wake()
		})
	}
}

// wake tells whoever waits to look again. The caller holds mu.
func (d *deadline) wake() {
	close(d.moved)
	d.moved = make(chan struct{})
}
