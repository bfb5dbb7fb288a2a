package netstack

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/log"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"holdfast/netstack/virtual"
)

// stranger is a station without a stack: it puts any bytes on the wire and hears every frame.
type stranger struct {
	clock *virtual.Clock
	port  *virtual.Port
	mac   [6]byte
	addr  tcpip.Address

	mu    sync.Mutex
	heard [][]byte
}

// victim is a stack with a listener on port 80 whose connections are read to their end, and the
// stranger on its wire. Its address is 10.7.0.10, the stranger's 10.7.0.99.
func victim(t testing.TB) (*Stack, *stranger) {
	clock := virtual.NewClock(t)
	wire := virtual.NewWire(clock, latency)
	s := host(t, clock, wire, 10, productTCP)
	x := &stranger{
		clock: clock, port: wire.Port(),
		mac: [6]byte{2, 0, 0, 0, 0, 99}, addr: tcpip.AddrFrom4([4]byte{10, 7, 0, 99}),
	}
	go x.port.Receive(x.hear)
	t.Cleanup(x.port.Close)
	l, err := s.Listen(80)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(io.Discard, c); c.Close() }()
		}
	}()
	t.Cleanup(func() { l.Close() })
	return s, x
}

// hear answers every question for the stranger's Ethernet address and keeps the rest.
func (x *stranger) hear(frame []byte) {
	if e := header.Ethernet(frame); e.Type() == header.ARPProtocolNumber {
		a := header.ARP(frame[frameHeader:])
		if a.Op() == header.ARPRequest && tcpip.AddrFrom4Slice(a.ProtocolAddressTarget()) == x.addr {
			x.send(x.arpReply([6]byte(a.HardwareAddressSender()), a.ProtocolAddressSender()))
		}
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.heard = append(x.heard, slices.Clone(frame))
}

func (x *stranger) arpReply(to [6]byte, toAddr []byte) []byte {
	f := frame(to, x.mac, typeARP, frameHeader+header.ARPSize)
	a := header.ARP(f[frameHeader:])
	a.SetIPv4OverEthernet()
	a.SetOp(header.ARPReply)
	copy(a.HardwareAddressSender(), x.mac[:])
	copy(a.ProtocolAddressSender(), x.addr.AsSlice())
	copy(a.HardwareAddressTarget(), to[:])
	copy(a.ProtocolAddressTarget(), toAddr)
	return f
}

func (x *stranger) send(frame []byte) { x.port.Send([][]byte{frame}) }

// expect runs the clock until a frame is heard for which match is true, and takes it.
func (x *stranger) expect(match func(ip header.IPv4) bool) (header.IPv4, bool) {
	var found header.IPv4
	ok := x.clock.RunUntil(5*time.Second, func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, f := range x.heard {
			if ip := header.IPv4(f[frameHeader:]); ip.IsValid(len(ip)) && match(ip) {
				found = ip
				return true
			}
		}
		return false
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	x.heard = nil
	return found, ok
}

// packet wraps a transport message for the victim in IPv4 and Ethernet.
func (x *stranger) packet(s *Stack, protocol tcpip.TransportProtocolNumber, message []byte) []byte {
	f := frame(s.MAC(), x.mac, typeIPv4, frameHeader+header.IPv4MinimumSize)
	f = append(f, message...)
	ip := header.IPv4(f[frameHeader:])
	ip.Encode(&header.IPv4Fields{
		TotalLength: uint16(len(ip)), TTL: 64, Protocol: uint8(protocol),
		SrcAddr: x.addr, DstAddr: addressOf(s),
	})
	ip.SetChecksum(^ip.CalculateChecksum())
	return f
}

func addressOf(s *Stack) tcpip.Address { return tcpip.AddrFrom4(s.Addr().Addr().As4()) }

// segment is a TCP segment for the victim's port 80, with a checksum that is right.
func (x *stranger) segment(s *Stack, fields header.TCPFields, options, payload []byte) []byte {
	fields.DstPort = 80
	fields.DataOffset = uint8(header.TCPMinimumSize + len(options))
	m := header.TCP(slices.Concat(make([]byte, header.TCPMinimumSize), options, payload))
	m.Encode(&fields)
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, x.addr, addressOf(s), uint16(len(m)))
	m.SetChecksum(^checksum.Checksum(m, sum))
	return x.packet(s, header.TCPProtocolNumber, m)
}

// shake makes a connection from the given port and returns the victim's initial sequence number;
// the stranger's is ours.
func (x *stranger) shake(t testing.TB, s *Stack, port uint16, ours uint32) (theirs uint32) {
	t.Helper()
	x.send(x.segment(s, header.TCPFields{
		SrcPort: port, SeqNum: ours, Flags: header.TCPFlagSyn, WindowSize: 8192,
	}, nil, nil))
	answer, ok := x.expect(func(ip header.IPv4) bool {
		m := header.TCP(ip.Payload())
		return ip.Protocol() == uint8(header.TCPProtocolNumber) && m.DestinationPort() == port &&
			m.Flags() == header.TCPFlagSyn|header.TCPFlagAck && m.AckNumber() == ours+1
	})
	if !ok {
		t.Fatal("a connection request is not answered")
	}
	theirs = header.TCP(answer.Payload()).SequenceNumber()
	x.send(x.segment(s, header.TCPFields{
		SrcPort: port, SeqNum: ours + 1, AckNum: theirs + 1, Flags: header.TCPFlagAck, WindowSize: 8192,
	}, nil, nil))
	x.clock.Run(time.Second)
	return theirs
}

// ping expects the victim to answer an echo request.
func (x *stranger) ping(t testing.TB, s *Stack) {
	t.Helper()
	const ident = 0x4846
	m := header.ICMPv4(make([]byte, header.ICMPv4MinimumSize+8))
	m.SetType(header.ICMPv4Echo)
	m.SetIdent(ident)
	m.SetChecksum(^checksum.Checksum(m, 0))
	x.send(x.packet(s, header.ICMPv4ProtocolNumber, m))
	if _, ok := x.expect(func(ip header.IPv4) bool {
		m := header.ICMPv4(ip.Payload())
		return ip.Protocol() == uint8(header.ICMPv4ProtocolNumber) &&
			m.Type() == header.ICMPv4EchoReply && m.Ident() == ident
	}); !ok {
		t.Fatal("a ping is not answered")
	}
}

// checkAlive is what a stack must still do after anything at all has arrived.
func (x *stranger) checkAlive(t testing.TB, s *Stack) {
	t.Helper()
	x.clock.Run(5 * time.Second) // what it set off comes out, failed address resolution included
	x.ping(t, s)
	x.shake(t, s, 61000, 0x10000000)
	if err := s.Err(); err != nil {
		t.Fatalf("the device stopped: %v", err)
	}
}

// chunks cuts fuzz input into pieces of at most limit bytes, each behind a big-endian uint16 whose
// low 11 bits are its length; the rest of that number is handed on.
func chunks(data []byte, limit int, each func(head uint16, piece []byte)) {
	for len(data) >= 2 {
		head := binary.BigEndian.Uint16(data)
		n := min(int(head&0x7ff), limit, len(data)-2)
		each(head>>11, data[2:2+n])
		data = data[2+n:]
	}
}

// from rewrites a packet's source address.
func from(packet []byte, addr tcpip.Address) []byte {
	ip := header.IPv4(packet[frameHeader:])
	sum := uint32(fold(sum16(addr.AsSlice()))) + 0xffff - uint32(fold(sum16(ip[12:16])))
	if ip.TransportProtocol() == header.TCPProtocolNumber { // its checksum covers the addresses
		m := header.TCP(ip.Payload())
		m.SetChecksum(^fold(uint32(^m.Checksum()) + sum))
	}
	ip.SetSourceAddress(addr)
	ip.SetChecksum(0)
	ip.SetChecksum(^ip.CalculateChecksum())
	return packet
}

func TestAFloodOfConnectionRequestsEndsNoService(t *testing.T) {
	s, x := victim(t)
	for i := range 20 * backlog {
		syn := x.segment(s, header.TCPFields{
			SrcPort: uint16(1024 + i), Flags: header.TCPFlagSyn, WindowSize: 8192,
		}, nil, nil)
		if i%2 == 0 { // half of them from hosts that are not there
			syn = from(syn, tcpip.AddrFrom4([4]byte{10, 7, 0, byte(100 + i%100)}))
		}
		x.send(syn)
	}
	x.clock.Run(10 * time.Millisecond)
	if got := s.Stats(); got.RequestsDropped != 10*backlog-requestBurst {
		t.Errorf("%d requests of the one that is there were dropped", got.RequestsDropped)
	}
	x.clock.Run(requestBurst * requestEvery) // it may ask again, and nothing has timed out yet
	x.ping(t, s)
	x.shake(t, s, 61000, 0x10000000)
	if got := s.Stats(); got.ConnectionsAccepted != 1 || got.SegmentsInvalid != 0 {
		t.Errorf("statistics %+v", got)
	}
}

// The test looks at a program's standard error as a whole, so that it runs itself as one.
func TestAStrangerMakesTheConsoleNoNoise(t *testing.T) {
	const inside = "NETSTACK_TEST_INSIDE"
	if os.Getenv(inside) != "" {
		s, x := victim(t)
		syn := x.segment(s, header.TCPFields{SrcPort: 80, Flags: header.TCPFlagSyn}, nil, nil)
		x.send(from(syn, tcpip.AddrFrom4([4]byte{127, 0, 0, 1}))) // gVisor logs it as Martian
		x.clock.Run(time.Second)
		log.Warningf("a warning of gVisor's")
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), inside+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if out, err := cmd.Output(); err != nil || stderr.Len() != 0 {
		t.Errorf("%v, standard error %q, output %q", err, stderr.Bytes(), out)
	}
}

func TestAStackAnswersAStranger(t *testing.T) {
	s, x := victim(t)
	x.checkAlive(t, s)
	if got := s.Stats(); got.PacketsMalformed+got.SegmentsInvalid+got.FramesMalformed != 0 {
		t.Errorf("well-formed traffic was dropped: %+v", got)
	}
}
