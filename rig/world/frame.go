package world

import (
	"encoding/binary"

	"holdfast/qemu/relay"
	"holdfast/rig/journal"
	"holdfast/rig/provision"
)

// observe gets every frame from the relay, on the relay's goroutine for it: all go to the capture,
// those with bytes of a mesh session to the journal as well.
func (w *World) observe(r relay.Record) {
	w.capture.Record(r)
	segment, ok := parseSegment(r.Frame)
	if !ok || len(segment.payload) == 0 || outside(r.From) {
		return
	}
	port, ok := segment.memberPort()
	if !ok {
		return
	}
	for _, o := range r.Outcomes {
		if o.To == nil || outside(o.To) {
			continue
		}
		w.Journal.Add(r.At, journal.Record{
			Kind: journal.KindFrame, Node: r.From.Name(),
			Frame: &journal.Frame{
				To: o.To.Name(), Verdict: o.Verdict.String(),
				Port: port, Seq: segment.seq, Payload: len(segment.payload),
			},
		})
	}
}

// outside says whether a port is that of no node.
func outside(p *relay.Port) bool { return p.Name() == stationName || p.Name() == attackerName }

// segment is a TCP segment in an Ethernet frame.
type segment struct {
	source, destination uint16
	seq                 uint32
	payload             []byte
}

// The parts of a frame that are looked at: RFC 894, 791 section 3.1, 9293 section 3.1.
const (
	etherLen  = 14
	typeIPv4  = 0x0800
	ipLen     = 20 // at least
	protoTCP  = 6
	tcpLen    = 20 // at least
	fragments = 0x3fff
)

// parseSegment finds the TCP segment in a frame. False means that there is none, or that the frame
// is damaged: such a frame is only worth a place in the capture.
func parseSegment(frame []byte) (segment, bool) {
	if len(frame) < etherLen+ipLen || binary.BigEndian.Uint16(frame[12:]) != typeIPv4 {
		return segment{}, false
	}
	ip := frame[etherLen:]
	headers := int(ip[0]&0xf) * 4
	total := int(binary.BigEndian.Uint16(ip[2:]))
	if ip[0]>>4 != 4 || headers < ipLen || total > len(ip) || total < headers+tcpLen ||
		ip[9] != protoTCP || binary.BigEndian.Uint16(ip[6:])&fragments != 0 {
		return segment{}, false
	}
	tcp := ip[headers:total]
	offset := int(tcp[12]>>4) * 4
	if offset < tcpLen || offset > len(tcp) {
		return segment{}, false
	}
	return segment{
		source:      binary.BigEndian.Uint16(tcp),
		destination: binary.BigEndian.Uint16(tcp[2:]),
		seq:         binary.BigEndian.Uint32(tcp[4:]),
		payload:     tcp[offset:],
	}, true
}

// memberPort is the port at the member's end of a mesh session, which names the session.
func (s *segment) memberPort() (uint16, bool) {
	switch provision.MeshPort {
	case s.destination:
		return s.source, true
	case s.source:
		return s.destination, true
	}
	return 0, false
}
