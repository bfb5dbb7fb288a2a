package web

import (
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// limitedListener accepts a connection only while there is room. It turns the others away at once
// instead of leaving them in the backlog, where a client cannot tell a busy node from a dead one.
type limitedListener struct {
	net.Listener
	room    room
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

func newLimitedListener(l net.Listener, refused *atomic.Uint64) *limitedListener {
	return &limitedListener{Listener: l, refused: refused, door: make(chan struct{}, doorMax)}
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := addressOf(c)
		if l.room.take(from) {
			return &limitedConn{Conn: c, room: &l.room, from: from}, nil
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

// room is the places that are taken, ConnectionsMax at most and AddressMax from one address.
type room struct {
	mu    sync.Mutex
	taken []string // the address of each client
}

// take takes a place, and reports false when there is none for this address.
func (r *room) take(from string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	same := 0
	for _, a := range r.taken {
		if a == from {
			same++
		}
	}
	if len(r.taken) == ConnectionsMax || same == AddressMax {
		return false
	}
	r.taken = append(r.taken, from)
	return true
}

// free gives a place back.
func (r *room) free(from string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.taken, from)
	r.taken = slices.Delete(r.taken, i, i+1)
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

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	room   *room
	from   string
	closed atomic.Bool
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	if !c.closed.Swap(true) {
		c.room.free(c.from)
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
