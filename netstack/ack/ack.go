// Package ack delays TCP's acknowledgements between a stack and its Ethernet device (RFC 9293
// section 3.8.6.3): a segment without data that only acknowledges is kept for a moment, because
// what the application answers will most likely acknowledge the same. gVisor's TCP acknowledges at
// once, so that a message and its reply take four segments instead of two; and on this machine what
// a segment costs is its way, not its length.
//
// The package owns which segments wait and for how long. It never changes a segment, sends none
// that the stack did not make, and keeps none back that says anything new but "received":
//
//	                         +--> goes at once: data, SYN, FIN, RST, SACK, a repetition, the first
//	segment of the stack ----+    one of a connection, what acknowledges Every bytes or more
//	                         +--> waits: the rest
//	waiting  --> dropped, when a later segment of the connection acknowledges as much
//	         --> sent, at most Delay later
//
// A frame that waits counts as sent for whoever counts above.
package ack

import (
	"encoding/binary"
	"sync"
	"time"

	"holdfast/netstack"
)

const (
	// Delay is the longest that an acknowledgement waits: the usual one of other systems, a fifth
	// of the shortest retransmission timeout, and a twelfth of what RFC 9293 allows.
	Delay = 40 * time.Millisecond
	// Every is how much is acknowledged without delay, in bytes: two segments of full size, as RFC
	// 9293 wants it, with 12 bytes of options each.
	Every = 2 * (1500 - 40 - 12)
	// flowsMax is how many connections are watched. One more takes the place of another, whose next
	// acknowledgement then goes at once.
	flowsMax = 16
)

// Device is an Ethernet device whose acknowledgements wait.
type Device struct {
	under netstack.Burster
	after func(time.Duration, func()) // time.AfterFunc, but for tests

	mu    sync.Mutex // held for the length of a Send, which does not wait
	flows [flowsMax]flow
	next  int  // the flow to be replaced next
	armed bool // flush is to be called
	parts [1][]byte
}

// flow is what was sent in one direction of one connection.
type flow struct {
	key    key
	acked  uint32 // the latest acknowledgement that was sent
	newest uint32 // the one in held
	held   [heldMax]byte
	length int // of what is held; 0: nothing
}

// key is a connection from here: the peer's address and both ports. The zero key is no connection.
type key uint64

// New puts the delay in front of a device.
func New(under netstack.Burster) *Device {
	return &Device{under: under, after: func(d time.Duration, f func()) { time.AfterFunc(d, f) }}
}

// Receive implements netstack.Device.
func (d *Device) Receive(f func(frame []byte)) error { return d.under.Receive(f) }

// ReceiveBursts implements netstack.Burster.
func (d *Device) ReceiveBursts(f func(frame []byte), idle func()) error {
	return d.under.ReceiveBursts(f, idle)
}

// Send implements netstack.Device.
func (d *Device) Send(parts [][]byte) bool {
	s, ok := parse(parts)
	if !ok {
		return d.under.Send(parts)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f, known := d.flow(s.key)
	if known && s.only && d.waits(f, s, parts) {
		return true
	}
	if f.length > 0 && int32(f.newest-s.ack) > 0 { // never seen: gVisor acknowledges what it has
		d.release(f)
	}
	f.acked, f.length = s.ack, 0
	return d.under.Send(parts)
}

// waits keeps a segment that only acknowledges, instead of the one before it, if it may wait.
func (d *Device) waits(f *flow, s segment, parts [][]byte) bool {
	progress := int32(s.ack - f.acked)
	if progress <= 0 || progress >= Every || f.length > 0 && s.ack == f.newest {
		return false
	}
	f.newest, f.length = s.ack, 0
	for _, part := range parts {
		f.length += copy(f.held[f.length:], part)
	}
	if !d.armed {
		d.armed = true
		d.after(Delay, d.flush)
	}
	return true
}

// flush sends everything that waits. It comes once for all that began to wait since the one before:
// what began last has waited for less than Delay.
func (d *Device) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = false
	for i := range d.flows {
		if f := &d.flows[i]; f.length > 0 {
			d.release(f)
		}
	}
}

func (d *Device) release(f *flow) {
	d.parts[0] = f.held[:f.length]
	d.under.Send(d.parts[:]) // lost when the device has no room: the peer sends again, for an answer
	f.acked, f.length = f.newest, 0
}

// flow is the connection's entry, made now if it has none.
func (d *Device) flow(k key) (f *flow, known bool) {
	for i := range d.flows {
		if d.flows[i].key == k {
			return &d.flows[i], true
		}
	}
	f = &d.flows[d.next]
	d.next = (d.next + 1) % flowsMax
	if f.length > 0 {
		d.release(f)
	}
	f.key = k
	return f, false
}

// segment is what matters of a TCP segment.
type segment struct {
	key  key
	ack  uint32
	only bool // it says nothing but what has been received
}

// Offsets and sizes in a frame: Ethernet, IPv4 without options (RFC 791), TCP (RFC 9293).
const (
	ethernet  = 14
	ip        = ethernet
	tcp       = ip + 20
	headerMin = tcp + 20
	// heldMax is the longest acknowledgement that waits: with timestamps and padding (RFC 7323), and
	// without SACK.
	heldMax = headerMin + 12

	flagAck = 0x10
	flagPsh = 0x08
)

// parse takes a frame apart. What is no TCP segment with an acknowledgement, or begins in more than
// one part, is not looked at.
func parse(parts [][]byte) (s segment, ok bool) {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if len(parts) == 0 || len(parts[0]) < headerMin {
		return s, false
	}
	b := parts[0]
	const ipv4, plain, protocol = 0x0800, 0x45, 6
	flags := b[tcp+13]
	if binary.BigEndian.Uint16(b[12:]) != ipv4 || b[ip] != plain || b[ip+9] != protocol ||
		flags&flagAck == 0 {
		return s, false
	}
	peer, ports := binary.BigEndian.Uint32(b[ip+16:]), binary.BigEndian.Uint32(b[tcp:])
	s.key = key(peer)<<32 | key(ports)
	s.ack = binary.BigEndian.Uint32(b[tcp+8:])
	header := tcp + int(b[tcp+12]>>4)*4
	s.only = flags&^flagPsh == flagAck && size == header && header <= heldMax
	return s, true
}
