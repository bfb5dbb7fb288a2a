// Package netstack puts gVisor's TCP/IP on an Ethernet device and offers what a Go program expects
// of a network: listeners, connections and dialling. The node runs it over the board's ENET, the
// rig over a port of its relay; both get the same TCP, with the same options (see tcp.go).
//
// The package owns everything between whole Ethernet frames and net.Conn: which frames are taken
// (frame.go), the link endpoint that gVisor sees (link.go), the TCP options, and the connections
// (conn.go). It must never know what a frame carries above TCP, touch hardware, or wait for
// anything but the device, a peer or a deadline. IPv4 and ARP only, one address, no UDP, no
// multicast: the system uses none of them.
//
// # A frame's way
//
//	in   Device.Receive -> admit (frame.go), the gate (gate.go) -> one copy into a pooled buffer, in
//	     which the segments of a burst are joined (coalesce.go) -> gVisor -> the TCP processor
//	     goroutine of its connection -> Conn.Read copies to the caller
//	out  Conn.Write copies into a pooled buffer -> gVisor -> Device.Send with the pieces of the
//	     frame, headers and payload, not joined
//
// Whatever arrives is input from strangers. A frame that is not well-formed is counted and dropped
// here or in gVisor; FuzzFrame and FuzzSegment hold the edge to that.
//
// # Clock and entropy
//
// Every timer of the stack and every deadline of its connections runs on Config.Clock. Tests put a
// virtual clock there (package virtual) and get minutes of TCP in milliseconds, repeatably.
//
// Sources: RFC 826 (ARP), 894 (IP over Ethernet), 1122 (hosts), 9293 (TCP); IEEE 802.3 clause 3
// (frames). The TCP options are section 3 of the system's specification.
package netstack

