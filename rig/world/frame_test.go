package world

import (
	"encoding/binary"
	"reflect"
	"slices"
	"testing"
)

// frame builds an Ethernet frame with a TCP segment, padded like a short one on the wire.
func frame(source, destination uint16, seq uint32, payload string) []byte {
	f := make([]byte, etherLen+ipLen+tcpLen, 60)
	f = append(f, payload...)
	binary.BigEndian.PutUint16(f[12:], typeIPv4)
	ip := f[etherLen:]
	ip[0] = 4<<4 | ipLen/4
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	ip[9] = protoTCP
	tcp := ip[ipLen:]
	binary.BigEndian.PutUint16(tcp, source)
	binary.BigEndian.PutUint16(tcp[2:], destination)
	binary.BigEndian.PutUint32(tcp[4:], seq)
	tcp[12] = tcpLen / 4 << 4
	for len(f) < 60 {
		f = append(f, 0)
	}
	return f
}

func TestASegmentIsReadWithoutThePadding(t *testing.T) {
	s, ok := parseSegment(frame(49155, 7070, 1000, "hi"))
	want := segment{source: 49155, destination: 7070, seq: 1000, payload: []byte("hi")}
	if !ok || !reflect.DeepEqual(s, want) {
		t.Errorf("read %+v, %v; want %+v", s, ok, want)
	}
	if s, ok := parseSegment(frame(7070, 49155, 1, "")); !ok || len(s.payload) != 0 {
		t.Errorf("a bare acknowledgement is read as %+v, %v", s, ok)
	}
}

func TestOnlyMeshSessionsHaveAMemberPort(t *testing.T) {
	for _, c := range []struct {
		source, destination, want uint16
		ok                        bool
	}{
		{49155, 7070, 49155, true},
		{7070, 49156, 49156, true},
		{80, 49155, 0, false},
	} {
		s := segment{source: c.source, destination: c.destination}
		if port, ok := s.memberPort(); port != c.want || ok != c.ok {
			t.Errorf("from %d to %d: port %d, %v", c.source, c.destination, port, ok)
		}
	}
}

func TestWhatIsNoWholeSegmentIsNotRead(t *testing.T) {
	good := frame(49155, 7070, 1, "payload")
	change := func(at int, to byte) []byte {
		f := slices.Clone(good)
		f[at] = to
		return f
	}
	for name, f := range map[string][]byte{
		"empty":               nil,
		"cut in the header":   good[:etherLen+ipLen-1],
		"ARP":                 change(13, 6),
		"IPv6 in the version": change(etherLen, 6<<4|5),
		"short IP header":     change(etherLen, 4<<4|4),
		"longer than it is":   change(etherLen+2, 0xff),
		"shorter than TCP":    change(etherLen+3, 39),
		"UDP":                 change(etherLen+9, 17),
		"a fragment":          change(etherLen+7, 1),
		"more fragments":      change(etherLen+6, 0x20),
		"short TCP header":    change(etherLen+ipLen+12, 4<<4),
		"TCP header too long": change(etherLen+ipLen+12, 15<<4),
	} {
		if s, ok := parseSegment(f); ok {
			t.Errorf("%s is read as %+v", name, s)
		}
	}
}

func FuzzSegment(f *testing.F) {
	f.Add(frame(49155, 7070, 1, "payload"))
	f.Add(frame(7070, 49155, 1, ""))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := parseSegment(b); ok && len(s.payload) > len(b) {
			t.Errorf("%d bytes of payload in a frame of %d", len(s.payload), len(b))
		}
	})
}
