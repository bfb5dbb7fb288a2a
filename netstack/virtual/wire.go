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

// arrive hands a frame to every port that hears it.
func (w *Wire) arrive(from *Port, frame []byte) {
	for _, to := range w.listeners(from, frame) {
		to.hear(frame)
	}
}

func (w *Wire) listeners(from *Port, frame []byte) []*Port {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.ports), func(to *Port) bool {
		return to == from || w.drop != nil && w.drop(from, to, frame)
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
	frame := slices.Concat(parts...)
	p.wire.clock.AfterFunc(p.wire.latency, func() { p.wire.arrive(p, frame) })
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
