package link

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"holdfast/mesh/wire"
)

// Accept takes connections from a listener until ctx is done, and closes it. It returns when every
// goroutine it started has ended; the error is nil unless the listener failed by itself.
func (l *Links) Accept(ctx context.Context, listener net.Listener) error {
	defer l.group.Wait()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	var admitted rate
	var said time.Time // when a connection over the rate was last reported
	for {
		raw, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				raw.Close()
			}
			return nil
		case err != nil:
			return fmt.Errorf("link: accepting: %w", err)
		}
		now := l.clock.Now()
		if admitted.admit(now, addressOf(raw)) {
			l.begun.Add(1)
			h := l.handshakes.start(raw)
			l.group.Go(func() { l.accepted(ctx, h) })
			continue
		}
		// Closed before any cryptography. One row a second says so; one for each would let a stranger
		// write the log.
		l.overrate.Add(1)
		reset(raw)
		if now.Sub(said) >= time.Second {
			said = now
			l.deliver(Refused{raw.RemoteAddr().String(), Full})
		}
	}
}

// accepted is the life of an admitted connection.
func (l *Links) accepted(ctx context.Context, h *handshake) {
	defer context.AfterFunc(ctx, func() { h.raw.Close() })()
	s, err := l.handshake(h)
	if err != nil {
		l.deliver(Refused{h.raw.RemoteAddr().String(), authoritySide.reason(err)})
		l.abandon(h.raw, err)
		return
	}
	l.run(ctx, s)
}

// handshake is the authority's.
func (l *Links) handshake(h *handshake) (*session, error) {
	_ = h.raw.SetDeadline(l.clock.Now().Add(HandshakeTime)) // an error comes back from the handshake
	conn := tls.Server(h.raw, l.server)
	err := conn.Handshake()
	if l.handshakes.done(h) {
		return nil, errFull
	}
	if err != nil {
		return nil, err
	}
	_ = h.raw.SetDeadline(time.Time{})
	s, ok := l.register(h.raw, conn)
	if !ok {
		return nil, errFull
	}
	s.queue(true, greeting[:])
	return s, nil
}

// greeting is the empty frame.
var greeting [wire.PrefixSize]byte

// abandon closes a connection whose handshake failed with err. A side that has told the other why
// does not close before the other has closed: a TCP that is closed with unread data answers with a
// reset, which can overtake the alert.
func (l *Links) abandon(raw net.Conn, err error) {
	defer raw.Close()
	if isPinError(err) {
		_ = raw.SetDeadline(l.clock.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, raw, lingerMax)
	}
}

// lingerMax is more than is left of any handshake.
const lingerMax = 16 << 10

// handshakes is the handshakes in progress at the authority, oldest first.
type handshakes struct {
	mu      sync.Mutex
	running []*handshake
}

type handshake struct {
	raw       net.Conn
	pushedOut bool // guarded by handshakes.mu
}

// start gives a connection a handshake slot. When none is free the oldest handshake loses its own:
// a stranger who holds slots by saying nothing holds them for as long as nobody else comes.
func (hs *handshakes) start(raw net.Conn) *handshake {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if len(hs.running) == HandshakesMax {
		oldest := hs.running[0]
		hs.running = slices.Delete(hs.running, 0, 1)
		oldest.pushedOut = true
		oldest.raw.Close()
	}
	h := &handshake{raw: raw}
	hs.running = append(hs.running, h)
	return h
}

// done frees the slot and reports whether it had been lost.
func (hs *handshakes) done(h *handshake) (pushedOut bool) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if i := slices.Index(hs.running, h); i >= 0 {
		hs.running = slices.Delete(hs.running, i, i+1)
	}
	return h.pushedOut
}

// reset closes a connection without a goodbye where the network can do so: a stack that takes leave
// of each of a thousand strangers a second needs memory for all of them.
func reset(raw net.Conn) {
	if c, ok := raw.(interface{ Reset() error }); ok {
		_ = c.Reset() // it is closed already, or nobody is there
		return
	}
	raw.Close()
}

// addressOf is the address, without the port, that a connection comes from.
func addressOf(raw net.Conn) string {
	host, _, err := net.SplitHostPort(raw.RemoteAddr().String())
	if err != nil {
		return "" // all whose address says nothing are one
	}
	return host
}

// rate admits at most HandshakeRate connections in any second, and at most addressRate of them from
// one address: a stranger who offers a thousand a second leaves one to everybody else, so that a
// member that boots meanwhile gets in.
type rate struct {
	latest [HandshakeRate]admission // a ring
	next   int                      // the oldest of them
}

type admission struct {
	at   time.Time // zero: none yet
	from string
}

func (r *rate) admit(now time.Time, from string) bool {
	recent, same := 0, 0
	for _, a := range r.latest {
		if a.at.IsZero() || now.Sub(a.at) >= time.Second {
			continue
		}
		recent++
		if a.from == from {
			same++
		}
	}
	if recent == HandshakeRate || same == addressRate {
		return false
	}
	r.latest[r.next] = admission{now, from}
	r.next = (r.next + 1) % HandshakeRate
	return true
}
