package netstack

// Stats counts what the stack did since it started. The counters are read one after the other, not
// at one instant.
type Stats struct {
	// Frames that the device delivered, by what became of them.
	FramesTaken     uint64 // given to ARP or IPv4
	FramesMalformed uint64 // too short or too long for what they claim, or from a group address
	FramesNotMine   uint64 // to another station or a multicast group
	FramesOtherType uint64 // neither IPv4 nor ARP
	RequestsDropped uint64 // connection requests over the rate of one address

	FramesSent uint64
	FramesLost uint64 // the device would not take them: its transmit ring was full

	// What gVisor dropped above the Ethernet header.
	PacketsMalformed uint64 // IPv4 and ARP
	SegmentsInvalid  uint64 // TCP: bad header or wrong checksum

	SegmentsReceived      uint64 // TCP, valid; joined ones count once
	SegmentsSent          uint64 // TCP, with retransmissions
	SegmentsRetransmitted uint64
	Timeouts              uint64 // retransmission timer runs
	ConnectionsAccepted   uint64
	ConnectionsDialled    uint64
	ConnectionsOpen       uint64 // now
	ConnectionsTimedOut   uint64
	ResetsSent            uint64
	ResetsReceived        uint64
}

// Stats reads the counters.
func (s *Stack) Stats() Stats {
	g := s.gvisor.Stats()
	return Stats{
		FramesTaken:     s.link.frames[accepted].Load(),
		FramesMalformed: s.link.frames[dropMalformed].Load(),
		FramesNotMine:   s.link.frames[dropNotMine].Load(),
		FramesOtherType: s.link.frames[dropOtherType].Load(),
		RequestsDropped: s.link.frames[dropRequest].Load(),
		FramesSent:      s.link.sent.Load(),
		FramesLost:      s.link.lost.Load(),

		PacketsMalformed: g.IP.MalformedPacketsReceived.Value() +
			g.ARP.MalformedPacketsReceived.Value(),
		SegmentsInvalid: g.TCP.InvalidSegmentsReceived.Value() + g.TCP.ChecksumErrors.Value(),

		SegmentsReceived:      g.TCP.ValidSegmentsReceived.Value(),
		SegmentsSent:          g.TCP.SegmentsSent.Value(),
		SegmentsRetransmitted: g.TCP.Retransmits.Value(),
		Timeouts:              g.TCP.Timeouts.Value(),
		ConnectionsAccepted:   g.TCP.PassiveConnectionOpenings.Value(),
		ConnectionsDialled:    g.TCP.ActiveConnectionOpenings.Value(),
		ConnectionsOpen:       g.TCP.CurrentConnected.Value(),
		ConnectionsTimedOut:   g.TCP.EstablishedTimedout.Value(),
		ResetsSent:            g.TCP.ResetsSent.Value(),
		ResetsReceived:        g.TCP.ResetsReceived.Value(),
	}
}
