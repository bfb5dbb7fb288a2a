package netstack

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"pgregory.net/rapid"
)

// part describes a TCP segment that arrives.
type part struct {
	host    byte   // the sender's address, 10.7.0.host; 0: 11
	port    uint16 // the sender's, which tells flows apart
	seq     uint32
	ack     uint32
	flags   header.TCPFlags
	window  uint16
	options []byte
	data    []byte
	damage  int // this byte of the packet is flipped on its way; 0: none
	padding int // Ethernet's, behind the packet
	ttl     uint8
	tos     uint8
}

// packet is the part as an IPv4 packet to 10.7.0.10.
func (p part) packet() []byte {
	n := header.IPv4MinimumSize + header.TCPMinimumSize + len(p.options)
	b := append(make([]byte, n), p.data...)
	src := tcpip.AddrFrom4([4]byte{10, 7, 0, cmp.Or(p.host, 11)})
	dst := tcpip.AddrFrom4([4]byte{10, 7, 0, 10})
	ip := header.IPv4(b)
	ip.Encode(&header.IPv4Fields{
		TotalLength: uint16(len(b)), ID: uint16(p.seq), TTL: 64 + p.ttl, TOS: p.tos,
		Protocol: uint8(header.TCPProtocolNumber), SrcAddr: src, DstAddr: dst,
	})
	ip.SetChecksum(^ip.CalculateChecksum())
	t := header.TCP(b[header.IPv4MinimumSize:])
	t.Encode(&header.TCPFields{
		SrcPort: p.port, DstPort: 80, SeqNum: p.seq, AckNum: p.ack, Flags: p.flags,
		WindowSize: p.window, DataOffset: uint8(header.TCPMinimumSize + len(p.options)),
	})
	copy(t[header.TCPMinimumSize:], p.options)
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, src, dst, uint16(len(t)))
	t.SetChecksum(^checksum.Checksum(t, sum))
	if p.damage != 0 {
		b[p.damage] ^= 0x10
	}
	return append(b, make([]byte, p.padding)...)
}

// top is the network layer above a link under test: it keeps the packets.
type top struct{ packets [][]byte }

func (o *top) DeliverNetworkPacket(_ tcpip.NetworkProtocolNumber, p *stack.PacketBuffer) {
	b := p.ToBuffer()
	defer b.Release()
	o.packets = append(o.packets, b.Flatten())
}

func (o *top) DeliverLinkPacket(tcpip.NetworkProtocolNumber, *stack.PacketBuffer) {}

var coalesceMAC = [6]byte{2, 0, 0, 0, 0, 10}

// up sends parts through a link in one burst and returns what came out.
func up(parts ...part) [][]byte {
	l, o := newLink(nil, coalesceMAC), new(top)
	l.Attach(o)
	l.bursts = true
	for _, p := range parts {
		l.deliver(append(frame(coalesceMAC, [6]byte{2, 0, 0, 0, 0, 11}, typeIPv4, 0), p.packet()...))
	}
	l.flush()
	return o.packets
}

// intact reports whether the checksums of a packet with TCP are right.
func intact(packet []byte) bool {
	ip := header.IPv4(packet)
	if !ip.IsValid(len(packet)) || !ip.IsChecksumValid() {
		return false
	}
	t := header.TCP(ip.Payload())
	sum := header.PseudoHeaderChecksum(
		header.TCPProtocolNumber, ip.SourceAddress(), ip.DestinationAddress(), uint16(len(t)))
	return checksum.Checksum(t, sum) == 0xffff
}

func text(s string) []byte { return []byte(s) }

const ackFlag, pushFlag = header.TCPFlagAck, header.TCPFlagPsh

