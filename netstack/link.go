package netstack

import (
	"sync"
	"sync/atomic"

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

	frames [verdicts]atomic.Uint64 // received, by verdict
	sent   atomic.Uint64
	lost   atomic.Uint64 // not sent, because the device would not take them
}

var _ stack.LinkEndpoint = (*link)(nil)

func newLink(d Device, mac [6]byte) *link {
	return &link{
		device: d, mac: mac, address: tcpip.LinkAddress(mac[:]), parts: make([][]byte, 0, 8),
	}
}

// deliver takes one frame from the device up the stack, on the device's goroutine. TCP segments are
// only queued here; goroutines of the stack work on them.
func (l *link) deliver(frame []byte) {
	d := l.dispatcher.Load()
	if d == nil {
		return
	}
	// Copied before it is looked at: the device's memory may be uncached, where one long copy is
	// cheap and many short reads are not. What is longer than a frame is not worth a copy.
	if len(frame) > frameMax {
		l.frames[dropMalformed].Add(1)
		return
	}
	view := buffer.NewViewWithData(frame)
	v := admit(view.AsSlice(), l.mac)
	l.frames[v].Add(1)
	if v != accepted {
		view.Release()
		return
	}
	p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(view)})
	defer p.DecRef()
	if !l.ParseHeader(p) {
		panic("netstack: an admitted frame has no Ethernet header")
	}
	h := header.Ethernet(p.LinkHeader().Slice())
	p.PktType = tcpip.PacketHost
	if isGroup([6]byte(h[0:6])) {
		p.PktType = tcpip.PacketBroadcast
	}
	(*d).DeliverNetworkPacket(h.Type(), p)
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
