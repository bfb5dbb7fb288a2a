package web

import (
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// limitedListener accepts a connection only while there is room. It turns the others away at once
// instead of leaving them in the backlog, where a client cannot tell a busy node from a dead one.
type limitedListener struct {
	net.Listener
	room    *room
	door    chan struct{} // holds a token for each that is being told why not
	refused *atomic.Uint64
	group   sync.WaitGroup // of those at the door
}

const (
	// doorMax is how many connections are told at once that there is no room; one more is closed
	// without a word.
	doorMax = 4
	// doorTime is how long a client may take to read it.
	doorTime = 250 * time.Millisecond
)

func newLimitedListener(l net.Listener, r *room, refused *atomic.Uint64) *limitedListener {
	return &limitedListener{
		Listener: l, room: r, refused: refused, door: make(chan struct{}, doorMax),
	}
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g := l.room.take(addressOf(c)); g != nil {
			return &limitedConn{Conn: c, guest: g}, nil
		}
		l.refused.Add(1)
		l.turnAway(c)
	}
}

// addressOf is the address, without the port, of a client.
func addressOf(c net.Conn) string {
	host, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		return "" // all whose address says nothing are one
	}
	return host
}

// turnAway tells a client that there is no room for it, and closes the connection. It does not wait
// for that.
func (l *limitedListener) turnAway(c net.Conn) {
	select {
	case l.door <- struct{}{}:
		l.group.Go(func() {
			tellFull(c)
			<-l.door
		})
	default:
		reset(c)
	}
}

// reset closes a connection without a goodbye where the network can do so: a stack that takes leave
// of every client in a flood needs memory for all of them.
func reset(c net.Conn) {
	if r, ok := c.(interface{ Reset() error }); ok {
		_ = r.Reset() // it is closed already, or nobody is there
		return
	}
	c.Close()
}

// full is the answer to a request that was not read.
var full = "full: this node serves " + strconv.Itoa(ConnectionsMax) + " clients at once, " +
	strconv.Itoa(AddressMax) + " from one address\n"

// tellFull answers before the request has come, and closes once the client has or is out of time:
// closing with its request unread would be a reset, which overtakes the answer.
func tellFull(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(doorTime)) // an error comes back from what follows
	_, err := io.WriteString(c, "HTTP/1.1 503 Service Unavailable\r\n"+
		"Content-Type: "+textPlain[0]+"\r\nConnection: close\r\n"+
		"Content-Length: "+strconv.Itoa(len(full))+"\r\n\r\n"+full)
	if err == nil && closeWrite(c) == nil {
		_, _ = io.CopyN(io.Discard, c, HeadMax+BodyMax)
	}
}

// wait returns when everybody at the door has gone.
func (l *limitedListener) wait() { l.group.Wait() }

// limitedConn is a place of its guest's, which it gives back when it is closed.
type limitedConn struct {
	net.Conn
	guest  *guest
	closed atomic.Bool
}

// Write implements net.Conn. It counts as work of its guest's that has company.
func (c *limitedConn) Write(b []byte) (int, error) {
	if c.guest.room.crowd.Load() < 2 {
		return c.Conn.Write(b)
	}
	began := time.Now()
	n, err := c.Conn.Write(b)
	c.guest.written(time.Since(began))
	return n, err
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	if !c.closed.Swap(true) {
		c.guest.leave()
	}
	return c.Conn.Close()
}

// CloseWrite is what package http closes its side with after a refusal that the client may still be
// sending to, so that the client gets to read it.
func (c *limitedConn) CloseWrite() error { return closeWrite(c.Conn) }

// closeWrite ends what this side sends, on a connection that can do so.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