func TestNeighboursInABurstAreJoined(t *testing.T) {
	d := func(seq uint32, s string) part { return part{seq: seq, flags: ackFlag, data: text(s)} }
	a := func(ack uint32) part { return part{ack: ack, flags: ackFlag} }
	with := func(p part, change func(*part)) part { change(&p); return p }
	for _, c := range []struct {
		name  string
		parts []part
		want  string // what comes out: sequence number, acknowledgement, data
	}{
		{"one", []part{d(100, "abcd")}, "100/0 abcd"},
		{"two", []part{d(100, "abcd"), d(104, "ef")}, "100/0 abcdef"},
		{"across the wrap of numbers", []part{d(0xfffffffe, "abcd"), d(2, "ef")}, "4294967294/0 abcdef"},
		{"an odd one ends it", []part{d(1, "abc"), d(4, "de"), d(6, "f")}, "1/0 abc, 4/0 def"},
		{"an odd one at the end", []part{d(1, "ab"), d(3, "cde")}, "1/0 abcde"},
		{"a gap", []part{d(1, "ab"), d(4, "cd")}, "1/0 ab, 4/0 cd"},
		{"a repetition", []part{d(1, "ab"), d(1, "ab")}, "1/0 ab, 1/0 ab"},
		{"an overlap", []part{d(1, "abcd"), d(3, "cdef")}, "1/0 abcd, 3/0 cdef"},
		{"two flows", []part{d(1, "ab"), with(d(1, "xy"), func(p *part) { p.port = 1 }), d(3, "cd")},
			"1/0 ab, 1/0 xy, 3/0 cd"},
		{"push ends it", []part{
			d(1, "ab"), with(d(3, "cd"), func(p *part) { p.flags |= pushFlag }), d(5, "ef")},
			"1/0 abcd push, 5/0 ef"},
		{"push alone", []part{with(d(1, "ab"), func(p *part) { p.flags |= pushFlag }), d(3, "cd")},
			"1/0 ab push, 3/0 cd"},
		{"another window", []part{d(1, "ab"), with(d(3, "cd"), func(p *part) { p.window = 9 })},
			"1/0 ab, 3/0 cd"},
		{"another acknowledgement", []part{d(1, "ab"), with(d(3, "cd"), func(p *part) { p.ack = 9 })},
			"1/0 ab, 3/9 cd"},
		{"another host", []part{d(1, "ab"), with(d(3, "cd"), func(p *part) { p.host = 12 })},
			"1/0 ab, 3/0 cd"},
		{"another TOS", []part{d(1, "ab"), with(d(3, "cd"), func(p *part) { p.tos = 4 })},
			"1/0 ab, 3/0 cd"},
		{"another TTL", []part{d(1, "ab"), with(d(3, "cd"), func(p *part) { p.ttl = 1 })},
			"1/0 ab, 3/0 cd"},
		{"a fin", []part{d(1, "ab"), with(d(3, "cd"), func(p *part) { p.flags |= header.TCPFlagFin })},
			"1/0 ab, 3/0 cd fin"},
		{"no ack flag", []part{d(1, "ab"), with(d(3, "cd"), func(p *part) { p.flags = pushFlag })},
			"1/0 ab, 3/0 cd push"},
		{"padding is no data", []part{
			with(d(1, "ab"), func(p *part) { p.padding = 4 }),
			with(d(3, "cd"), func(p *part) { p.padding = 2 })}, "1/0 abcd"},
		{"acknowledgements", []part{a(5), a(7), a(9)}, "0/9"},
		{"acknowledgements across the wrap", []part{a(0xffffffff), a(3)}, "0/3"},
		{"repeated acknowledgements", []part{a(5), a(7), a(7), a(7)}, "0/7, 0/7, 0/7"},
		{"an old acknowledgement", []part{a(7), a(5)}, "0/7, 0/5"},
		{"a new window", []part{a(7), with(a(9), func(p *part) { p.window = 1 })}, "0/7, 0/9"},
		{"data and an acknowledgement of more", []part{
			d(1, "ab"), with(a(5), func(p *part) { p.seq = 1 })}, "1/0 ab, 1/5"},
		{"an acknowledgement that data goes on from", []part{
			with(a(5), func(p *part) { p.seq = 1 }), with(d(1, "ab"), func(p *part) { p.ack = 5 })},
			"1/5 ab"},
		{"an acknowledgement and data", []part{a(5), d(1, "ab"), d(3, "cd"), a(5), a(6)},
			"0/5, 1/0 abcd, 0/6"},
	} {
		var got []string
		for _, b := range up(c.parts...) {
			if !intact(b) {
				t.Errorf("%s: a checksum is wrong", c.name)
			}
			got = append(got, show(b))
		}
		if s := fmt.Sprint(got); s != fmt.Sprint([]string{c.want}) &&
			s != "["+string(bytes.ReplaceAll([]byte(c.want), []byte(", "), []byte(" ")))+"]" {
			t.Errorf("%s: came out %q, want %s", c.name, got, c.want)
		}
	}
}

