package netstack

import (
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// tcpOptions are the options of gVisor's TCP that decide whether a session outlives a cut. gVisor
// reads them when it makes an endpoint, so they are set before anything dials or listens. Both ends
// of a session need them: each end has its own retransmission timer.
//
// TestASessionOutlivesACut leaves them out one at a time and shows what each one prevents.
type tcpOptions struct {
	// maxRTO caps the retransmission timeout. gVisor's own 120 s let the timeout double all through
	// a cut, so that the first byte came long after the network was whole again: 11 s after a cut
	// of 15 s, at each end at its own time.
	maxRTO time.Duration

	// maxRetries is how often one segment is sent again before the session is given up. gVisor's
	// own 15 and a timeout of at most 1 s together end every session in 13 s of silence. Silence is
	// bounded by backstop instead.
	maxRetries uint64

	// recovery 0 turns RACK and its tail loss probe off (RFC 8985). gVisor arms the probe with each
	// write and disarms the retransmission timer for it, but sends one probe only: an application
	// that writes more often than the probe's timeout, such as one with heartbeats, then never
	// retransmits again. SACK alone finds losses in the middle of a window.
	recovery tcpip.TCPRecovery

	// closing is how long the stack keeps a connection that this side has closed and the other has
	// not (FIN-WAIT-2), or that both have (TIME-WAIT). gVisor's own minute is meant for the
	// Internet and a server's memory: 5 KB for each of the 300 connections that a client can have
	// served in a second would be 90 MB. On one Ethernet, where maxRTO is a second, no segment of
	// an old connection is younger than twice that.
	closing time.Duration
}

var productTCP = tcpOptions{maxRTO: time.Second, maxRetries: 1000, recovery: 0,
	closing: 2 * time.Second}

// backstop ends a session whose peer has acknowledged nothing for this long. The layers above know
// much earlier; this frees the memory when there is nobody above any more.
const backstop = 300 * time.Second

// bufferSize is how much of a session the stack holds each way, in bytes. gVisor's own 1 MiB and
// more each way are meant for a server's memory: sixteen stuck clients would hold a quarter of a
// 128 MB board. This covers 10 MB/s at 25 ms of round trip, more than the board can do, so that
// there is nothing to gain from growing it by what the application reads, which costs a tenth of
// the work for a small request.
const (
	bufferSize = 256 << 10
	bufferMin  = 4 << 10 // an application may ask for less
)

// apply sets the options on a stack without endpoints.
func (o tcpOptions) apply(s *stack.Stack) error {
	sack := tcpip.TCPSACKEnabled(true)
	maxRTO := tcpip.TCPMaxRTOOption(o.maxRTO)
	maxRetries := tcpip.TCPMaxRetriesOption(o.maxRetries)
	recovery := o.recovery
	wait, linger := tcpip.TCPTimeWaitTimeoutOption(o.closing), tcpip.TCPLingerTimeoutOption(o.closing)
	send := tcpip.TCPSendBufferSizeRangeOption{
		Min: bufferMin, Default: bufferSize, Max: bufferSize,
	}
	receive := tcpip.TCPReceiveBufferSizeRangeOption{
		Min: bufferMin, Default: bufferSize, Max: bufferSize,
	}
	moderate := tcpip.TCPModerateReceiveBufferOption(false)
	for _, option := range []tcpip.SettableTransportProtocolOption{
		&sack, &maxRTO, &maxRetries, &recovery, &wait, &linger, &send, &receive, &moderate,
	} {
		if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, option); err != nil {
			return stackError("set a TCP option", err)
		}
	}
	return nil
}

// newEndpoint is a TCP endpoint with the backstop; what a listener accepts inherits it.
func newEndpoint(s *stack.Stack, q *waiter.Queue) (tcpip.Endpoint, error) {
	ep, err := s.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, q)
	if err != nil {
		return nil, stackError("make an endpoint", err)
	}
	timeout := tcpip.TCPUserTimeoutOption(backstop)
	if err := ep.SetSockOpt(&timeout); err != nil {
		ep.Close()
		return nil, stackError("bound a session's silence", err)
	}
	return ep, nil
}
