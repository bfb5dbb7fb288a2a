package config

import (
	"bytes"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/nvram"
)

const (
	hexID    = "0102030405060708090a0b0c0d0e0f10"
	shortID  = "AQIDBAUGBwgJCgsMDQ4PEA"
	otherID  = "ffffffffffffffffffffffffffffffff"
	keyText  = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA"
	zeroKey  = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	shortKey = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHw"
)

var (
	anID  = ID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	allID = ID(bytes.Repeat([]byte{0xff}, 16))
	aKey  = func() (k Key) {
		for i := range k {
			k[i] = byte(i + 1)
		}
		return k
	}()
)

// parse reads an environment of legal strings.
func parse(t *testing.T, assignments ...string) Config {
	t.Helper()
	e, err := nvram.NewEnvironment(assignments...)
	if err != nil {
		t.Fatal(err)
	}
	return Parse(e, nil)
}

func TestAnEmptyEnvironmentIsASingleOnTheUserNetwork(t *testing.T) {
	got := parse(t)
	want := Config{
		Address: netip.MustParsePrefix("10.0.2.15/24"),
		Gateway: netip.MustParseAddr("10.0.2.2"),
		Epoch:   1,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	got := parse(t, "net.ip=10.7.0.10/16", "net.gw=10.7.255.254", "mesh.peer=:7070",
		"mesh.root=self", "mesh.allow="+hexID+","+otherID, "mesh.fail=1", "mesh.route=1",
		"mesh.epoch=4294967295", "mesh.lab=1", "mesh.time=1,6000,12000,99999", "mesh.acks=all",
		"debug.pprof=1")
	want := Config{
		Address: netip.MustParsePrefix("10.7.0.10/16"),
		Gateway: netip.MustParseAddr("10.7.255.254"),
		Peer:    Peer{Port: 7070},
		Root:    Root{Self: true},
		Allow:   []ID{anID, allID},
		Fail:    true, Route: true, Lab: true, Pprof: true,
		Epoch: 1<<32 - 1,
		Timing: Timing{time.Millisecond, 6 * time.Second, 12 * time.Second,
			99_999 * time.Millisecond},
		AcksAll: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	got = parse(t, "mesh.root="+keyText, "mesh.peer=10.7.0.10:7070")
	if got.Root != (Root{Key: aKey}) || got.Peer.Listens() || len(got.Refused) != 0 ||
		got.Peer != (Peer{netip.MustParseAddr("10.7.0.10"), 7070}) {
		t.Errorf("member: %+v", got)
	}
}

// malformed has both sides of every boundary of every value; an empty reason accepts.
var malformed = []struct {
	assignment string
	want       Reason
}{
	{"net.ip=10.7.0.10/30", ""},
	{"net.ip=10.7.0.10/31", ReasonPrefix},
	{"net.ip=10.7.0.10/1", ""},
	{"net.ip=10.7.0.10/0", ReasonPrefix},
	{"net.ip=10.7.0.10/024", ReasonPrefix},
	{"net.ip=10.7.0.10", ReasonPrefix},
	{"net.ip=10.7.0.10/", ReasonPrefix},
	{"net.ip=10.7.0/24", ReasonAddress},
	{"net.ip=10.7.0.256/24", ReasonAddress},
	{"net.ip=10.7.0.010/24", ReasonAddress},
	{"net.ip=10.7.0.0/24", ReasonAddress},
	{"net.ip=10.7.0.255/24", ReasonAddress},
	{"net.ip=10.7.0.255/16", ""},
	{"net.ip=10.7.1.0/16", ""},
	{"net.ip=127.0.0.1/8", ReasonAddress},
	{"net.ip=169.254.0.1/16", ReasonAddress},
	{"net.ip=223.255.255.1/24", ""},
	{"net.ip=224.0.0.1/24", ReasonAddress},
	{"net.ip=240.0.0.1/24", ReasonAddress},
	{"net.ip=0.0.0.1/24", ReasonAddress},
	{"net.ip=fe80::1/64", ReasonPrefix},
	{"net.ip=2001:db8::1/24", ReasonAddress},
	{"net.ip=host/24", ReasonAddress},
	{"net.ip=", ReasonEmpty},
	{"net.gw=10.0.2.2", ""},
	{"net.gw=10.0.2.15", ReasonSubnet}, // the node itself
	{"net.gw=10.0.2.255", ReasonSubnet},
	{"net.gw=10.0.3.2", ReasonSubnet},
	{"net.gw=gateway", ReasonAddress},
	{"net.gw=10.0.2.2/24", ReasonAddress},
	{"mesh.peer=10.7.0.10:7070", ""},
	{"mesh.peer=10.7.0.10:65535", ""},
	{"mesh.peer=10.7.0.10:65536", ReasonPort},
	{"mesh.peer=:1", ""},
	{"mesh.peer=:0", ReasonPort},
	{"mesh.peer=:07070", ReasonPort},
	{"mesh.peer=:+70", ReasonPort},
	{"mesh.peer=:", ReasonPort},
	{"mesh.peer=7070", ReasonPort},
	{"mesh.peer=10.7.0.10", ReasonPort},
	{"mesh.peer=10.7.0.10:7070:1", ReasonPort},
	{"mesh.peer=root:7070", ReasonAddress},
	{"mesh.peer=0.0.0.0:7070", ReasonAddress},
	{"mesh.peer=[::1]:7070", ReasonPort},
	{"mesh.root=self", ""},
	{"mesh.root=Self", ReasonKey},
	{"mesh.root=" + keyText, ""},
	{"mesh.root=" + keyText + "A", ReasonKey},
	{"mesh.root=" + keyText + "=", ReasonBase64},
	{"mesh.root=" + keyText[:42] + "B", ReasonBase64}, // bits beyond the last byte
	{"mesh.root=" + keyText[:42] + "+", ReasonBase64}, // the other base64
	{"mesh.root=" + shortKey, ReasonKey},
	{"mesh.root=" + zeroKey, ReasonKey},
	{"mesh.allow=" + hexID, ""},
	{"mesh.allow=" + shortID, ""},
	{"mesh.allow=" + hexID + "," + otherID, ""},
	{"mesh.allow=" + strings.ToUpper(hexID), ReasonID},
	{"mesh.allow=" + hexID[:31], ReasonID},
	{"mesh.allow=" + hexID + "0", ReasonID},
	{"mesh.allow=" + shortID[:21] + "B", ReasonID},
	{"mesh.allow=" + hexID + ",", ReasonID},
	{"mesh.allow=" + hexID + ", " + otherID, ReasonID},
	{"mesh.allow=" + hexID + "," + hexID, ReasonDuplicate},
	{"mesh.allow=" + hexID + "," + shortID, ReasonDuplicate},
	{"mesh.allow=" + strings.Repeat("AAAAAAAAAAAAAAAAAAAAAA,", 4) + shortID, ReasonCount},
	{"mesh.fail=1", ""},
	{"mesh.fail=0", ReasonFlag},
	{"mesh.fail=", ReasonEmpty},
	{"mesh.route=yes", ReasonFlag},
	{"mesh.lab=11", ReasonFlag},
	{"debug.pprof=1", ""},
	{"debug.pprof=0", ReasonFlag},
	{"debug.pprof=", ReasonEmpty},
	{"mesh.epoch=1", ""},
	{"mesh.epoch=0", ReasonRange},
	{"mesh.epoch=4294967295", ""},
	{"mesh.epoch=4294967296", ReasonRange},
	{"mesh.epoch=99999999999999999999", ReasonRange},
	{"mesh.epoch=01", ReasonNumber},
	{"mesh.epoch=+1", ReasonNumber},
	{"mesh.epoch=-1", ReasonNumber},
	{"mesh.epoch=0x1", ReasonNumber},
	{"mesh.epoch=1_0", ReasonNumber},
	{"mesh.time=5000,6000,12000,6000", ""},
	{"mesh.time=1,1,1,1", ""}, // misordered: for the mesh to refuse
	{"mesh.time=99999,99999,99999,99999", ""},
	{"mesh.time=99999,99999,99999,100000", ReasonRange},
	{"mesh.time=0,6000,12000,6000", ReasonRange},
	{"mesh.time=5000,6000,12000", ReasonCount},
	{"mesh.time=5000,6000,12000,6000,1", ReasonCount},
	{"mesh.time=5000,6000,12000,", ReasonNumber},
	{"mesh.time=5000,6000,12000,6s", ReasonNumber},
	{"mesh.acks=all", ""},
	{"mesh.acks=tape", ""},
	{"mesh.acks=", ReasonEmpty},
	{"mesh.acks=1", ReasonWord},
	{"mesh.acks=All", ReasonWord},
	{"mesh.acks=all,all", ReasonWord},
}

func TestEveryMalformedValueHasItsReason(t *testing.T) {
	unseen := map[Reason]bool{}
	for _, reason := range Reasons() {
		if unseen[reason] {
			t.Errorf("%s is listed twice", reason)
		}
		unseen[reason] = true
	}
	for _, test := range malformed {
		c := parse(t, test.assignment)
		key, _, _ := strings.Cut(test.assignment, "=")
		var want []Refusal
		if test.want != "" {
			want = []Refusal{{key, test.want}}
		}
		if !reflect.DeepEqual(c.Refused, want) || c.IsRefused(key) != (want != nil) {
			t.Errorf("%s: refused %v, want %v", test.assignment, c.Refused, want)
		}
		if test.want != "" && !slices.Contains(Reasons(), test.want) {
			t.Errorf("%s is not listed", test.want)
		}
		if len(c.Unknown) != 0 {
			t.Errorf("%s: unknown %v", test.assignment, c.Unknown)
		}
		delete(unseen, test.want)
	}
	for _, reason := range nvram.FaultReasons() {
		delete(unseen, Reason(reason)) // seen in nvram's own table
	}
	delete(unseen, ReasonRole) // TestTheAuthorityListensAndAMemberDials
	if len(unseen) != 0 {
		t.Errorf("no value is refused for %v", unseen)
	}
}

// TestARefusedValueTurnsItsFeatureOff never finds the default of an absent key.
func TestARefusedValueTurnsItsFeatureOff(t *testing.T) {
	all := []string{"net.ip=10.7.0.11/24", "net.gw=10.7.0.1", "mesh.root=self", "mesh.peer=:7070",
		"mesh.allow=" + hexID, "mesh.fail=1", "mesh.route=1", "mesh.epoch=9", "mesh.lab=1",
		"mesh.time=5000,6000,12000,6000", "mesh.acks=all", "debug.pprof=1"}
	whole := parse(t, all...)
	if whole.RefusesMesh() {
		t.Fatalf("whole: refused %v", whole.Refused)
	}
	for i, damaged := range []struct {
		key   string
		off   func(c *Config)
		mesh  bool // RefusesMesh
		value string
	}{
		{KeyIP, func(c *Config) { c.Address, c.Gateway = netip.Prefix{}, netip.Addr{} }, false,
			"x/24"},
		{KeyGW, func(c *Config) { c.Gateway = netip.Addr{} }, false, "x"},
		{KeyRoot, func(c *Config) { c.Root = Root{} }, true, "x"},
		{KeyPeer, func(c *Config) { c.Peer = Peer{} }, true, "x"},
		{KeyAllow, func(c *Config) { c.Allow = nil }, false, "x"},
		{KeyFail, func(c *Config) { c.Fail = false }, false, "x"},
		{KeyRoute, func(c *Config) { c.Route = false }, false, "x"},
		{KeyEpoch, func(c *Config) { c.Epoch = 0 }, true, "x"},
		{KeyLab, func(c *Config) { c.Lab = false }, false, "x"},
		{KeyTime, func(c *Config) { c.Timing = Timing{} }, true, "x"},
		{KeyAcks, func(c *Config) { c.AcksAll = false }, true, "x"},
		{KeyPprof, func(c *Config) { c.Pprof = false }, false, "x"},
	} {
		assignments := append([]string(nil), all...)
		assignments[i] = damaged.key + "=" + damaged.value
		got := parse(t, assignments...)
		if got.RefusesMesh() != damaged.mesh {
			t.Errorf("%s: mesh refused is %v", damaged.key, got.RefusesMesh())
		}
		if !got.IsRefused(damaged.key) || len(got.Refused) != 1 {
			t.Errorf("%s: refused %v", damaged.key, got.Refused)
		}
		want := whole
		damaged.off(&want)
		want.Refused = got.Refused
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v\nwant %+v", damaged.key, got, want)
		}
	}
}

func TestARefusedGatewayIsNotTheDefaultOne(t *testing.T) {
	if c := parse(t, "net.gw=x"); c.Gateway.IsValid() || c.Address != DefaultAddress {
		t.Errorf("gateway is %v, address %v", c.Gateway, c.Address)
	}
}

func TestTheAuthorityListensAndAMemberDials(t *testing.T) {
	for _, test := range []struct {
		root, peer string
		refused    bool
	}{
		{"self", ":7070", false},
		{"self", "10.7.0.10:7070", true},
		{keyText, ":7070", true},
		{keyText, "10.7.0.10:7070", false},
	} {
		// The order in the environment does not matter.
		for _, c := range []Config{
			parse(t, "mesh.root="+test.root, "mesh.peer="+test.peer),
			parse(t, "mesh.peer="+test.peer, "mesh.root="+test.root),
		} {
			want := []Refusal(nil)
			if test.refused {
				want = []Refusal{{KeyPeer, ReasonRole}}
			}
			if !reflect.DeepEqual(c.Refused, want) || c.Peer.IsZero() != test.refused {
				t.Errorf("%s at %s: %v", test.peer, test.root, c.Refused)
			}
		}
	}
}

func TestOnlyTheAuthorityAllows(t *testing.T) {
	allow := "mesh.allow=" + hexID
	for _, test := range []struct {
		root string
		want []Refusal
	}{
		{"mesh.root=self", nil},
		{"mesh.root=" + keyText, []Refusal{{KeyAllow, ReasonRole}}},
		{"mesh.fail=1", nil}, // no root named yet
	} {
		c := parse(t, allow, test.root)
		if !reflect.DeepEqual(c.Refused, test.want) || (c.Allow == nil) != (test.want != nil) {
			t.Errorf("%s: allows %v, refused %v", test.root, c.Allow, c.Refused)
		}
	}
}

func TestUnknownKeysAreListedOnceInOrder(t *testing.T) {
	c := parse(t, "foo=1", "mesh.fail=1", "Mesh.fail=1", "mesh.fai=1")
	if want := []string{"foo", "Mesh.fail", "mesh.fai"}; !reflect.DeepEqual(c.Unknown, want) {
		t.Errorf("unknown %q, want %q", c.Unknown, want)
	}
	if len(c.Refused) != 0 {
		t.Errorf("refused %v", c.Refused)
	}
}

// TestDamagedStringsRefuseTheirKeys goes from bytes on the chip to the configuration.
func TestDamagedStringsRefuseTheirKeys(t *testing.T) {
	for _, test := range []struct {
		bytes string
		want  []Refusal
	}{
		{"mesh.fail=1\x00mesh.fail=1\x00\x00", []Refusal{{KeyFail, "duplicate"}}},
		{"net.ip=10.7.0.1\xb10/24\x00\x00", []Refusal{{KeyIP, "non-ascii"}}},
		{"net.ip\x00\x00", []Refusal{{KeyIP, "no-equals"}}},
		{"net.ip=10.7.0.10/24", []Refusal{{KeyIP, "unterminated"}}},
		{"=1\x00foo=1\x00foo=2\x00\x00x", []Refusal{
			{"", "empty-name"}, {"foo", "duplicate"}, {"", "trailing"}}},
	} {
		e, faults := nvram.ParseEnvironment([]byte(test.bytes))
		c := Load(nvram.EnvironmentRecord{Environment: e, Faults: faults})
		if !reflect.DeepEqual(c.Refused, test.want) {
			t.Errorf("%q: refused %v, want %v", test.bytes, c.Refused, test.want)
		}
		if c.Fail {
			t.Errorf("%q: failure detection is on", test.bytes)
		}
		if c.IsRefused(KeyIP) && (c.Address.IsValid() || c.Gateway.IsValid()) {
			t.Errorf("%q: address is %v, gateway %v", test.bytes, c.Address, c.Gateway)
		}
	}
}

func TestProvisioningRefusesWhatTheNodeWouldNotUse(t *testing.T) {
	e, err := nvram.NewEnvironment("mesh.fail=0", "foo=1", "mesh.route=1")
	if err != nil {
		t.Fatal(err)
	}
	const want = "environment: mesh.fail=0 refused: flag\nenvironment: unknown key foo"
	if err := Check(e); err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if !e.Unset("mesh.fail") || !e.Unset("foo") {
		t.Fatal("not set")
	}
	if err := Check(e); err != nil {
		t.Error(err)
	}
}
