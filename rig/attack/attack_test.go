package attack

import (
	"bytes"
	"crypto/ed25519"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"

	"holdfast/netstack"
	"holdfast/qemu/relay"
	"holdfast/rig/provision"
)

// victim is a station that takes every connection and closes it.
var victim = netip.MustParsePrefix("10.7.0.10/24")

func newStation(t *testing.T) *Station {
	t.Helper()
	r := relay.New(relay.Options{})
	t.Cleanup(func() { r.Close() })
	theirs, err := r.Local("victim")
	if err != nil {
		t.Fatal(err)
	}
	stack, err := netstack.New(theirs, netstack.Config{MAC: provision.MAC(victim), Addr: victim})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stack.Close)
	for _, port := range []uint16{meshPort, httpPort} {
		l, err := stack.Listen(port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close()
			}
		}()
	}
	port, err := r.Local("stranger")
	if err != nil {
		t.Fatal(err)
	}
	cast := provision.Draw(1, 2)
	s, err := Open(port, 1, cast.StrangersKey("insider"), cast.StrangersKey("stranger"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestEveryAttackIsMadeAndEnds(t *testing.T) {
	s := newStation(t)
	on := Target{MAC: provision.MAC(victim), Address: victim.Addr()}
	var names []string
	for _, a := range All() {
		if a.About == "" || slices.Contains(names, a.Name) {
			t.Errorf("%s: %q", a.Name, a.About)
		}
		names = append(names, a.Name)
		a.Time = 100 * time.Millisecond
		tally := s.Run(t.Context(), a, on)
		stream := a.Name != "bad-frames"
		if tally.Offered == 0 || stream != (tally.Taken > 0) || tally.Taken > tally.Offered {
			t.Errorf("%s came to %+v", a.Name, tally)
		}
	}
}

func TestAStrangerPassesForNobodyElse(t *testing.T) {
	x := &assault{Station: &Station{seed: 1},
		target: Target{MAC: provision.MAC(victim), Address: victim.Addr()}}
	own := provision.MAC(provision.Attacker)
	r := rand.New(rand.NewPCG(1, 1))
	kinds := make(map[uint16]bool)
	for range 20_000 {
		f := x.frame(r)
		if len(f) < etherLen || len(f) > frameMax {
			t.Fatalf("a frame of %d bytes", len(f))
		}
		ether := header.Ethernet(f)
		if !bytes.Equal(f[6:12], own[:]) {
			t.Fatalf("a frame from %x", f[6:12])
		}
		kinds[uint16(ether.Type())] = true
		body := f[etherLen:]
		if ether.Type() == header.ARPProtocolNumber && len(body) >= header.ARPSize {
			a := header.ARP(body)
			if !bytes.Equal(a.ProtocolAddressSender(), provision.Attacker.Addr().AsSlice()) {
				t.Fatalf("ARP in the name of %v", a.ProtocolAddressSender())
			}
		}
		ip := header.IPv4(body)
		if ether.Type() != header.IPv4ProtocolNumber || len(body) < ipLen || !ip.IsValid(len(body)) {
			continue
		}
		from := netip.AddrFrom4(ip.SourceAddress().As4())
		if ip.IsChecksumValid() && (from == provision.Rig.Addr() || from == victim.Addr()) {
			t.Fatalf("a packet in the name of %v", from)
		}
	}
	if len(kinds) < 100 {
		t.Errorf("only %d types of frames", len(kinds))
	}
}

func TestTheKeysAreTheOnesGiven(t *testing.T) {
	s := newStation(t)
	cast := provision.Draw(1, 2)
	for name, config := range map[string]ed25519.PrivateKey{
		"insider":  s.insider.Certificates[0].PrivateKey.(ed25519.PrivateKey),
		"stranger": s.stranger.Certificates[0].PrivateKey.(ed25519.PrivateKey),
	} {
		if !config.Equal(cast.StrangersKey(name)) {
			t.Errorf("%s has another key", name)
		}
	}
}
