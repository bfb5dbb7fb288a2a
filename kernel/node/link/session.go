package link

import (
	"crypto/ed25519"
	"net"
	"sync"
	"sync/atomic"

	"holdfast/kernel/node/clock"
	"holdfast/mesh/id"
)

// session is one authenticated connection. A reader goroutine delivers what comes, a writer
// goroutine sends what is queued; whoever finds a reason first ends both.
type session struct {
	id    Session
	peer  id.Node
	key   ed25519.PublicKey
	slot  int
	raw   net.Conn    // deadlines are set here
	conn  net.Conn    // TLS over raw
	clock clock.Clock // that raw's deadlines go by

	control, bulk chan []byte
	flush         atomic.Bool   // send what is queued before the connection is closed
	ended         chan struct{} // closed by end

	mu      sync.Mutex // guards what follows, and the order of SetReadDeadline calls
	why     Reason     // empty while the session lives
	barrier barrier
}

func newSession(n Session, raw, conn net.Conn, c clock.Clock) *session {
	return &session{
		id: n, raw: raw, conn: conn, clock: c,
		control: make(chan []byte, controlQueue),
		bulk:    make(chan []byte, bulkQueue),
		ended:   make(chan struct{}),
	}
}

// queue reports whether there was room for the frame.
func (s *session) queue(control bool, frame []byte) bool {
	q := s.bulk
	if control {
		q = s.control
	}
	select {
	case q <- frame:
		return true
	default:
		return false
	}
}

// end ends the session, once; the first reason stands. Both deadlines move, so that a reader or
// writer in the middle of a call comes back and finds the session ended.
func (s *session) end(why Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != "" {
		return
	}
	s.why = why
	close(s.ended)
	now := s.clock.Now()
	until := now
	if s.flush.Load() {
		until = now.Add(flushTime)
	}
	// Errors mean that the connection is closed already.
	_ = s.raw.SetReadDeadline(now)
	_ = s.raw.SetWriteDeadline(until)
}

// reason is why the session ended, empty while it lives.
func (s *session) reason() Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// write sends what is queued until the session ends, and closes the connection. It does so without
// TLS's goodbye, which could wait for 5 s and tells the peer nothing: every frame has its length.
func (s *session) write() {
	defer s.raw.Close()
	for {
		frame, ok := s.next()
		if !ok {
			return
		}
		if _, err := s.conn.Write(frame); err != nil {
			s.end(downReason(err))
			return
		}
	}
}

// next waits for the next frame to send: control first. It is over when the session has ended and
// nothing is left that must be flushed.
func (s *session) next() ([]byte, bool) {
	select {
	case f := <-s.control:
		return f, !s.over()
	default:
	}
	select {
	case f := <-s.control:
		return f, !s.over()
	case f := <-s.bulk:
		return f, !s.over()
	case <-s.ended:
	}
	if !s.flush.Load() {
		return nil, false
	}
	select {
	case f := <-s.control:
		return f, true
	case f := <-s.bulk:
		return f, true
	default:
		return nil, false
	}
}

// over reports whether the session has ended without anything to flush.
func (s *session) over() bool {
	select {
	case <-s.ended:
		return !s.flush.Load()
	default:
		return false
	}
}
