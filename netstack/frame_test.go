package netstack

import (
	"slices"
	"testing"
)

// frame is an Ethernet frame of n bytes in all, or as long as it takes.
func frame(to, from [6]byte, kind uint16, n int) []byte {
	f := slices.Concat(to[:], from[:], []byte{byte(kind >> 8), byte(kind)})
	return append(f, make([]byte, max(0, n-len(f)))...)
}

func TestAFrameIsJudgedByItsHeader(t *testing.T) {
	mine, peer, other := [6]byte{2, 0, 0, 0, 0, 10}, [6]byte{2, 0, 0, 0, 0, 11}, [6]byte{6}
	group := [6]byte{0x01, 0, 0x5e, 0, 0, 1}
	for _, c := range []struct {
		name  string
		frame []byte
		want  verdict
	}{
		{"nothing", nil, dropMalformed},
		{"one byte less than a header", frame(mine, peer, typeIPv4, 14)[:13], dropMalformed},
		{"a bare header", frame(mine, peer, typeIPv4, 14), dropMalformed},
		{"IPv4 without its last header byte", frame(mine, peer, typeIPv4, 33), dropMalformed},
		{"the shortest IPv4", frame(mine, peer, typeIPv4, 34), accepted},
		{"ARP without its last byte", frame(broadcast, peer, typeARP, 41), dropMalformed},
		{"the shortest ARP", frame(broadcast, peer, typeARP, 42), accepted},
		{"padded ARP", frame(broadcast, peer, typeARP, 60), accepted},
		{"the longest frame", frame(mine, peer, typeIPv4, 1514), accepted},
		{"one byte more", frame(mine, peer, typeIPv4, 1515), dropMalformed},
		{"another station's", frame(other, peer, typeIPv4, 60), dropNotMine},
		{"a multicast group's", frame(group, peer, typeIPv4, 60), dropNotMine},
		{"from a multicast group", frame(mine, group, typeIPv4, 60), dropMalformed},
		{"from everybody", frame(mine, broadcast, typeIPv4, 60), dropMalformed},
		{"IPv6", frame(mine, peer, 0x86dd, 60), dropOtherType},
		{"VLAN", frame(mine, peer, 0x8100, 60), dropOtherType},
		{"a length, as IEEE 802.3 once had it", frame(mine, peer, 46, 60), dropOtherType},
	} {
		if got := admit(c.frame, len(c.frame), mine); got != c.want {
			t.Errorf("%s: verdict %d, want %d", c.name, got, c.want)
		}
	}
}
