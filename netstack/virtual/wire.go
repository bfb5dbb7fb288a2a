package virtual

import (
	"net"
	"slices"
	"sync"
	"time"
)

// Wire is an Ethernet without a switch: every port hears what the others send, after the latency.
// It is a hub on purpose, so that stacks prove that they filter.
type Wire struct {
	clock   *Clock
	latency time.Duration

	mu    sync.Mutex
	ports []*Port
	drop  func(from, to *Port, frame []byte) bool
	hold  bool
	held  []transit // in the order in which they would have arrived
}

// transit is a frame on its way.
type transit struct {
	from  *Port
	frame []byte
}

// NewWire makes a wire without ports.
func NewWire(c *Clock, latency time.Duration) *Wire {
	return &Wire{clock: c, latency: latency}
}

// Port adds a port.
func (w *Wire) Port() *Port {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &Port{wire: w, closed: make(chan struct{})}
	w.ports = append(w.ports, p)
	return p
}

// Drop lets the wire lose each frame for which lose is true, from now on; nil loses nothing. It is
// asked when a frame would arrive, once for each port that would hear it, so that what is under way
// when a cut begins is lost, too. It is called with the wire locked: one call at a time, none back.
func (w *Wire) Drop(lose func(from, to *Port, frame []byte) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop = lose
}

// Cut loses every frame, or none.
func (w *Wire) Cut(cut bool) {
	if !cut {
		w.Drop(nil)
		return
	}
	w.Drop(func(_, _ *Port, _ []byte) bool { return true })
}

// Hold lets frames wait where they would arrive, from now on, or lets them arrive again: first what
// has waited, all at this instant, in order.
func (w *Wire) Hold(hold bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold = hold
	if hold {
		return
	}
	for _, t := range w.held {
		w.clock.AfterFunc(0, func() { w.arrive(t) })
	}
	w.held = nil
}

// arrive hands a frame to every port that hears it.
func (w *Wire) arrive(t transit) {
	for _, to := range w.listeners(t) {
		to.hear(t.frame)
	}
}

func (w *Wire) listeners(t transit) []*Port {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hold {
		w.held = append(w.held, t)
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.ports), func(to *Port) bool {
		return to == t.from || w.drop != nil && w.drop(t.from, to, t.frame)
	})
}

// Port is one end of a wire. It is a netstack.Device.
type Port struct {
	wire   *Wire
	closed chan struct{}

	mu      sync.Mutex
	receive func(frame []byte)
	idle    func()
	waiting bool // idle will be called at the end of this instant
}

// Send puts a frame on the wire; it is never refused.
func (p *Port) Send(parts [][]byte) bool {
	t := transit{p, slices.Concat(parts...)}
	p.wire.clock.AfterFunc(p.wire.latency, func() { p.wire.arrive(t) })
	return true
}

// Receive calls f with what the port hears until it is closed. What it heard before is lost.
func (p *Port) Receive(f func(frame []byte)) error {
	return p.ReceiveBursts(f, func() {})
}

// ReceiveBursts is Receive, and calls idle behind the frames that arrived at one instant.
func (p *Port) ReceiveBursts(f func(frame []byte), idle func()) error {
	p.mu.Lock()
	p.receive, p.idle = f, idle
	p.mu.Unlock()
	<-p.closed
	p.mu.Lock()
	p.receive = nil
	p.mu.Unlock()
	return net.ErrClosed
}

// Close makes the port deaf and ends its Receive. It is called once.
func (p *Port) Close() { close(p.closed) }

func (p *Port) hear(frame []byte) {
	p.mu.Lock()
	f, first := p.receive, !p.waiting
	p.waiting = f != nil
	p.mu.Unlock()
	if f == nil {
		return
	}
	f(frame)
	if first {
		p.wire.clock.AfterFunc(0, p.rest)
	}
}

// rest runs behind every frame of the instant: their timers were armed before its own was.
func (p *Port) rest() {
	p.mu.Lock()
	p.waiting = false
	idle := p.idle
	p.mu.Unlock()
	idle()
}