import (
	"fmt"
	"io"
	"net/netip"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/log"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// Device is an Ethernet device. Frames have no frame check sequence.
type Device interface {
	// Send sends one frame, the concatenation of parts, and is done with parts when it returns.
	// The device pads what is shorter than Ethernet's minimum. False means that the frame is lost,
	// usually because the transmit ring is full; TCP sends it again. Several goroutines may send.
	Send(parts [][]byte) bool

	// Receive calls f with each frame that arrives until the device is closed, then returns why.
	// The frame is valid during the call only, and may lie in memory that is slow to read.
	Receive(f func(frame []byte)) error
}

// Burster is a Device that knows when no more frames are waiting. The stack joins TCP segments that
// come in one burst (coalesce.go), which makes bulk data several times cheaper.
type Burster interface {
	Device

	// ReceiveBursts is Receive, and calls idle behind the last of the frames that were waiting,
	// before it waits for more.
	ReceiveBursts(f func(frame []byte), idle func()) error
}

// Config says who the stack is on its Ethernet.
type Config struct {
	MAC     [6]byte      // a unicast address
	Addr    netip.Prefix // IPv4 address and the length of the network's prefix
	Gateway netip.Addr   // next hop for other networks; the zero Addr: there is none

	// Clock times everything; nil is the machine's clock.
	Clock tcpip.Clock
	// Counter makes the machine's clock cheaper to read; it may be none.
	Counter Counter
	// Entropy feeds initial sequence numbers, ports and hash seeds; nil is the machine's generator.
	// A test that wants the same run twice gives a fixed stream. It is read by one goroutine at a
	// time.
	Entropy io.Reader
}

// nicID is the one interface of every stack here.
const nicID tcpip.NICID = 1

// Stack is one host on one Ethernet. Its methods may be called by several goroutines.
type Stack struct {
	gvisor  *stack.Stack
	link    *link
	config  Config
	stopped chan struct{} // closed when the device will deliver nothing more
	err     error         // why; to be read after stopped
}

// New starts a stack on a device. The device's Receive runs on a goroutine of the stack.
func New(dev Device, c Config) (*Stack, error) {
	return newStack(dev, c, productTCP)
}

// newStack is New with other TCP options, so that tests can show what each option is for.
func newStack(dev Device, c Config, options tcpOptions) (*Stack, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Clock == nil {
		c.Clock = newMachineClock(c.Counter)
	}
	s := &Stack{config: c, link: newLink(dev, c.MAC), stopped: make(chan struct{})}
	s.link.elapsed = func() time.Duration { return c.Clock.NowMonotonic().Sub(tcpip.MonotonicTime{}) }
	s.gvisor = stack.New(stack.Options{
		NetworkProtocols: []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{
			tcp.NewProtocol, icmp.NewProtocol4,
		},
		NUDConfigs: neighbours,
		Clock:      c.Clock,
		SecureRNG:  c.entropy(),
	})
	if err := s.configure(options); err != nil {
		s.gvisor.Destroy()
		return nil, err
	}
	go s.receive()
	return s, nil
}

// neighbours are the times of address resolution. A neighbour that does not answer is asked for 3 s
// before it counts as unreachable, as RFC 4861 section 10 has it, but four times a second instead
// of once: in a long cut each end forgets the other's Ethernet address, and the session goes on
// only after it was found again. The rest keeps the RFC's values, which are gVisor's, too.
var neighbours = stack.NUDConfigurations{
	RetransmitTimer:    250 * time.Millisecond,
	MaxMulticastProbes: 12,
	MaxUnicastProbes:   12,
}

// configure does everything that must stand before the first frame comes in.
func (s *Stack) configure(options tcpOptions) error {
	if err := options.apply(s.gvisor); err != nil {
		return err
	}
	if err := s.gvisor.CreateNIC(nicID, s.link); err != nil {
		return stackError("create the interface", err)
	}
	address := tcpip.ProtocolAddress{
		Protocol: ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddressWithPrefix{
			Address:   tcpip.AddrFrom4(s.config.Addr.Addr().As4()),
			PrefixLen: s.config.Addr.Bits(),
		},
	}
	if err := s.gvisor.AddProtocolAddress(nicID, address, stack.AddressProperties{}); err != nil {
		return stackError("set the address "+s.config.Addr.String(), err)
	}
	routes := []tcpip.Route{{Destination: address.AddressWithPrefix.Subnet(), NIC: nicID}}
	if gw := s.config.Gateway; gw.IsValid() {
		routes = append(routes, tcpip.Route{
			Destination: header.IPv4EmptySubnet,
			Gateway:     tcpip.AddrFrom4(gw.As4()),
			NIC:         nicID,
		})
	}
	s.gvisor.SetRouteTable(routes)
	return nil
}

// validate refuses what gVisor would take and then fail on in silence.
func (c Config) validate() error {
	mac := c.MAC
	switch {
	case isGroup(mac) || mac == [6]byte{}:
		return fmt.Errorf("netstack: %x is not a unicast Ethernet address", mac)
	case !c.Addr.IsValid() || !c.Addr.Addr().Is4():
		return fmt.Errorf("netstack: %v is not an IPv4 address with a prefix length", c.Addr)
	case c.Addr.Addr().IsUnspecified() || c.Addr.Addr().IsMulticast():
		return fmt.Errorf("netstack: %v is no host's address", c.Addr)
	case !c.Gateway.IsValid():
		return nil
	case !c.Gateway.Is4() || !c.Addr.Contains(c.Gateway) || c.Gateway == c.Addr.Addr():
		return fmt.Errorf("netstack: gateway %v is no other host of %v", c.Gateway, c.Addr.Masked())
	}
	return nil
}

// entropy is what gVisor reads, by many goroutines; nil lets it take the machine's generator.
func (c Config) entropy() io.Reader {
	if c.Entropy == nil {
		return nil
	}
	return &lockedReader{r: c.Entropy}
}

type lockedReader struct {
	mu sync.Mutex
	r  io.Reader
}

func (l *lockedReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(p)
}

func (s *Stack) receive() {
	s.err = s.link.receive()
	close(s.stopped)
}

// Addr is the stack's address with its prefix length.
func (s *Stack) Addr() netip.Prefix { return s.config.Addr }

// MAC is the stack's Ethernet address.
func (s *Stack) MAC() [6]byte { return s.config.MAC }

// Stopped is closed when the device's Receive has returned, and with it all hope for more frames;
// Err then says why.
func (s *Stack) Stopped() <-chan struct{} { return s.stopped }

// Err is what the device's Receive returned, nil while it runs.
func (s *Stack) Err() error {
	select {
	case <-s.stopped:
		return s.err
	default:
		return nil
	}
}

// Close ends every connection with a reset, without waiting for anything, and sends nothing more.
// The device stays open, because it is the caller's; frames that it still receives are dropped.
func (s *Stack) Close() { s.gvisor.Destroy() }

// init drops what gVisor would log to standard error. On the node that is the console, whose lines
// are evidence, and a stranger's bad packet is a line there; Stats counts the same events. It must
// come before the first stack, because the logger's field is not guarded, and it must be the field,
// because parts of gVisor have kept the logger since their own init.
func init() { log.Log().Emitter = nowhere{} }

// nowhere is a log.Emitter.
type nowhere struct{}

func (nowhere) Emit(int, log.Level, time.Time, string, ...any) {}
