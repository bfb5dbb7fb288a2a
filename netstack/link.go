package netstack

import (
	"sync"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// link is gVisor's view of a Device: the lowest endpoint of the stack. It puts the Ethernet header
// on and takes it off. It offers no checksum offload, because no device here computes checksums: a
// wrong TCP checksum must be found by the stack.
type link struct {
	device  Device
	mac     [6]byte
	address tcpip.LinkAddress // mac, in gVisor's form

	dispatcher atomic.Pointer[stack.NetworkDispatcher] // nil before the stack attached and after

	// sending guards parts, the pieces of the frame being sent, kept to spare an allocation a
	// frame. It is held for the length of Device.Send, which does not wait.
	sending sync.Mutex
	parts   [][]byte

	// The following belong to the device's goroutine, which delivers.
	bursts  bool // the device calls flush
	head    [frameHeader + segmentHead]byte
	segment segment
	held    coalescer
	buffers buffers
	gate    gate
	elapsed func() time.Duration // on the stack's clock

	frames [verdicts]atomic.Uint64 // received, by verdict
	sent   atomic.Uint64
	lost   atomic.Uint64 // not sent, because the device would not take them
}

var (
	_ stack.LinkEndpoint = (*link)(nil)
	_ stack.GSOEndpoint  = (*link)(nil)
)

func newLink(d Device, mac [6]byte) *link {
	return &link{
		device: d, mac: mac, address: tcpip.LinkAddress(mac[:]), parts: make([][]byte, 0, 8),
	}
}

// receive gives the stack the device's frames until the device ends, and returns why.
func (l *link) receive() error {
	if b, ok := l.device.(Burster); ok {
		l.bursts = true
		return b.ReceiveBursts(l.deliver, l.flush)
	}
	return l.device.Receive(l.deliver)
}

// deliver takes one frame from the device up the stack, on the device's goroutine. TCP segments are
// only queued there; goroutines of the stack work on them.
func (l *link) deliver(frame []byte) {
	// The device's memory may be uncached, where one copy is cheap and many short reads are not:
	// what is looked at is copied first.
	head := l.head[:copy(l.head[:], frame)]
	v := admit(head, len(frame), l.mac)
	if v == accepted {
		if from, ok := request(head); ok && !l.gate.take(from, l.elapsed()) {
			v = dropRequest
		}
	}
	l.frames[v].Add(1)
	if v != accepted {
		return
	}
	packet := frame[frameHeader:]
	kind, to := header.Ethernet(head).Type(), tcpip.PacketHost
	if isGroup([6]byte(head)) {
		to = tcpip.PacketBroadcast
	}
	if l.bursts {
		joins := kind == header.IPv4ProtocolNumber && to == tcpip.PacketHost &&
			l.segment.parse(head[frameHeader:], len(packet))
		if joins && l.held.add(&l.segment, packet) {
			if l.held.pushed {
				l.flush()
			}
			return
		}
		l.flush()
		if joins && l.held.add(&l.segment, packet) {
			return
		}
	}
	l.up(kind, to, l.copy(packet))
}

// flush takes up what was held back.
func (l *link) flush() {
	if view := l.held.take(); view != nil {
		l.up(header.IPv4ProtocolNumber, tcpip.PacketHost, view)
	}
}

// up hands a packet to the stack, which owns view from then on. The Ethernet header is gone,
// because nothing above asks for it.
func (l *link) up(kind tcpip.NetworkProtocolNumber, to tcpip.PacketType, view *buffer.View) {
	d := l.dispatcher.Load()
	if d == nil {
		view.Release()
		return
	}
	p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(view)})
	p.PktType = to
	(*d).DeliverNetworkPacket(kind, p)
	p.DecRef()
}

// copy copies a packet out of the device's memory.
func (l *link) copy(packet []byte) *buffer.View {
	if len(packet) <= smallView {
		return buffer.NewViewWithData(packet)
	}
	return l.buffers.copy(packet)
}

// smallView is the size of gVisor's smallest buffers, which its pools find at once. For any other
// size they search bit by bit, and clear what they find.
const smallView = 64

