package netstack

import (
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"pgregory.net/rapid"
)

// Whatever one address asks for, it gets no more than the rate and a burst, no less of what it may
// have, and nobody else hears of it.
func TestTheGateKeepsTheRateOfEachAddress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g gate
		now, taken := time.Hour, 0
		begin := now
		stranger, member := [4]byte{10, 7, 0, 66}, [4]byte{10, 7, 0, 11}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 300).Draw(t, "ms")) * time.Millisecond
			for range rapid.IntRange(0, 150).Draw(t, "requests") {
				if g.take(stranger, now) {
					taken++
				}
			}
			if !g.take(member, now) {
				t.Fatal("another address has to wait")
			}
			if most := requestBurst + int((now-begin)/requestEvery); taken > most {
				t.Fatalf("%d taken in %v, at most %d", taken, now-begin, most)
			}
		}
		now += requestBurst * requestEvery
		for range requestBurst {
			if !g.take(stranger, now) {
				t.Fatal("a burst after a rest is not taken")
			}
		}
	})
}

func TestOnlyRequestsForConnectionsAreCounted(t *testing.T) {
	s, x := victim(t)
	fields := header.TCPFields{SrcPort: 5000, Flags: header.TCPFlagSyn}
	syn := x.segment(s, fields, nil, nil)
	fields.Flags = header.TCPFlagSyn | header.TCPFlagAck
	answer := x.segment(s, fields, nil, nil)
	fields.Flags = header.TCPFlagAck
	ack := x.segment(s, fields, nil, nil)
	fragment := append([]byte(nil), syn...)
	header.IPv4(fragment[frameHeader:]).SetFlagsFragmentOffset(0, 8)
	options := append([]byte(nil), syn...)
	options[frameHeader] = 4<<4 | 15 // the flags lie beyond the frame
	for name, c := range map[string]struct {
		frame []byte
		want  bool
	}{
		"a request": {syn, true}, "an answer": {answer, false}, "an acknowledgement": {ack, false},
		"a fragment": {fragment, false}, "a header that lies": {options[:60], false},
		"no TCP": {x.packet(s, header.ICMPv4ProtocolNumber, make([]byte, 40)), false},
		"ARP":    {x.arpReply(s.MAC(), []byte{10, 7, 0, 10}), false},
	} {
		from, ok := request(c.frame[:min(len(c.frame), frameHeader+segmentHead)])
		if ok != c.want || ok && tcpip.AddrFrom4(from) != x.addr {
			t.Errorf("%s: %v from %v", name, ok, from)
		}
	}
}
