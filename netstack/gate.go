package netstack

import (
	"encoding/binary"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// A request for a connection costs the stack more than any other frame: an endpoint, an answer, a
// goroutine's turn, and often a listener that has to turn somebody away. A few hundred a second are
// all that the processor can do. The gate therefore takes so many a second from one address, and
// drops the others where they cost least, before they are copied. TCP asks again a second later, so
// that who asks for a little too much gets it a little later.
const (
	requestRate  = 100 // a second, from one address
	requestBurst = 50  // that may come at once
	requestEvery = time.Second / requestRate

	// gates is how many addresses are told apart; those with the same remainder count as one.
	gates = 64
)

// gate counts the requests of each address. It belongs to the device's goroutine.
type gate struct {
	// due is, for each address, when the requests that were taken would all have come at the rate.
	due [gates]time.Duration
}

// take reports whether a request that comes from an address at now, on any clock that does not go
// back, is within the rate.
func (g *gate) take(from [4]byte, now time.Duration) bool {
	due := &g.due[binary.BigEndian.Uint32(from[:])%gates]
	if *due-now > (requestBurst-1)*requestEvery {
		return false
	}
	*due = max(*due, now) + requestEvery
	return true
}

// request reports whether a frame, which admit has accepted, asks for a TCP connection, and from
// which address. head is its beginning, as far as the TCP flags unless there are none.
func request(head []byte) (from [4]byte, ok bool) {
	if binary.BigEndian.Uint16(head[12:14]) != typeIPv4 {
		return from, false
	}
	ip := header.IPv4(head[frameHeader:])
	flags := int(ip[0]&0xf)*4 + tcpFlags
	if ip.Protocol() != uint8(header.TCPProtocolNumber) || ip.FragmentOffset() != 0 ||
		flags >= len(ip) {
		return from, false
	}
	const asks, answers = uint8(header.TCPFlagSyn), uint8(header.TCPFlagAck)
	return [4]byte(ip[12:16]), ip[flags]&(asks|answers) == asks
}
