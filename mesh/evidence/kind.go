package evidence

import (
	"slices"
	"strconv"
	"strings"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// Kind is the kind of a field's value.
type Kind uint8

// The kinds of values.
const (
	KindWord    Kind = iota // one of the field's Words
	KindText                // 1 to 80 visible ASCII characters
	KindNode                // 32 hex digits, not all zero
	KindNodes               // 1 to view.MaxMembers node ids, ascending, with commas
	KindObject              // 64 hex digits
	KindDigest              // 32 hex digits
	KindBoot                // 16 hex digits, not all zero
	KindEpoch               // 1 to 2^64-1
	KindNumber              // 0 to 2^64-1
	KindCount               // 0 to 65535
	KindMillis              // 0 to 2^63-1 milliseconds
	KindFlag                // 0 or 1
	KindIP                  // an IPv4 address
	KindIPPort              // an IPv4 address and a port
	KindRequest             // client/boot/seq, see wire.Request
	KindStatus              // ok or a refusal word
)

// kinds says of each kind how docs/evidence.md calls it and which texts are such a value. KindWord
// has no check here, since its words belong to the field.
var kinds = [...]struct {
	name string
	ok   func(string) bool
}{
	KindWord:    {"word", nil},
	KindText:    {"text", isText},
	KindNode:    {"node", isNode},
	KindNodes:   {"nodes", parses(parseNodes)},
	KindObject:  {"object", parses(id.ParseObject)},
	KindDigest:  {"digest", parses(id.ParseDigest)},
	KindBoot:    {"boot", isBoot},
	KindEpoch:   {"epoch", parses(id.ParseEpoch)},
	KindNumber:  {"number", parses(parseUint)},
	KindCount:   {"count", isCount},
	KindMillis:  {"ms", parses(parseMillis[when.Span])},
	KindFlag:    {"0|1", parses(parseBool)},
	KindIP:      {"ip", isIP},
	KindIPPort:  {"ip:port", isIPPort},
	KindRequest: {"request", parses(wire.ParseRequest)},
	KindStatus:  {"ok|refusal", isStatus},
}

// String returns the kind's name in docs/evidence.md.
func (k Kind) String() string { return kinds[k].name }

// allows reports whether v is a value of the field.
func (f Field) allows(v string) bool {
	switch {
	case v == absent && f.Kind != KindText:
		return f.OrNone
	case f.Kind == KindWord:
		return slices.Contains(f.Words, v)
	}
	return kinds[f.Kind].ok(v)
}

func parses[T any](parse func(string) (T, error)) func(string) bool {
	return func(s string) bool {
		_, err := parse(s)
		return err == nil
	}
}

const textMax = 80

func isText(s string) bool {
	return s != "" && len(s) <= textMax && clean(s) == s
}

// isNode and isBoot leave out zero, which is written none.
func isNode(s string) bool {
	n, err := id.ParseNode(s)
	return err == nil && !n.IsZero()
}

func isBoot(s string) bool {
	b, err := id.ParseBoot(s)
	return err == nil && b != 0
}

func isCount(s string) bool {
	v, err := parseUint(s)
	return err == nil && v <= 1<<16-1
}

func isIP(s string) bool {
	parts := strings.Split(s, ".")
	for _, p := range parts {
		if v, err := parseUint(p); err != nil || v > 255 {
			return false
		}
	}
	return len(parts) == 4
}

func isIPPort(s string) bool {
	ip, port, ok := strings.Cut(s, ":")
	return ok && isIP(ip) && isCount(port)
}

func isStatus(s string) bool {
	_, ok := refusal.Parse(s)
	return ok
}

func parseUint(s string) (uint64, error) {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil || s[0] == '0' && len(s) > 1 {
		return 0, errValue
	}
	return v, nil
}

func parseMillis[T ~int64](s string) (T, error) {
	v, err := parseUint(s)
	if err != nil || v > 1<<63-1 {
		return 0, errValue
	}
	return T(v), nil
}

func parseBool(s string) (bool, error) {
	if s != "0" && s != "1" {
		return false, errValue
	}
	return s == "1", nil
}

func parseNodes(s string) ([]id.Node, error) {
	var ns []id.Node
	for part := range strings.SplitSeq(s, ",") {
		n, err := id.ParseNode(part)
		sorted := len(ns) == 0 || ns[len(ns)-1].Compare(n) < 0
		if err != nil || !sorted || len(ns) == view.MaxMembers {
			return nil, errValue
		}
		ns = append(ns, n)
	}
	return ns, nil
}
