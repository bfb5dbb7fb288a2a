package netstack

import (
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// Most of what a TCP segment costs is its way through the layers, which is the same for a large one
// and a small one. When a device has several frames waiting, two kinds of neighbours among them are
// therefore joined before they go up:
//
//   - segments with data, each of which continues the one before: one segment with all the data
//   - pure acknowledgements, each of which acknowledges more: the last one says it all
//
// Both are what a receiver that was a little late would have seen or could have been sent. Whatever
// does not fit exactly goes up as it is, behind what was held back, so that nothing overtakes.
// Nothing is held when the device has no more frames waiting.
//
// No checksum is trusted that was not there: the joined segment's is derived from the checksums of
// its parts, so that a part which arrived damaged makes the whole wrong, and TCP finds it.
type coalescer struct {
	view   *buffer.View // the IPv4 packet that is held back; nil: none
	first  segment      // its header, as it came
	next   uint32       // the sequence number that continues it
	joined bool         // it has the data of several
	sum    uint32       // joined: one's complement sum of the data, by the parts' checksums
	pushed bool         // joined: the last part ended its sender's burst
}

// joinedMax is where a joined packet ends, in bytes; IPv4 allows 65,535.
const joinedMax = 32 << 10

// segment is an IPv4 header without options and the TCP header behind it.
type segment struct {
	bytes   [header.IPv4MinimumSize + header.TCPHeaderMaximumSize]byte
	headers int // length of both
	payload int // bytes behind them
}

// segmentHead is how much of a frame the coalescer wants to see.
const segmentHead = header.IPv4MinimumSize + header.TCPHeaderMaximumSize

func (s *segment) ip() header.IPv4 { return s.bytes[:header.IPv4MinimumSize] }
func (s *segment) tcp() header.TCP { return s.bytes[header.IPv4MinimumSize:s.headers] }

// Offsets in a TCP header (RFC 9293 section 3.1).
const (
	tcpSequence = 4
	tcpAck      = 8
	tcpFlags    = 13
	tcpChecksum = 16
)

// parse takes the headers of a packet of n bytes, of which head has the first segmentHead. It
// reports whether the packet can be joined to others: a whole IPv4 packet without options, whose
// header is intact, with a TCP segment that has the ACK flag and perhaps PSH, but no other one.
func (s *segment) parse(head []byte, n int) bool {
	if len(head) < header.IPv4MinimumSize+header.TCPMinimumSize {
		return false
	}
	ip := header.IPv4(head)
	const (
		plain    = 4<<4 | header.IPv4MinimumSize/4 // version, header length
		fragment = 0x3fff                          // more of them, and where this one belongs
	)
	total := int(ip.TotalLength())
	if head[0] != plain || ip.Protocol() != uint8(header.TCPProtocolNumber) ||
		binary.BigEndian.Uint16(head[6:])&fragment != 0 || total > n {
		return false
	}
	s.headers = header.IPv4MinimumSize + int(head[header.IPv4MinimumSize+12]>>4)*4
	s.payload = total - s.headers
	if s.headers < header.IPv4MinimumSize+header.TCPMinimumSize || s.payload < 0 {
		return false
	}
	copy(s.bytes[:], head[:s.headers])
	flags := s.bytes[header.IPv4MinimumSize+tcpFlags]
	return flags&^uint8(header.TCPFlagPsh) == uint8(header.TCPFlagAck) &&
		fold(sum16(s.ip())) == 0xffff
}

// push reports the PSH flag: the sender has nothing more to send for the moment.
func (s *segment) push() bool { return s.tcp()[tcpFlags]&uint8(header.TCPFlagPsh) != 0 }

// sameBut reports whether two segments have the same headers, but for the four bytes at an offset
// of the TCP header, and for what is bound to differ: the packet's length and identification, PSH,
// the checksums.
func (s *segment) sameBut(o *segment, offset int) bool {
	if s.headers != o.headers {
		return false
	}
	a, b := s.ip(), o.ip()
	if a[1] != b[1] || a[8] != b[8] || // TOS, TTL
		[8]byte(a[12:20]) != [8]byte(b[12:20]) { // addresses
		return false
	}
	x, y := s.tcp(), o.tcp()
	for i := range x {
		if x[i] == y[i] || i >= offset && i < offset+4 || i == tcpChecksum || i == tcpChecksum+1 {
			continue
		}
		if i != tcpFlags || (x[i]^y[i])&^uint8(header.TCPFlagPsh) != 0 {
			return false
		}
	}
	return true
}

// headerSum is the one's complement sum of what the TCP checksum covers besides the payload.
func (s *segment) headerSum() uint32 {
	t := s.tcp()
	return sum16(s.ip()[12:20]) + uint32(header.TCPProtocolNumber) +
		uint32(len(t)+s.payload) + sum16(t[:tcpChecksum]) + sum16(t[tcpChecksum+2:])
}

// payloadSum is the sum of the payload, if the checksum is right.
func (s *segment) payloadSum() uint32 {
	return uint32(^s.tcp().Checksum()) + 0xffff - uint32(fold(s.headerSum()))
}

// add takes a packet, whose headers are in s, if it can be held back or joined to what is. If it
// reports false, what is held must go up before the packet does.
func (c *coalescer) add(s *segment, packet []byte) bool {
	switch {
	case c.view == nil:
		return c.begin(s, packet)
	case s.payload == 0:
		return c.replace(s, packet)
	}
	return c.extend(s, packet)
}

// begin holds a first packet back, unless it ends its sender's burst.
func (c *coalescer) begin(s *segment, packet []byte) bool {
	if s.payload != 0 && s.push() {
		return false
	}
	c.hold(s, packet, buffer.NewView(s.headers+s.payload))
	return true
}

func (c *coalescer) hold(s *segment, packet []byte, v *buffer.View) {
	v.Write(packet[:s.headers+s.payload])
	c.view, c.first, c.joined, c.pushed = v, *s, false, false
	c.next = s.tcp().SequenceNumber() + uint32(s.payload)
}

// replace takes an acknowledgement of more instead of the one that is held.
func (c *coalescer) replace(s *segment, packet []byte) bool {
	more := int32(s.tcp().AckNumber() - c.first.tcp().AckNumber())
	if c.first.payload != 0 || more <= 0 || !s.sameBut(&c.first, tcpAck) {
		return false
	}
	c.view.Reset()
	c.hold(s, packet, c.view)
	return true
}

// extend appends the data of a segment to that of the ones before.
func (c *coalescer) extend(s *segment, packet []byte) bool {
	switch held := c.view.Size() - c.first.headers; {
	case s.tcp().SequenceNumber() != c.next || !s.sameBut(&c.first, tcpSequence):
		return false
	case held%2 != 0: // the sums of what follows would have their bytes swapped
		return false
	case c.view.Size()+s.payload > joinedMax:
		return false
	}
	if !c.joined {
		c.joined, c.sum = true, c.first.payloadSum()
	}
	c.sum += s.payloadSum()
	c.next += uint32(s.payload)
	c.pushed = s.push()
	c.view.Write(packet[s.headers : s.headers+s.payload])
	return true
}

// take gives up what is held, nil if nothing is, with headers for all of it.
func (c *coalescer) take() *buffer.View {
	v := c.view
	c.view = nil
	if v == nil || !c.joined {
		return v
	}
	s := &c.first
	s.payload = v.Size() - s.headers
	s.ip().SetTotalLength(uint16(v.Size()))
	s.ip().SetChecksum(0)
	s.ip().SetChecksum(^fold(sum16(s.ip())))
	if c.pushed {
		s.tcp()[tcpFlags] |= uint8(header.TCPFlagPsh)
	}
	s.tcp().SetChecksum(^fold(s.headerSum() + uint32(fold(c.sum))))
	v.WriteAt(s.bytes[:s.headers], 0)
	return v
}

// sum16 is the sum of big-endian 16-bit words; b has an even length, of some tens of bytes.
func sum16(b []byte) (sum uint32) {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(b[0])<<8 | uint32(b[1])
	}
	return sum
}

// fold is a sum in 16-bit one's complement (RFC 1071).
func fold(sum uint32) uint16 {
	sum = sum>>16 + sum&0xffff
	return uint16(sum>>16 + sum&0xffff)
}
