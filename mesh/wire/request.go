package wire

import (
	"errors"
	"strconv"
	"strings"

	"holdfast/mesh/id"
)

// ErrRequest is the error for a text that is not a request identity.
var ErrRequest = errors.New("wire: malformed request identity, want client/boot/seq")

// String returns client/boot/seq: 32 hex digits, 16 hex digits and a decimal number.
func (r Request) String() string {
	return r.Client.String() + "/" + r.Boot.String() + "/" + strconv.FormatUint(r.Seq, 10)
}

// ParseRequest reads what Request.String writes; seq is from 1 and has no leading zeros.
func ParseRequest(s string) (Request, error) {
	client, rest, ok1 := strings.Cut(s, "/")
	boot, seq, ok2 := strings.Cut(rest, "/")
	c, err1 := id.ParseClient(client)
	b, err2 := id.ParseBoot(boot)
	n, err3 := strconv.ParseUint(seq, 10, 64)
	if !ok1 || !ok2 || err1 != nil || err2 != nil || err3 != nil || n == 0 || seq[0] < '1' {
		return Request{}, ErrRequest
	}
	return Request{Client: c, Boot: b, Seq: n}, nil
}

// String returns the operation as it is written in evidence and HTTP; "none" for no operation.
func (o Op) String() string { return text(opNames[:], uint8(o)) }

// String returns the class as it is written in evidence and HTTP; "none" for no class.
func (c Class) String() string { return text(classNames[:], uint8(c)) }

// String returns the durability as it is written in evidence and HTTP.
func (d Durability) String() string { return text(durabilityNames[:], uint8(d)) }

var (
	opNames         = [...]string{"none", "stat", "commit"}
	classNames      = [...]string{"none", "lease", "authoritative", "stale-ok"}
	durabilityNames = [...]string{"none", "local", "replicated"}
)

func text(names []string, i uint8) string {
	if int(i) >= len(names) {
		return "invalid"
	}
	return names[i]
}