// buffers are for packets that are not small, used in turn. The stack holds one for as long as it
// needs the packet. If its turn comes while it is still held, gVisor replaces it, which is what
// every packet would cost without them.
type buffers struct {
	ring [64]*buffer.View
	next int
}

func (b *buffers) copy(packet []byte) *buffer.View {
	v := b.ring[b.next]
	if v == nil {
		v = buffer.NewView(frameMTU)
		b.ring[b.next] = v
	}
	b.next = (b.next + 1) % len(b.ring)
	v.Reset()
	v.Write(packet)
	return v.Clone()
}

// WritePackets implements stack.LinkWriter: it sends whole frames until the device refuses one.
func (l *link) WritePackets(packets stack.PacketBufferList) (int, tcpip.Error) {
	for n, p := range packets.AsSlice() {
		if !l.send(p) {
			return n, &tcpip.ErrNoBufferSpace{}
		}
	}
	return packets.Len(), nil
}

func (l *link) send(p *stack.PacketBuffer) bool {
	l.sending.Lock()
	defer l.sending.Unlock()
	views, skip := p.AsViewList()
	l.parts = l.parts[:0]
	for v := views.Front(); v != nil; v = v.Next() {
		part := v.AsSlice()
		if skip >= len(part) { // room for headers that this packet does not have
			skip -= len(part)
			continue
		}
		l.parts = append(l.parts, part[skip:])
		skip = 0
	}
	if !l.device.Send(l.parts) {
		l.lost.Add(1)
		return false
	}
	l.sent.Add(1)
	return true
}

// AddHeader implements stack.NetworkLinkEndpoint.
func (l *link) AddHeader(p *stack.PacketBuffer) {
	header.Ethernet(p.LinkHeader().Push(frameHeader)).Encode(&header.EthernetFields{
		SrcAddr: p.EgressRoute.LocalLinkAddress,
		DstAddr: p.EgressRoute.RemoteLinkAddress,
		Type:    p.NetworkProtocolNumber,
	})
}

// ParseHeader implements stack.NetworkLinkEndpoint.
func (l *link) ParseHeader(p *stack.PacketBuffer) bool {
	_, ok := p.LinkHeader().Consume(frameHeader)
	return ok
}

// Attach implements stack.NetworkLinkEndpoint; gVisor detaches with nil.
func (l *link) Attach(d stack.NetworkDispatcher) {
	if d == nil {
		l.dispatcher.Store(nil)
		return
	}
	l.dispatcher.Store(&d)
}

// IsAttached implements stack.NetworkLinkEndpoint.
func (l *link) IsAttached() bool { return l.dispatcher.Load() != nil }

// MTU implements stack.NetworkLinkEndpoint: bytes behind the Ethernet header.
func (l *link) MTU() uint32 { return frameMTU }

// MaxHeaderLength implements stack.NetworkLinkEndpoint.
func (l *link) MaxHeaderLength() uint16 { return frameHeader }

// LinkAddress implements stack.NetworkLinkEndpoint.
func (l *link) LinkAddress() tcpip.LinkAddress { return l.address }

// Capabilities implements stack.NetworkLinkEndpoint.
func (l *link) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityResolutionRequired
}

// ARPHardwareType implements stack.NetworkLinkEndpoint.
func (l *link) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareEther }

// The rest of stack.NetworkLinkEndpoint has no work here: the address and the MTU are fixed, and
// the device belongs to whoever made the stack.

func (l *link) SetLinkAddress(tcpip.LinkAddress) {}
func (l *link) SetMTU(uint32)                    {}
func (l *link) Wait()                            {}
func (l *link) Close()                           {}
func (l *link) SetOnCloseAction(func())          {}

// SupportedGSO implements stack.GSOEndpoint: TCP makes segments of up to GSOMaxSize, which gVisor
// cuts into frames on their way down. It saves TCP's own work for each of them.
func (l *link) SupportedGSO() stack.SupportedGSO { return stack.GVisorGSOSupported }

// GSOMaxSize implements stack.GSOEndpoint. It is well below what a device's ring holds in frames.
func (l *link) GSOMaxSize() uint32 { return joinedMax }
