package policy

import "holdfast/mesh/when"

// Linux' defaults for a connection whose peer is gone (net.ipv4.tcp_keepalive_*, tcp_retries2,
// TCP_RTO_MIN and TCP_RTO_MAX).
const (
	TCPKeepaliveIdleMS  = 7_200_000
	TCPKeepaliveEveryMS = 75_000
	TCPKeepaliveProbes  = 9
	TCPRetries          = 15
	TCPMinRTOMS         = 200
	TCPMaxRTOMS         = 120_000
)

// KeepaliveEnds is when keepalive gives up a connection that has been idle since 0: after the idle
// time, one probe after the other, each waited for.
func KeepaliveEnds(idle, every when.Span, probes int) when.Span {
	return idle + every*when.Span(probes)
}

// RetransmissionEnds is when a connection with unacknowledged data is given up: after the first
// transmission and each retry the timeout is waited for, twice as long each time.
func RetransmissionEnds(minRTO, maxRTO when.Span, retries int) when.Span {
	total, rto := when.Span(0), minRTO
	for range retries + 1 {
		total += rto
		rto = min(2*rto, maxRTO)
	}
	return total
}
