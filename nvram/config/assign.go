package config

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"holdfast/nvram"
)

// Assignments is the configuration as NAME=VALUE strings, in the order of the keys of spec section
// 2, without those that say what their absence says. Parse makes the same configuration of them,
// but for Refused and Unknown.
func (c *Config) Assignments() []string {
	var list []string
	add := func(key, value string) {
		if value != "" {
			list = append(list, key+"="+value)
		}
	}
	flag := func(key string, on bool) {
		if on {
			add(key, "1")
		}
	}
	if c.Address != DefaultAddress || c.Gateway != DefaultGateway {
		add(KeyIP, c.Address.String())
		add(KeyGW, text(c.Gateway))
	}
	add(KeyPeer, c.Peer.text())
	add(KeyRoot, c.Root.text())
	add(KeyAllow, allowText(c.Allow))
	flag(KeyFail, c.Fail)
	flag(KeyRoute, c.Route)
	if c.Epoch != EpochDefault {
		add(KeyEpoch, strconv.FormatUint(c.Epoch, 10))
	}
	add(KeyLab, labText(c.Lab, c.Tape))
	add(KeyTime, c.Timing.text())
	add(KeyAcks, acksText(c.AcksAll, c.Tape))
	flag(KeyPprof, c.Pprof)
	return list
}

// Environment is the configuration as an environment. What does not fit is refused with the number
// of bytes that it takes, and so is a value that Parse would refuse.
func (c *Config) Environment() (*nvram.Environment, error) {
	e, err := nvram.NewEnvironment(c.Assignments()...)
	if err != nil {
		return nil, err
	}
	if err := Check(e); err != nil {
		return nil, err
	}
	return e, nil
}

func text(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func (p Peer) text() string {
	if p.IsZero() {
		return ""
	}
	return text(p.Host) + ":" + strconv.Itoa(int(p.Port))
}

func (r Root) text() string {
	switch {
	case r.IsZero():
		return ""
	case r.Self:
		return "self"
	}
	return r.Key.String()
}

// labText has room for both in one value: a key more would not fit beside the longest others.
func labText(lab, tape bool) string {
	switch {
	case lab && tape:
		return withTape
	case lab:
		return "1"
	}
	return ""
}

// acksText has room for both for the same reason: without leases there is no lab.
func acksText(acks, tape bool) string {
	switch {
	case acks && tape:
		return withTape
	case acks:
		return acksAll
	}
	return ""
}

func allowText(ids []ID) string {
	var items []string
	for _, id := range ids {
		items = append(items, id.short())
	}
	return strings.Join(items, ",")
}

func (t Timing) text() string {
	if t == (Timing{}) {
		return ""
	}
	var parts []string
	for _, d := range []time.Duration{t.Heartbeat, t.Suspect, t.Fail, t.Lease} {
		parts = append(parts, strconv.FormatInt(d.Milliseconds(), 10))
	}
	return strings.Join(parts, ",")
}
