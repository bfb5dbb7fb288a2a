package enet

import "sync/atomic"

// Stats counts frames since Open, each one once. The counters are read one after the other, not at
// one instant.
type Stats struct {
	Received uint64 // whole and handed on

	// Received and dropped, by the first reason that applies.
	Overrun  uint64 // the controller's FIFO was full
	TooLong  uint64 // longer than 1,518 bytes with the frame check sequence
	Bad      uint64 // wrong frame check sequence, or not a whole number of bytes
	TooShort uint64 // shorter than a header and a frame check sequence

	Sent     uint64
	RingFull uint64 // not sent: all transmit descriptors in use, or the port closed
	Unfit    uint64 // not sent: shorter than a header, or longer than 1,514 bytes
}

type counters struct {
	rxFrames, rxOverrun, rxLong, rxBad, rxShort atomic.Uint64
	txFrames, txFull, txBad                     atomic.Uint64
}

// received counts a receive descriptor by its flags and reports whether it holds a whole frame.
func (c *counters) received(status uint32) bool {
	counter := &c.rxFrames
	switch {
	case status&bdOV != 0: // first: it makes the other flags meaningless
		counter = &c.rxOverrun
	case status&bdLast == 0 || status&(bdLG|bdTR) != 0:
		counter = &c.rxLong
	case status&(bdCR|bdNO) != 0:
		counter = &c.rxBad
	case status&bdLength < header+fcs:
		counter = &c.rxShort
	case status&bdLength > maxFrame+fcs: // LG says so already; a length must not be trusted
		counter = &c.rxLong
	}
	counter.Add(1)
	return counter == &c.rxFrames
}

// Stats reads the counters.
func (p *Port) Stats() Stats {
	c := &p.stats
	return Stats{
		Received: c.rxFrames.Load(),
		Overrun:  c.rxOverrun.Load(),
		TooLong:  c.rxLong.Load(),
		Bad:      c.rxBad.Load(),
		TooShort: c.rxShort.Load(),
		Sent:     c.txFrames.Load(),
		RingFull: c.txFull.Load(),
		Unfit:    c.txBad.Load(),
	}
}
