package config

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/nvram"
)

// keys is the table of the package comment: every key with what reads its value into a Config. An
// empty reason accepts it. Later rows may rely on what earlier ones read.
var keys = []struct {
	name  string
	parse func(c *Config, value string) Reason
}{
	{KeyIP, parseIP},
	{KeyGW, parseGateway},
	{KeyRoot, parseRoot},
	{KeyPeer, parsePeer},
	{KeyAllow, parseAllow},
	{KeyFail, func(c *Config, v string) Reason { return parseFlag(&c.Fail, v) }},
	{KeyRoute, func(c *Config, v string) Reason { return parseFlag(&c.Route, v) }},
	{KeyEpoch, parseEpoch},
	{KeyLab, parseLab},
	{KeyTime, parseTime},
	{KeyAcks, parseAcks},
	{KeyPprof, func(c *Config, v string) Reason { return parseFlag(&c.Pprof, v) }},
}

func isKey(name string) bool {
	for _, k := range keys {
		if k.name == name {
			return true
		}
	}
	return false
}

// Parse reads the configuration. A fault that names a key refuses the key: its string is damaged,
// or there are two and nobody can say which was meant.
func Parse(e *nvram.Environment, faults []nvram.Fault) Config {
	c := Config{Epoch: EpochDefault}
	if _, ok := e.Get(KeyIP); !ok {
		c.Address, c.Gateway = DefaultAddress, DefaultGateway
	}
	for _, k := range keys {
		value, ok := e.Get(k.name)
		reason := damage(k.name, faults)
		if ok && reason == "" {
			if reason = ReasonEmpty; value != "" {
				reason = k.parse(&c, value)
			}
		}
		if reason != "" {
			c.refuse(k.name, reason)
		}
	}
	for _, f := range faults {
		if !isKey(f.Name) {
			c.Refused = append(c.Refused, Refusal{f.Name, Reason(f.Reason)})
		}
	}
	for name := range e.All() {
		if !isKey(name) {
			c.Unknown = append(c.Unknown, name)
		}
	}
	return c
}

// Check is for provisioning: it accepts an environment only if a node would use all of it. The
// error names every refused value and every unknown key.
func Check(e *nvram.Environment) error {
	c := Parse(e, nil)
	var errs []error
	for _, r := range c.Refused {
		value, _ := e.Get(r.Key)
		errs = append(errs, fmt.Errorf("environment: %s=%s refused: %s", r.Key, value, r.Reason))
	}
	for _, name := range c.Unknown {
		errs = append(errs, fmt.Errorf("environment: unknown key %s", name))
	}
	return errors.Join(errs...)
}

// damage is the reason of the first fault that names the key.
func damage(key string, faults []nvram.Fault) Reason {
	for _, f := range faults {
		if f.Name == key {
			return Reason(f.Reason)
		}
	}
	return ""
}

// refuse takes away what the key decides and reports it. The parsers set nothing when they refuse,
// so that only the defaults have to go.
func (c *Config) refuse(key string, reason Reason) {
	switch key {
	case KeyIP:
		c.Address, c.Gateway = netip.Prefix{}, netip.Addr{}
	case KeyGW:
		c.Gateway = netip.Addr{}
	case KeyEpoch:
		c.Epoch = 0
	}
	c.Refused = append(c.Refused, Refusal{key, reason})
}

func parseIP(c *Config, v string) Reason {
	host, _, found := strings.Cut(v, "/")
	if !found {
		return ReasonPrefix
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return ReasonAddress
	}
	p, err := netip.ParsePrefix(v)
	switch {
	case err != nil || p.Bits() < 1 || p.Bits() > 30:
		return ReasonPrefix
	case !isHost(p.Addr(), p):
		return ReasonAddress
	}
	c.Address = p
	return ""
}

func parseGateway(c *Config, v string) Reason {
	addr, err := netip.ParseAddr(v)
	switch {
	case err != nil || !isUnicast(addr):
		return ReasonAddress
	case !c.Address.IsValid():
		return "" // net.ip was refused and says so; without a network there is no gateway
	case !isHost(addr, c.Address) || addr == c.Address.Addr():
		return ReasonSubnet
	}
	c.Gateway = addr
	return ""
}

