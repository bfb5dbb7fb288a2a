package netstack

import (
	"bytes"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/waiter"
)

// Conn is one TCP connection. It is a net.Conn whose errors are package net's, with the half closes
// of a *net.TCPConn. Nagle's algorithm is off: what a Write is given goes out.
//
// It waits on its endpoint with one registration for its whole life, and one token per direction:
// an event leaves the token, whoever waits takes it and tries again. A blocked Read or Write
// allocates nothing; gVisor's own adapter does so several times.
type Conn struct {
	ep            tcpip.Endpoint
	queue         *waiter.Queue
	entry         waiter.Entry
	local, remote *net.TCPAddr
	closed        atomic.Bool

	read  half
	write half

	// dst is the destination of the read in progress, guarded by read.mu; src is the rest of the
	// write in progress, guarded by write.mu. They stand here because gVisor takes them as
	// interfaces, which would put them on the heap each time.
	dst tcpip.SliceWriter
	src bytes.Reader
}

// half is what reading and writing each have.
type half struct {
	mu       sync.Mutex    // held by the one operation in progress
	token    chan struct{} // capacity 1: something happened since the last look
	deadline deadline
}

func (h *half) init(clock tcpip.Clock) {
	h.token = make(chan struct{}, 1)
	h.deadline.clock = clock
	h.deadline.notify = h.wake
}

func (h *half) wake() {
	select {
	case h.token <- struct{}{}:
	default:
	}
}

// forget takes the token of an event that is older than the look that follows.
func (h *half) forget() {
	select {
	case <-h.token:
	default:
	}
}

var _ net.Conn = (*Conn)(nil)

func newConn(ep tcpip.Endpoint, q *waiter.Queue, clock tcpip.Clock) (*Conn, tcpip.Error) {
	local, err := ep.GetLocalAddress()
	if err != nil {
		return nil, err
	}
	remote, err := ep.GetRemoteAddress()
	if err != nil {
		return nil, err
	}
	c := &Conn{ep: ep, queue: q, local: tcpAddr(local), remote: tcpAddr(remote)}
	c.read.init(clock)
	c.write.init(clock)
	c.entry.Init((*connEvents)(c), connEventMask)
	q.EventRegister(&c.entry)
	return c, nil
}

const (
	endEvents     = waiter.EventErr | waiter.EventHUp | waiter.EventRdHUp
	connEventMask = waiter.ReadableEvents | waiter.WritableEvents | endEvents
)

// connEvents is a Conn as gVisor's queue sees it; it keeps NotifyEvent out of Conn's methods.
type connEvents Conn

// NotifyEvent implements waiter.EventListener. It is called with the queue locked and must not
// block.
func (c *connEvents) NotifyEvent(mask waiter.EventMask) {
	if mask&(waiter.ReadableEvents|endEvents) != 0 {
		c.read.wake()
	}
	if mask&(waiter.WritableEvents|endEvents) != 0 {
		c.write.wake()
	}
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.read.mu.Lock()
	defer c.read.mu.Unlock()
	defer func() { c.dst = nil }()
	for {
		c.read.forget()
		switch {
		case c.closed.Load():
			return 0, c.opError("read", net.ErrClosed)
		case c.read.deadline.expired.Load():
			return 0, c.opError("read", os.ErrDeadlineExceeded)
		}
		c.dst = b
		r, err := c.ep.Read(&c.dst, tcpip.ReadOptions{})
		switch err.(type) {
		case nil:
			return r.Count, nil
		case *tcpip.ErrWouldBlock:
			<-c.read.token
		case *tcpip.ErrClosedForReceive:
			if !c.closed.Load() {
				return 0, standard(err) // io.EOF comes bare
			}
		default:
			return 0, c.opError("read", standard(err))
		}
	}
}

// Write implements net.Conn. It returns when gVisor has taken all of b, which says nothing about
// the peer.
func (c *Conn) Write(b []byte) (int, error) {
	c.write.mu.Lock()
	defer c.write.mu.Unlock()
	defer c.src.Reset(nil)
	for done := 0; ; {
		c.write.forget()
		switch {
		case c.closed.Load():
			return done, c.opError("write", net.ErrClosed)
		case c.write.deadline.expired.Load():
			return done, c.opError("write", os.ErrDeadlineExceeded)
		case done == len(b):
			return done, nil
		}
		c.src.Reset(b[done:])
		n, err := c.ep.Write(&c.src, tcpip.WriteOptions{})
		done += int(n)
		switch err.(type) {
		case nil:
			if done == len(b) {
				return done, nil
			}
		case *tcpip.ErrWouldBlock:
			<-c.write.token
		default:
			if c.closed.Load() {
				return done, c.opError("write", net.ErrClosed)
			}
			return done, c.opError("write", standard(err))
		}
	}
}

// Close implements net.Conn. It does not wait: what was written is still sent, but when the peer's
// data lies unread the peer gets a reset, as RFC 2525 section 2.17 wants it.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return c.opError("close", net.ErrClosed)
	}
	c.ep.Close()
	c.queue.EventUnregister(&c.entry)
	for _, h := range []*half{&c.read, &c.write} {
		h.deadline.stop()
		h.wake()
	}
	return nil
}

// Reset closes the connection without a goodbye: the peer gets a reset, whatever was written and
// not sent is lost, and the stack forgets the connection at once. It is for strangers, who are not
// worth the memory of a close in good order.
func (c *Conn) Reset() error {
	c.ep.SocketOptions().SetLinger(tcpip.LingerOption{Enabled: true})
	return c.Close()
}

// CloseRead refuses what the peer sends from now on.
func (c *Conn) CloseRead() error { return c.shutdown(tcpip.ShutdownRead) }

// CloseWrite tells the peer that nothing more will come.
func (c *Conn) CloseWrite() error { return c.shutdown(tcpip.ShutdownWrite) }

func (c *Conn) shutdown(flags tcpip.ShutdownFlags) error {
	if c.closed.Load() {
		return c.opError("close", net.ErrClosed)
	}
	if err := c.ep.Shutdown(flags); err != nil {
		return c.opError("close", standard(err))
	}
	return nil
}

// LocalAddr implements net.Conn; it is a *net.TCPAddr.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn; it is a *net.TCPAddr.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn, on the stack's clock.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn, on the stack's clock.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(&c.read, t) }

// SetWriteDeadline implements net.Conn, on the stack's clock.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(&c.write, t) }

func (c *Conn) setDeadline(h *half, t time.Time) error {
	if c.closed.Load() {
		return c.opError("set", net.ErrClosed)
	}
	h.deadline.set(t)
	return nil
}

func (c *Conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

func tcpAddr(a tcpip.FullAddress) *net.TCPAddr {
	return &net.TCPAddr{IP: net.IP(a.Addr.AsSlice()), Port: int(a.Port)}
}