// show is a packet as the table has it.
func show(packet []byte) string {
	m := header.TCP(header.IPv4(packet).Payload())
	s := fmt.Sprintf("%d/%d", m.SequenceNumber(), m.AckNumber())
	if len(m.Payload()) != 0 {
		s += " " + string(m.Payload())
	}
	if m.Flags()&pushFlag != 0 {
		s += " push"
	}
	if m.Flags()&header.TCPFlagFin != 0 {
		s += " fin"
	}
	return s
}

func TestOnlyPlainWholeSegmentsAreJoined(t *testing.T) {
	good := part{flags: ackFlag, data: text("abcdefgh")}.packet()
	if s := new(segment); !s.parse(good, len(good)) || s.payload != 8 || s.headers != 40 {
		t.Fatalf("a plain segment is not taken: %+v", s)
	}
	for name, change := range map[string]func(ip header.IPv4){
		"IPv6":                        func(ip header.IPv4) { ip[0] = 6<<4 | 5 },
		"IP options":                  func(ip header.IPv4) { ip[0] = 4<<4 | 6 },
		"a short IP header":           func(ip header.IPv4) { ip[0] = 4<<4 | 4 },
		"a first fragment":            func(ip header.IPv4) { ip[6] |= 0x20 },
		"a later fragment":            func(ip header.IPv4) { ip[7] = 1 },
		"UDP":                         func(ip header.IPv4) { ip[9] = 17 },
		"more than there is":          func(ip header.IPv4) { ip.SetTotalLength(uint16(len(good) + 1)) },
		"less than its headers":       func(ip header.IPv4) { ip.SetTotalLength(39) },
		"a TCP header behind the end": func(ip header.IPv4) { ip[32] = 0xf0 },
		"a TCP header of 16 bytes":    func(ip header.IPv4) { ip[32] = 0x40 },
		"a SYN":                       func(ip header.IPv4) { ip[33] |= 2 },
		"a reset":                     func(ip header.IPv4) { ip[33] |= 4 },
		"an urgent pointer":           func(ip header.IPv4) { ip[33] |= 0x20 },
		"a congestion echo":           func(ip header.IPv4) { ip[33] |= 0x40 },
	} {
		b := slices.Clone(good)
		change(b)
		header.IPv4(b).SetChecksum(0)
		header.IPv4(b).SetChecksum(^fold(sum16(b[:20])))
		if s := new(segment); s.parse(b, len(b)) {
			t.Errorf("%s is taken", name)
		}
	}
	for n := range good {
		if s := new(segment); s.parse(good[:n], n) {
			t.Errorf("%d bytes of it are taken", n)
		}
	}
	good[8]-- // as if a router had forgotten the checksum
	if s := new(segment); s.parse(good, len(good)) {
		t.Error("a damaged IP header is taken")
	}
}

func TestABroadcastIsNotJoined(t *testing.T) {
	l, o := newLink(nil, coalesceMAC), new(top)
	l.Attach(o)
	l.bursts = true
	for seq := range uint32(2) {
		p := part{seq: seq * 2, flags: ackFlag, data: text("ab")}
		l.deliver(append(frame(broadcast, [6]byte{2}, typeIPv4, 0), p.packet()...))
		if len(o.packets) != int(seq)+1 {
			t.Errorf("%d packets went up after %d", len(o.packets), seq+1)
		}
	}
}

func TestAJoinedPacketHasALargestSize(t *testing.T) {
	const n, size = 60, 1460
	var parts []part
	for i := range n {
		parts = append(parts, part{
			seq: uint32(i * size), flags: ackFlag, data: bytes.Repeat([]byte{byte(i)}, size),
		})
	}
	next := uint32(0)
	out := up(parts...)
	for _, b := range out {
		m := header.TCP(header.IPv4(b).Payload())
		if len(b) > joinedMax || !intact(b) || m.SequenceNumber() != next {
			t.Errorf("%d bytes at %d, intact %v", len(b), m.SequenceNumber(), intact(b))
		}
		next += uint32(len(m.Payload()))
	}
	if next != n*size || len(out) != 3 {
		t.Errorf("%d bytes in %d packets", next, len(out))
	}
}

