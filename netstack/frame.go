package netstack

import (
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// An Ethernet II frame, as it reaches the stack: no preamble, no frame check sequence.
//
//	 0       6       12     14
//	+-------+-------+------+---------------------------------------+
//	| to    | from  | type | IPv4 packet or ARP message, padding   |
//	+-------+-------+------+---------------------------------------+
const (
	frameHeader = header.EthernetMinimumSize // 14 bytes
	frameMTU    = 1500                       // bytes behind the header, IEEE 802.3 clause 3.2.7
	frameMax    = frameHeader + frameMTU

	typeIPv4 = uint16(header.IPv4ProtocolNumber)
	typeARP  = uint16(header.ARPProtocolNumber)
)

// verdict is what becomes of a frame.
type verdict uint8

const (
	accepted      verdict = iota
	dropMalformed         // too short, too long, or from a group address
	dropNotMine           // another station's, or a multicast group's
	dropOtherType         // neither IPv4 nor ARP
	dropRequest           // for one more connection than its sender may ask for in a second
	verdicts              // how many there are
)

// admit decides by the Ethernet header, at the start of head, and by the frame's length: each type
// has a shortest one. Not every device filters by destination (QEMU's ENET does not), so that the
// stack cannot trust that a frame is its own: gVisor would answer for an IP address behind any
// Ethernet address. Multicast is dropped because nothing here listens to it.
func admit(head []byte, length int, mac [6]byte) verdict {
	if length < frameHeader || length > frameMax {
		return dropMalformed
	}
	to, from := [6]byte(head[0:6]), [6]byte(head[6:12])
	switch {
	case isGroup(from):
		return dropMalformed
	case to != mac && to != broadcast:
		return dropNotMine
	}
	shortest := 0
	switch binary.BigEndian.Uint16(head[12:14]) {
	case typeIPv4:
		shortest = header.IPv4MinimumSize
	case typeARP:
		shortest = header.ARPSize
	default:
		return dropOtherType
	}
	if length < frameHeader+shortest {
		return dropMalformed
	}
	return accepted
}

var broadcast = [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// isGroup reports the I/G bit: a multicast address or the broadcast address. Such an address names
// receivers, never a sender.
func isGroup(mac [6]byte) bool { return mac[0]&1 != 0 }
