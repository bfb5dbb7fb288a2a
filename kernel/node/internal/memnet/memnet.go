// Package memnet is a network in memory for tests: hosts with addresses, listeners and connections
// that behave like TCP where the node can tell. It runs on package time, so that inside a
// testing/synctest bubble minutes of it take no time. It must never be linked into an image.
//
// What it has of TCP: a stream in order, a bounded buffer of what was sent and not read, half-open
// connections. What a test can do to it: cut two hosts from each other (what is sent meanwhile
// arrives after healing), delay, and kill a host without a word to anybody.
package memnet

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// Net is one network. Hosts on it reach each other unless they were cut.
type Net struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever reachability changes
	hosts   map[netip.Addr]*Host
	cut     map[[2]*Host]bool
	delay   time.Duration
	streams map[*stream]struct{}
	ports   uint16
}

// New makes a network without hosts.
func New() *Net {
	return &Net{
		changed: make(chan struct{}),
		hosts:   make(map[netip.Addr]*Host),
		cut:     make(map[[2]*Host]bool),
		streams: make(map[*stream]struct{}),
		ports:   firstPort,
	}
}

// firstPort is the first port that a dialling host gets, the start of the dynamic range of RFC
// 6335.
const firstPort = 49152

// Host is one boot of one machine. A second Host at an address replaces the first, which is dead.
type Host struct {
	net       *Net
	addr      netip.Addr
	dead      bool                 // guarded by net.mu
	listeners map[uint16]*listener // guarded by net.mu
}

// Host boots a machine at an address.
func (n *Net) Host(addr string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := &Host{net: n, addr: netip.MustParseAddr(addr), listeners: make(map[uint16]*listener)}
	if old := n.hosts[h.addr]; old != nil {
		old.dead = true
	}
	n.hosts[h.addr] = h
	n.change()
	return h
}

// Kill takes the host's power: its connections fall silent, nobody is told.
func (h *Host) Kill() {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.dead = true
	h.net.change()
}

// Cut separates two hosts, Heal joins them again.
func (n *Net) Cut(a, b *Host)  { n.setCut(a, b, true) }
func (n *Net) Heal(a, b *Host) { n.setCut(a, b, false) }

// Delay makes every byte that is sent from now on arrive d later.
func (n *Net) Delay(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay = d
}

func (n *Net) setCut(a, b *Host, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[[2]*Host{a, b}], n.cut[[2]*Host{b, a}] = cut, cut
	n.change()
}

// change wakes everybody who waits for reachability. The caller holds mu.
func (n *Net) change() {
	close(n.changed)
	n.changed = make(chan struct{})
	for s := range n.streams {
		s.settle()
	}
}

// reach reports whether what a sends gets to b. The caller holds mu.
func (n *Net) reach(a, b *Host) bool {
	return !a.dead && !b.dead && !n.cut[[2]*Host{a, b}]
}

// Listen accepts connections to a port of the host; port 0 takes a free one.
func (h *Host) Listen(port uint16) (net.Listener, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if port == 0 {
		port = h.net.nextPort()
	}
	if h.listeners[port] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EADDRINUSE}
	}
	l := &listener{
		host: h, port: port, queue: make(chan *conn, backlog), closed: make(chan struct{}),
	}
	h.listeners[port] = l
	return l, nil
}

// backlog is how many connections wait for Accept; one more is refused.
const backlog = 64

// nextPort hands out each dynamic port once. The caller holds mu.
func (n *Net) nextPort() uint16 {
	n.ports++
	return n.ports - 1
}

// Dial connects, like TCP: nobody at the address, a dead host and a cut all mean waiting until ctx
// is done or that changes; a living host without a listener refuses.
func (h *Host) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	for {
		c, changed, err := h.connect(to)
		if c != nil || err != nil {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
		case <-changed:
		}
	}
}

// connect tries once. Without a connection and an error, changed says when to try again.
func (h *Host) connect(to netip.AddrPort) (_ net.Conn, changed <-chan struct{}, _ error) {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	peer := n.hosts[to.Addr()]
	if peer == nil || !n.reach(h, peer) || !n.reach(peer, h) {
		return nil, n.changed, nil
	}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	l := peer.listeners[to.Port()]
	if l == nil {
		return nil, nil, refused
	}
	local := netip.AddrPortFrom(h.addr, n.nextPort())
	there, back := n.newStream(h, peer), n.newStream(peer, h)
	ours := newConn(local, to, back, there)
	select {
	case l.queue <- newConn(to, local, there, back):
		return ours, nil, nil
	default:
		return nil, nil, refused
	}
}

type listener struct {
	host   *Host
	port   uint16
	queue  chan *conn
	closed chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: net.ErrClosed}
	}
}

func (l *listener) Close() error {
	l.host.net.mu.Lock()
	defer l.host.net.mu.Unlock()
	if l.host.listeners[l.port] == l {
		delete(l.host.listeners, l.port)
		close(l.closed)
	}
	return nil
}

func (l *listener) Addr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(l.host.addr, l.port))
}