func parseRoot(c *Config, v string) Reason {
	if v == "self" {
		c.Root = Root{Self: true}
		return ""
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(v)
	switch {
	case err != nil:
		return ReasonBase64
	case len(b) != len(Key{}) || Key(b) == Key{}:
		return ReasonKey
	}
	c.Root = Root{Key: Key(b)}
	return ""
}

// parsePeer also checks that the authority listens and a member dials, once it is known which of
// them this node is.
func parsePeer(c *Config, v string) Reason {
	host, port, found := strings.Cut(v, ":")
	if !found {
		return ReasonPort
	}
	n, reason := decimal(port, 1, 1<<16-1)
	if reason != "" {
		return ReasonPort
	}
	p := Peer{Port: uint16(n)}
	if host != "" {
		addr, err := netip.ParseAddr(host)
		if err != nil || !isUnicast(addr) {
			return ReasonAddress
		}
		p.Host = addr
	}
	if !c.Root.IsZero() && c.Root.Self != p.Listens() {
		return ReasonRole
	}
	c.Peer = p
	return ""
}

// parseAllow is for the authority alone. A member confirms nobody; a list there is a mistake that
// would also crowd out what a member needs.
func parseAllow(c *Config, v string) Reason {
	if !c.Root.IsZero() && !c.Root.Self {
		return ReasonRole
	}
	items := strings.Split(v, ",")
	if len(items) > AllowMax {
		return ReasonCount
	}
	var ids []ID
	for _, item := range items {
		id, ok := parseID(item)
		switch {
		case !ok:
			return ReasonID
		case slices.Contains(ids, id):
			return ReasonDuplicate
		}
		ids = append(ids, id)
	}
	c.Allow = ids
	return ""
}

// parseID takes either form of an id. Each is compared with what it decodes to, which leaves one
// spelling of an id in either form.
func parseID(s string) (ID, bool) {
	if b, err := hex.DecodeString(s); err == nil && len(b) == len(ID{}) {
		return ID(b), ID(b).String() == s
	}
	if b, err := base64.RawURLEncoding.DecodeString(s); err == nil && len(b) == len(ID{}) {
		return ID(b), ID(b).short() == s
	}
	return ID{}, false
}

// short is the id in base64url without padding, 22 characters.
func (id ID) short() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

func parseFlag(flag *bool, v string) Reason {
	if v != "1" {
		return ReasonFlag
	}
	*flag = true
	return ""
}

// withTape is the value of mesh.lab, or of mesh.acks, with a tape.
const withTape = "tape"

func parseLab(c *Config, v string) Reason {
	if v == withTape {
		c.Lab, c.Tape = true, true
		return ""
	}
	return parseFlag(&c.Lab, v)
}

func parseEpoch(c *Config, v string) Reason {
	n, reason := decimal(v, 1, EpochMax)
	if reason == "" {
		c.Epoch = n
	}
	return reason
}

func parseTime(c *Config, v string) Reason {
	var t Timing
	parts := strings.Split(v, ",")
	fields := []*time.Duration{&t.Heartbeat, &t.Suspect, &t.Fail, &t.Lease}
	if len(parts) != len(fields) {
		return ReasonCount
	}
	for i, field := range fields {
		n, reason := decimal(parts[i], 1, uint64(TimeMax/time.Millisecond))
		if reason != "" {
			return reason
		}
		*field = time.Duration(n) * time.Millisecond
	}
	c.Timing = t
	return ""
}

func parseAcks(c *Config, v string) Reason {
	if v != acksAll && v != withTape {
		return ReasonWord
	}
	c.AcksAll = true
	c.Tape = c.Tape || v == withTape
	return ""
}

// decimal reads a number within limits, both included. Only the one spelling that the number would
// be printed with is taken.
func decimal(v string, low, high uint64) (uint64, Reason) {
	n, err := strconv.ParseUint(v, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, ReasonRange
	case err != nil || strconv.FormatUint(n, 10) != v:
		return 0, ReasonNumber
	case n < low || n > high:
		return 0, ReasonRange
	}
	return n, ""
}

// isUnicast says that a host can have the address: an IPv4 one that is neither 0.x, loopback,
// link-local, multicast nor reserved.
func isUnicast(a netip.Addr) bool {
	return a.Is4() && a.IsGlobalUnicast() && a.As4()[0] != 0 && a.As4()[0] < 240
}

// isHost says that a can be a host's address on the network: not the network's own address, not
// its broadcast address.
func isHost(a netip.Addr, network netip.Prefix) bool {
	if !isUnicast(a) || !network.Contains(a) {
		return false
	}
	// A neighbour outside the network means that a is the first or the last address of it.
	return network.Contains(a.Prev()) && network.Contains(a.Next())
}
