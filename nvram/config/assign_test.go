package config

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/nvram"
)

// TestALegalConfigurationReadsBackAsItWasWritten writes any legal configuration and parses it.
func TestALegalConfigurationReadsBackAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawConfig(t)
		e, err := want.Environment()
		if err != nil {
			t.Fatal(err)
		}
		if got := Parse(e, nil); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is read as %+v\nwant %+v", want.Assignments(), got, want)
		}
	})
}

// drawConfig is any configuration that a node would use as a whole.
func drawConfig(t *rapid.T) Config {
	millis := rapid.Map(rapid.IntRange(1, 99_999), func(n int) time.Duration {
		return time.Duration(n) * time.Millisecond
	})
	key := rapid.Custom(func(t *rapid.T) (k Key) {
		copy(k[:], rapid.SliceOfN(rapid.ByteMin(1), len(k), len(k)).Draw(t, "key"))
		return k
	})
	id := rapid.Custom(func(t *rapid.T) (id ID) {
		copy(id[:], rapid.SliceOfN(rapid.Byte(), len(id), len(id)).Draw(t, "id"))
		return id
	})
	c := Config{
		Address: DefaultAddress,
		Gateway: DefaultGateway,
		Fail:    rapid.Bool().Draw(t, "fail"),
		Route:   rapid.Bool().Draw(t, "route"),
		Lab:     rapid.Bool().Draw(t, "lab"),
		Pprof:   rapid.Bool().Draw(t, "pprof"),
		Epoch:   rapid.Uint64Range(1, EpochMax).Draw(t, "epoch"),
	}
	if rapid.Bool().Draw(t, "network") {
		c.Address = netip.MustParsePrefix("192.168.200.210/22")
		c.Gateway = rapid.SampledFrom([]netip.Addr{{},
			netip.MustParseAddr("192.168.200.255")}).Draw(t, "gateway")
	}
	ids := rapid.SliceOfNDistinct(id, 1, AllowMax, rapid.ID)
	if rapid.Bool().Draw(t, "mesh") {
		c.Peer.Port = rapid.Uint16Min(1).Draw(t, "port")
		if c.Root.Self = rapid.Bool().Draw(t, "authority"); !c.Root.Self {
			c.Root.Key = key.Draw(t, "root")
			c.Peer.Host = netip.MustParseAddr("192.168.200.211")
		} else if rapid.Bool().Draw(t, "allows") {
			c.Allow = ids.Draw(t, "allow")
		}
	}
	if rapid.Bool().Draw(t, "timed") {
		c.Timing = Timing{millis.Draw(t, "heartbeat"), millis.Draw(t, "suspect"),
			millis.Draw(t, "fail"), millis.Draw(t, "lease")}
		c.AcksAll = rapid.Bool().Draw(t, "acks")
	}
	c.Tape = (c.Lab || c.AcksAll) && rapid.Bool().Draw(t, "tape")
	return c
}

// FuzzConfig reads any bytes as an environment. Whatever a node would use of them, written back and
// read again, is the same.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		"", "\x00", "net.ip=10.7.0.10/24\x00net.gw=10.7.0.1\x00\x00",
		"mesh.root=self\x00mesh.peer=:7070\x00mesh.allow=" + hexID + "," + otherID + "\x00\x00",
		"mesh.allow=" + shortID + ",AAAAAAAAAAAAAAAAAAAAAA\x00\x00",
		"mesh.root=" + keyText + "\x00mesh.peer=10.7.0.10:7070\x00mesh.epoch=7\x00\x00",
		"mesh.acks=all\x00\x00",
		"mesh.time=5000,6000,12000,6000\x00mesh.fail=1\x00mesh.route=1\x00mesh.lab=1\x00\x00",
		"mesh.lab=tape\x00\x00",
		"mesh.acks=tape\x00\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, faults := nvram.ParseEnvironment(b)
		c := Parse(e, faults)
		if len(c.Refused) != 0 || len(c.Unknown) != 0 {
			return
		}
		again, err := c.Environment()
		if err != nil {
			t.Fatalf("%+v cannot be written: %v", c, err)
		}
		if back := Parse(again, nil); !reflect.DeepEqual(back, c) {
			t.Errorf("%+v reads back as %+v", c, back)
		}
	})
}

// longest is a configuration in which every value has as many characters as it can have.
func longest() Config {
	return Config{
		Address: netip.MustParsePrefix("192.168.200.210/22"),
		Gateway: netip.MustParseAddr("192.168.200.255"),
		Fail:    true, Route: true, Lab: true, Tape: true, Pprof: true,
		Epoch:  EpochMax,
		Timing: Timing{TimeMax, TimeMax, TimeMax, TimeMax},
	}
}

// TestTheLongestLegalEnvironmentsFit composes them for both roles, every key with its longest
// value, and pins what is left of the area.
func TestTheLongestLegalEnvironmentsFit(t *testing.T) {
	root := longest()
	root.Peer = Peer{Port: 65535}
	root.Root.Self = true
	for i := range byte(AllowMax) {
		root.Allow = append(root.Allow, ID{i})
	}
	member := longest()
	member.Peer = Peer{netip.MustParseAddr("192.168.200.211"), 65535}
	member.Root.Key = aKey
	acks := root
	acks.Lab, acks.AcksAll = false, true // the two do not go together
	for _, test := range []struct {
		name   string
		config Config
		bytes  int
	}{
		{"authority", root, 294},
		{"member", member, 245},
		{"authority without leases", acks, 295},
	} {
		e, err := test.config.Environment()
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if e.Size() != test.bytes || e.Size() > nvram.EnvironmentMax {
			t.Errorf("%s: %d bytes, want %d", test.name, e.Size(), test.bytes)
		}
		if c := Parse(e, nil); len(c.Refused) != 0 {
			t.Errorf("%s: refused %v", test.name, c.Refused)
		}
	}
}

// TestLongIDsFitWithoutAGateway is the same, without profiles, with ids as an operator copies them
// from a console.
func TestLongIDsFitWithoutAGateway(t *testing.T) {
	c := longest()
	c.Peer, c.Root.Self, c.Gateway, c.Pprof = Peer{Port: 65535}, true, netip.Addr{}, false
	var ids []string
	for i := range byte(AllowMax) {
		ids = append(ids, ID{i}.String())
	}
	e, err := nvram.NewEnvironment(append(c.Assignments(), "mesh.allow="+strings.Join(ids, ","))...)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(e); err != nil || e.Size() != 297 {
		t.Errorf("%d bytes: %v", e.Size(), err)
	}
	if err := e.Set("net.gw", "192.168.200.255"); !errors.Is(err, nvram.ErrFull) {
		t.Errorf("with a gateway: %v", err)
	}
}
