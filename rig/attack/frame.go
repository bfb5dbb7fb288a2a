package attack

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"holdfast/rig/provision"
)

const (
	etherLen = header.EthernetMinimumSize
	ipLen    = header.IPv4MinimumSize
	frameMax = etherLen + 1500
)

// frames sends frames that are wrong in one way or another.
func frames(x *assault) {
	x.paced(func(r *rand.Rand) {
		x.offered.Add(1)
		x.port.Send([][]byte{x.frame(r)})
	})
}

// frame draws a frame: noise behind an Ethernet header, or a good message with one thing wrong.
func (x *assault) frame(r *rand.Rand) []byte {
	body := make([]byte, r.IntN(frameMax-etherLen+1))
	for i := range body {
		body[i] = byte(r.Uint32())
	}
	kind := uint16(header.IPv4ProtocolNumber)
	switch r.IntN(8) {
	case 0:
		kind = uint16(r.Uint32()) // of a type that nobody has, or a length
	case 1:
		kind, body = uint16(header.ARPProtocolNumber), x.arp(r, body)
	case 2: // noise as it is
	case 3:
		body = x.segment(r, body[:0], header.TCPFlagSyn, x.nobody(r))
	case 4:
		body = x.segment(r, body, header.TCPFlags(r.Uint32()), provision.Attacker.Addr())
	case 5:
		body = x.fragment(r, body)
	case 6:
		body = x.packet(r, body, uint8(r.Uint32()), provision.Attacker.Addr())
	case 7:
		body = x.segment(r, body, header.TCPFlagAck, provision.Attacker.Addr())
		body[r.IntN(len(body))] ^= byte(1 + r.IntN(255))
		body = body[:r.IntN(len(body)+1)]
	}
	own := provision.MAC(provision.Attacker)
	f := append(x.target.MAC[:], own[:]...)
	if r.IntN(16) == 0 {
		f = append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, own[:]...)
	}
	return append(binary.BigEndian.AppendUint16(f, kind), body...)
}

// arp is a message about the station's own address, with one thing wrong.
func (x *assault) arp(r *rand.Rand, noise []byte) []byte {
	m := make(header.ARP, header.ARPSize)
	m.SetIPv4OverEthernet()
	m.SetOp(header.ARPOp(r.IntN(4)))
	own := provision.MAC(provision.Attacker)
	copy(m.HardwareAddressSender(), own[:])
	copy(m.ProtocolAddressSender(), provision.Attacker.Addr().AsSlice())
	copy(m.ProtocolAddressTarget(), x.target.Address.AsSlice())
	m[r.IntN(8)] ^= byte(r.IntN(256)) // the lengths and types, not the addresses
	return append(m, noise...)[:min(len(m)+len(noise), r.IntN(2*header.ARPSize))]
}

// nobody is an address of the Ethernet that no station has.
func (x *assault) nobody(r *rand.Rand) netip.Addr {
	a := provision.Attacker.Addr().As4()
	a[3] = byte(128 + r.IntN(100))
	return netip.AddrFrom4(a)
}

// packet is an IPv4 packet to the target with a header that is right.
func (x *assault) packet(
	r *rand.Rand, payload []byte, protocol uint8, from netip.Addr,
) []byte {
	payload = payload[:min(len(payload), frameMax-etherLen-ipLen)]
	b := make(header.IPv4, ipLen+len(payload))
	b.Encode(&header.IPv4Fields{
		TotalLength: uint16(len(b)), ID: uint16(r.Uint32()), TTL: 64, Protocol: protocol,
		SrcAddr: address(from), DstAddr: address(x.target.Address),
	})
	copy(b.Payload(), payload)
	b.SetChecksum(^b.CalculateChecksum())
	return b
}

// fragment is a part of a packet whose other parts never come.
func (x *assault) fragment(r *rand.Rand, payload []byte) []byte {
	b := header.IPv4(x.packet(r, payload, uint8(header.TCPProtocolNumber),
		provision.Attacker.Addr()))
	b.SetFlagsFragmentOffset(header.IPv4FlagMoreFragments, uint16(r.IntN(1<<13))<<3)
	b.SetChecksum(0)
	b.SetChecksum(^b.CalculateChecksum())
	return b
}

// segment is a TCP segment to one of the target's ports, with a checksum that is right.
func (x *assault) segment(
	r *rand.Rand, payload []byte, flags header.TCPFlags, from netip.Addr,
) []byte {
	payload = payload[:min(len(payload), frameMax-etherLen-ipLen-header.TCPMinimumSize)]
	port := uint16(httpPort)
	if r.IntN(2) == 0 {
		port = meshPort
	}
	t := make(header.TCP, header.TCPMinimumSize+len(payload))
	t.Encode(&header.TCPFields{
		SrcPort: uint16(1 + r.IntN(1<<16-1)), DstPort: port, SeqNum: r.Uint32(), AckNum: r.Uint32(),
		DataOffset: header.TCPMinimumSize, Flags: flags, WindowSize: uint16(r.Uint32()),
	})
	copy(t[header.TCPMinimumSize:], payload)
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, address(from),
		address(x.target.Address), uint16(len(t)))
	t.SetChecksum(^checksum.Checksum(t, sum))
	return x.packet(r, t, uint8(header.TCPProtocolNumber), from)
}

func address(a netip.Addr) tcpip.Address { return tcpip.AddrFrom4(a.As4()) }
