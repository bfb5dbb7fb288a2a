package netstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/waiter"
)

// backlog is how many finished handshakes wait for Accept; one more is refused. Below it gVisor
// answers connection requests with SYN cookies when too many are half open, so that a flood of them
// costs no memory.
const backlog = 64

// Listen accepts TCP connections to a port of the stack's address. Port 0 takes a free one.
func (s *Stack) Listen(port uint16) (net.Listener, error) {
	l := &listener{clock: s.gvisor.Clock(), token: make(chan struct{}, 1)}
	local := &net.TCPAddr{IP: s.config.Addr.Addr().AsSlice(), Port: int(port)}
	ep, err := newEndpoint(s.gvisor, &l.queue)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: local, Err: err}
	}
	l.ep = ep
	l.entry.Init((*listenerEvents)(l), connEventMask)
	l.queue.EventRegister(&l.entry)
	if err := l.open(s.config.Addr.Addr(), port); err != nil {
		ep.Close()
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: local, Err: standard(err)}
	}
	return l, nil
}

type listener struct {
	ep    tcpip.Endpoint
	queue waiter.Queue
	entry waiter.Entry
	token chan struct{} // capacity 1: something happened since the last look
	addr  *net.TCPAddr
	clock tcpip.Clock

	closed atomic.Bool
}

func (l *listener) open(addr netip.Addr, port uint16) tcpip.Error {
	err := l.ep.Bind(tcpip.FullAddress{Addr: tcpip.AddrFrom4(addr.As4()), Port: port})
	if err != nil {
		return err
	}
	if err := l.ep.Listen(backlog); err != nil {
		return err
	}
	local, err := l.ep.GetLocalAddress()
	if err != nil {
		return err
	}
	l.addr = tcpAddr(local)
	return nil
}

// listenerEvents is a listener as gVisor's queue sees it.
type listenerEvents listener

// NotifyEvent implements waiter.EventListener.
func (l *listenerEvents) NotifyEvent(waiter.EventMask) { (*listener)(l).wake() }

func (l *listener) wake() {
	select {
	case l.token <- struct{}{}:
	default:
	}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		ep, q, err := l.ep.Accept(nil)
		switch err.(type) {
		case nil:
			l.wake() // one token may stand for several connections, and several goroutines accept
			c, err := newConn(ep, q, l.clock)
			if err == nil {
				return c, nil
			}
			ep.Close() // gone again before it was accepted: the next one, please
		case *tcpip.ErrWouldBlock:
			<-l.token
		default:
			l.wake() // so that every waiting Accept comes back
			return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: standard(err)}
		}
	}
}

// Close implements net.Listener. Connections that were not accepted yet are reset.
func (l *listener) Close() error {
	if l.closed.Swap(true) {
		return &net.OpError{Op: "close", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
	}
	l.ep.Close()
	l.wake()
	return nil
}

// Addr implements net.Listener; it is a *net.TCPAddr.
func (l *listener) Addr() net.Addr { return l.addr }

// redial is the pause before another try at a peer whose Ethernet address nobody knew.
const redial = 250 * time.Millisecond

// Dial connects to a TCP port. It waits until the peer has answered or ctx is done, and ctx alone
// bounds it: gVisor's own limits fit nothing here. A connection request is repeated with doubling
// gaps for minutes, whatever the retransmission options say; and an address that does not answer
// ARP for 3 s is reported as unreachable, although the peer may only be booting. Dial goes on from
// there. A refusal is an answer and ends it.
func (s *Stack) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	remote := net.TCPAddrFromAddrPort(to)
	for {
		c, err := s.dialOnce(ctx, to)
		if err == nil {
			return c, nil
		}
		if errors.Is(err, syscall.EHOSTUNREACH) {
			if ctxErr := s.pause(ctx, redial); ctxErr == nil {
				continue
			} else {
				err = fmt.Errorf("%w (%w)", ctxErr, err)
			}
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: remote, Err: err}
	}
}

func (s *Stack) dialOnce(ctx context.Context, to netip.AddrPort) (*Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !to.Addr().Is4() {
		return nil, syscall.EAFNOSUPPORT
	}
	var q waiter.Queue
	ep, err := newEndpoint(s.gvisor, &q)
	if err != nil {
		return nil, err
	}
	entry, done := waiter.NewChannelEntry(waiter.WritableEvents | endEvents)
	q.EventRegister(&entry)
	defer q.EventUnregister(&entry)
	connectErr := ep.Connect(tcpip.FullAddress{
		Addr: tcpip.AddrFrom4(to.Addr().As4()), Port: to.Port(),
	})
	if _, ok := connectErr.(*tcpip.ErrConnectStarted); ok {
		select {
		case <-ctx.Done():
			ep.Close()
			return nil, ctx.Err()
		case <-done:
			connectErr = ep.LastError()
		}
	}
	if connectErr != nil {
		ep.Close()
		return nil, standard(connectErr)
	}
	c, connErr := newConn(ep, &q, s.gvisor.Clock())
	if connErr != nil {
		ep.Close()
		return nil, standard(connErr)
	}
	return c, nil
}

// pause waits on the stack's clock.
func (s *Stack) pause(ctx context.Context, d time.Duration) error {
	done := make(chan struct{})
	t := s.gvisor.Clock().AfterFunc(d, func() { close(done) })
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-done:
		return nil
	}
}