// Any burst: what comes out is what went in, in groups of neighbours that may be joined, in order;
// and it is damaged exactly when a part of it is.
func TestJoiningLosesAndInventsNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var in []part
		next := map[uint16]uint32{}
		for range rapid.IntRange(1, 40).Draw(r, "parts") {
			p := part{
				port:  uint16(rapid.IntRange(1, 2).Draw(r, "port")),
				ack:   uint32(rapid.IntRange(0, 3).Draw(r, "ack")),
				flags: ackFlag, ttl: uint8(rapid.IntRange(0, 20).Draw(r, "ttl") / 20),
				padding: rapid.IntRange(0, 3).Draw(r, "padding"),
			}
			p.data = rapid.SliceOfN(rapid.Byte(), 0, 6).Draw(r, "data")
			p.seq = next[p.port] + uint32(rapid.IntRange(0, 8).Draw(r, "gap")/8)
			next[p.port] = p.seq + uint32(len(p.data))
			switch rapid.IntRange(0, 9).Draw(r, "kind") {
			case 0:
				p.flags |= pushFlag
			case 1:
				p.flags |= header.TCPFlagFin
			case 2:
				p.options = []byte{1, 1, 8, 10, 0, 0, 0, byte(len(in) / 8), 0, 0, 0, 0}
			case 3:
				last := header.IPv4MinimumSize + header.TCPMinimumSize + len(p.data) - 1
				p.damage = rapid.IntRange(1, last).Draw(r, "damage")
			}
			in = append(in, p)
		}
		rest := in
		for _, b := range up(in...) {
			n, why := group(b, rest)
			if n == 0 {
				r.Fatalf("%s is not what %d parts before the end say: %s", show(b), len(rest), why)
			}
			damaged := slices.ContainsFunc(rest[:n], func(p part) bool { return p.damage != 0 })
			if pureAck(rest[n-1].packet()) {
				damaged = rest[n-1].damage != 0 // it stands for itself
			}
			if intact(unpadded(b)) == damaged {
				r.Fatalf("%s: damaged %v, intact %v", show(b), damaged, !damaged)
			}
			rest = rest[n:]
		}
		if len(rest) != 0 {
			r.Fatalf("%d parts did not come out", len(rest))
		}
	})
}

// unpadded is a packet without Ethernet's padding, as long as its header says if that is possible.
func unpadded(b []byte) []byte {
	n := int(header.IPv4(b).TotalLength())
	return b[:min(max(n, header.IPv4MinimumSize), len(b))]
}

func pureAck(packet []byte) bool {
	m := header.TCP(packet[header.IPv4MinimumSize:])
	return m.Flags()&^pushFlag == ackFlag && binary.BigEndian.Uint16(packet[2:]) ==
		uint16(header.IPv4MinimumSize+int(m.DataOffset()))
}

// group is how many of the first parts went into a packet that came out, 0 and a reason when it is
// none of the ways in which they may.
func group(out []byte, parts []part) (n int, why string) {
	if bytes.Equal(out, parts[0].packet()) || bytes.Equal(out, unpadded(parts[0].packet())) {
		return 1, ""
	}
	if pureAck(out) {
		for n, p := range parts {
			if bytes.Equal(out, unpadded(p.packet())) {
				return n + 1, ""
			}
			m := header.TCP(p.packet()[header.IPv4MinimumSize:])
			if !pureAck(p.packet()) || m.AckNumber() >= header.TCP(out[20:]).AckNumber() {
				return 0, "an acknowledgement replaced something else"
			}
		}
		return 0, "an acknowledgement from nowhere"
	}
	m := header.TCP(out[header.IPv4MinimumSize:])
	data := out[header.IPv4MinimumSize+int(m.DataOffset()):]
	seq := m.SequenceNumber()
	for n, p := range parts {
		q := unpadded(p.packet())
		t := header.TCP(q[header.IPv4MinimumSize:])
		if t.SourcePort() != m.SourcePort() || t.SequenceNumber() != seq ||
			!bytes.HasPrefix(data, q[header.IPv4MinimumSize+int(t.DataOffset()):]) {
			return 0, fmt.Sprintf("part %d is another one", n)
		}
		got := q[header.IPv4MinimumSize+int(t.DataOffset()):]
		data, seq = data[len(got):], seq+uint32(len(got))
		if len(data) == 0 {
			return n + 1, ""
		}
	}
	return 0, "more data than there was"
}
