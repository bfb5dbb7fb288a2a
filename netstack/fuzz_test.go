package netstack

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// How FuzzFrame mends a frame, so that the fuzzer gets behind the checks that random bytes fail.
const (
	mendEthernet  = 1 << iota // destination: the victim
	mendIPv4                  // version, header length, total length, addresses, checksum
	mendTransport             // checksum of TCP or ICMP
)

func mend(how uint16, f []byte, s *Stack, x *stranger) []byte {
	f = slices.Clone(f)
	if how&mendEthernet != 0 && len(f) >= frameHeader {
		mac := s.MAC()
		copy(f, mac[:])
		f[6] &^= 1
	}
	if how&mendIPv4 == 0 || len(f) < frameHeader+header.IPv4MinimumSize {
		return f
	}
	binary.BigEndian.PutUint16(f[12:], typeIPv4)
	ip := header.IPv4(f[frameHeader:])
	words := min(max(ip[0]&0xf, header.IPv4MinimumSize/4), uint8(len(ip)/4))
	ip[0] = 4<<4 | words
	ip.SetTotalLength(uint16(len(ip)))
	ip.SetSourceAddress(x.addr)
	ip.SetDestinationAddress(addressOf(s))
	ip.SetChecksum(0)
	ip.SetChecksum(^ip.CalculateChecksum())
	if how&mendTransport != 0 {
		mendTransportChecksum(ip)
	}
	return f
}

func mendTransportChecksum(ip header.IPv4) {
	message := ip.Payload()
	switch {
	case ip.TransportProtocol() == header.TCPProtocolNumber && len(message) >= header.TCPMinimumSize:
		m := header.TCP(message)
		m.SetChecksum(0)
		sum := header.PseudoHeaderChecksum(
			header.TCPProtocolNumber, ip.SourceAddress(), ip.DestinationAddress(), uint16(len(m)))
		m.SetChecksum(^checksum.Checksum(m, sum))
	case ip.TransportProtocol() == header.ICMPv4ProtocolNumber &&
		len(message) >= header.ICMPv4MinimumSize:
		m := header.ICMPv4(message)
		m.SetChecksum(0)
		m.SetChecksum(^checksum.Checksum(m, 0))
	}
}

// FuzzFrame puts arbitrary frames on the wire of a stack with a listener. Nothing may panic, and
// the stack must answer a ping and a connection request afterwards.
//
// Input: frames behind a uint16 of mending (5 bits, see mend) and length (11 bits).
func FuzzFrame(f *testing.F) {
	s, x := victim(f)
	add := func(how uint16, frames ...[]byte) {
		var data []byte
		for _, frame := range frames {
			data = binary.BigEndian.AppendUint16(data, how<<11|uint16(len(frame)))
			data = append(data, frame...)
		}
		f.Add(data)
	}
	mac := s.MAC()
	fragment := func(offset uint16, more uint8, n int) []byte {
		p := x.packet(s, header.ICMPv4ProtocolNumber, make([]byte, n))
		header.IPv4(p[frameHeader:]).SetFlagsFragmentOffset(more, offset)
		return mend(mendIPv4, p, s, x)
	}
	unreachable := slices.Concat([]byte{3, 4, 0, 0, 0, 0, 0, 0}, // fragmentation needed, MTU 0
		x.segment(s, header.TCPFields{SrcPort: 80, Flags: header.TCPFlagSyn}, nil, nil)[frameHeader:])
	add(0, []byte{})
	add(0, make([]byte, 14), make([]byte, 60), make([]byte, 1514), make([]byte, 2047))
	add(0, frame(mac, x.mac, typeIPv4, 60), frame(broadcast, x.mac, typeARP, 60))
	add(0, x.arpReply(mac, s.Addr().Addr().AsSlice()))
	add(0, fragment(0, header.IPv4FlagMoreFragments, 64), fragment(32, 0, 64)) // they overlap
	add(0, fragment(0, header.IPv4FlagMoreFragments, 64), fragment(65528, 0, 64))
	add(7, x.packet(s, header.ICMPv4ProtocolNumber, unreachable))
	syn := func() []byte {
		return x.segment(s, header.TCPFields{SrcPort: 80, Flags: header.TCPFlagSyn}, nil, nil)
	}
	add(0, from(syn(), addressOf(s)))                            // from itself to itself
	add(0, from(syn(), tcpip.AddrFrom4([4]byte{10, 7, 0, 50})))  // from nobody
	add(0, from(syn(), tcpip.AddrFrom4([4]byte{10, 7, 0, 255}))) // from everybody
	add(0, from(syn(), tcpip.AddrFrom4([4]byte{127, 0, 0, 1})))  // from a host's inside
	add(0, from(syn(), tcpip.AddrFrom4([4]byte{8, 8, 8, 8})))    // from where no route leads
	for _, flags := range []header.TCPFlags{
		0, header.TCPFlagSyn, header.TCPFlagAck, header.TCPFlagRst, header.TCPFlagFin, 0xff,
	} {
		options := []byte{2, 4, 5, 0xb4, 3, 3, 14, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 4, 2}
		request := []byte("GET / HTTP/1.0\r\n\r\n")
		add(7, x.segment(s, header.TCPFields{SrcPort: 1, Flags: flags}, options, request))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, x := victim(t)
		chunks(data, 2047, func(how uint16, piece []byte) { x.send(mend(how, piece, s, x)) })
		x.checkAlive(t, s)
	})
}

// FuzzSegment plays arbitrary TCP segments into a connection, with sequence numbers near the right
// ones and checksums that are right. Nothing may panic, and the stack must stay alive.
//
// Input: segments behind a uint16 of pause (5 bits, in 50 ms) and length (11 bits). A segment is
// flags u8, sequence number i16 and acknowledgement i16 relative to the expected ones, window u16,
// length of the options in words u8, options, payload.
func FuzzSegment(f *testing.F) {
	const head = 8
	add := func(segments ...[]byte) {
		var data []byte
		for _, s := range segments {
			data = binary.BigEndian.AppendUint16(data, 1<<11|uint16(len(s)))
			data = append(data, s...)
		}
		f.Add(data)
	}
	const ack, psh, fin, rst, syn = 0x10, 0x08, 0x01, 0x04, 0x02
	add([]byte{ack | psh, 0, 0, 0, 0, 0x20, 0, 0, 'h', 'i'})
	add([]byte{ack, 0, 0, 0, 0, 0, 0, 0}, []byte{ack, 0, 0, 0, 0, 0xff, 0xff, 0}) // zero window
	add([]byte{ack, 0, 9, 0, 0, 0x20, 0, 0, 'x'}, []byte{ack, 0, 0, 0, 0, 0x20, 0, 0, 'a', 'b', 'c'})
	add([]byte{fin | ack, 0, 0, 0, 0, 0x20, 0, 0}, []byte{fin | ack, 0, 0, 0, 1, 0x20, 0, 0})
	add([]byte{rst, 0, 1, 0, 0, 0, 0, 0}, []byte{syn, 0, 0, 0, 0, 0, 0, 0},
		[]byte{rst, 0, 0, 0, 0, 0, 0, 0})
	add([]byte{ack, 0, 0, 0x7f, 0xff, 0x20, 0, 3, 5, 10, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		s, x := victim(t)
		const ours = 0x7fff_fff0 // the numbers wrap their sign soon
		const port = 62000
		theirs := x.shake(t, s, port, ours)
		chunks(data, 1400, func(pause uint16, p []byte) {
			if len(p) < head {
				return
			}
			words := min(int(p[7]&0xf), 10, (len(p)-head)/4)
			i16 := func(b []byte) uint32 { return uint32(int32(int16(binary.BigEndian.Uint16(b)))) }
			x.send(x.segment(s, header.TCPFields{
				SrcPort: port, Flags: header.TCPFlags(p[0]),
				SeqNum:     ours + 1 + i16(p[1:]),
				AckNum:     theirs + 1 + i16(p[3:]),
				WindowSize: binary.BigEndian.Uint16(p[5:]),
			}, p[head:head+4*words], p[head+4*words:]))
			x.clock.Run(time.Duration(pause) * 50 * time.Millisecond)
		})
		x.clock.Run(20 * time.Second)
		x.checkAlive(t, s)
	})
}
