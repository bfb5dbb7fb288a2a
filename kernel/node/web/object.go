package web

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// What a request for an object says, besides its name: 1 to 64 letters, digits, '.', '_' or '-',
// the first a letter or a digit. Each header may stand once. Those of choice have the names that
// the result row of the evidence has.
//
//	Authorization         Holdfast <capability>, 172 characters of base64url
//	Class                 GET: authoritative (unless told otherwise), lease or stale-ok
//	Durability            PUT: replicated (unless told otherwise) or local
//	Copies                PUT: how many nodes must store the value, 1 (unless told otherwise) to 5;
//	                      refused as not-current when the view has fewer
//	Within                how many milliseconds the client will wait, 1 to 15000: unless told
//	                      otherwise 5000 for GET and 15000 for PUT
//	If-Version            PUT: the version that is to be replaced; 0: the object must not exist
//	Holdfast-Request      <client>/<boot>/<seq>: the client's own name for the request, the same
//	                      when it is sent again (32 hex digits, 16 hex digits, a number from 1)
//	Holdfast-First-Epoch  goes with it: the epoch in which the request was first sent. A request
//	                      that is sent again in a later epoch must have it, or it may be done twice
const (
	nameMax   = 64
	scheme    = "Holdfast"
	withinMax = 15_000 // ms: less than AnswerTime

	classKey      = "Class"
	durabilityKey = "Durability"
	copiesKey     = "Copies"
	withinKey     = "Within"
	ifVersionKey  = "If-Version"
	requestKey    = "Holdfast-Request"
	firstEpochKey = "Holdfast-First-Epoch"
)

// object checks the form of a request for an object and hands it on.
func (h handler) object(w http.ResponseWriter, r *http.Request, name string) Answer {
	commit := r.Method == http.MethodPut
	switch {
	case !commit && !isGet(r):
		return wrongMethod(allowObject)
	case !validName(name):
		return malformed("an object's name is 1 to " + strconv.Itoa(nameMax) +
			" of a-z A-Z 0-9 . _ - and begins with a letter or a digit")
	case r.URL.RawQuery != "":
		return noQuery
	case !commit && r.ContentLength != 0:
		return bodyOfGet
	case h.site.NoMesh != nil:
		return h.site.NoMesh()
	}
	q := mesh.Request{
		Name: name, Op: wire.Stat, Class: wire.Authoritative, IfVersion: wire.AnyVersion,
	}
	if commit {
		q.Op, q.Durability = wire.Commit, wire.Replicated
	}
	if wrong := choose(&q, r.Header); wrong != "" {
		return malformed(wrong)
	}
	var wrong string
	if q.Capability, wrong = credentials(r.Header["Authorization"]); wrong != "" {
		return Word(refusal.BadCapability, wrong)
	}
	if commit {
		value, refused := body(w, r)
		if refused != nil {
			return *refused
		}
		q.Value = value
	}
	return h.site.Object(r.Context(), q)
}

// validName keeps names printable, one path element, and out of the way of clients that resolve
// "." and "..".
func validName(name string) bool {
	if name == "" || len(name) > nameMax {
		return false
	}
	for i := range len(name) {
		c := name[i]
		alphanumeric := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alphanumeric && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

// choose fills in what the headers choose. It returns what is wrong with them, if anything.
func choose(q *mesh.Request, header http.Header) (wrong string) {
	p := choices{header: header, op: q.Op}
	p.take(classKey, wire.Stat, "lease, authoritative or stale-ok", func(v string) bool {
		return named(&q.Class, v, wire.Lease, wire.Authoritative, wire.StaleOK)
	})
	p.take(durabilityKey, wire.Commit, "local or replicated", func(v string) bool {
		return named(&q.Durability, v, wire.Local, wire.Replicated)
	})
	p.take(copiesKey, wire.Commit, "1 to "+strconv.Itoa(wire.CopiesMax), func(v string) bool {
		n, ok := decimal(v, wire.CopiesMax)
		q.Copies = uint8(n)
		return ok
	})
	p.take(withinKey, q.Op, "a number of milliseconds, 1 to "+strconv.Itoa(withinMax),
		func(v string) bool {
			n, ok := decimal(v, withinMax)
			q.Within = when.Span(n)
			return ok
		})
	p.take(ifVersionKey, wire.Commit, "a decimal number, a version", func(v string) bool {
		n, err := strconv.ParseUint(v, 10, 64)
		q.IfVersion = n
		return err == nil && strconv.FormatUint(n, 10) == v && n != wire.AnyVersion
	})
	p.take(requestKey, q.Op, "<client 32 hex>/<boot 16 hex>/<seq>", func(v string) (ok bool) {
		var err error
		q.Identity, err = wire.ParseRequest(v)
		return err == nil
	})
	p.take(firstEpochKey, q.Op, "a decimal number from 1, an epoch", func(v string) bool {
		var err error
		q.FirstEpoch, err = id.ParseEpoch(v)
		return err == nil
	})
	if p.wrong == "" && q.FirstEpoch != 0 && q.Identity.Seq == 0 {
		return firstEpochKey + " goes with " + requestKey
	}
	return p.wrong
}

// decimal reads a number from 1 to limit as it is written without leading zeros.
func decimal(v string, limit int) (int, bool) {
	n, err := strconv.Atoi(v)
	return n, err == nil && strconv.Itoa(n) == v && n >= 1 && n <= limit
}

// choices takes headers one by one until one is wrong.
type choices struct {
	header http.Header
	op     wire.Op
	wrong  string
}

// take hands the value of a header, if there is one, to set, which reports whether it is one of
// those that a sentence describes. The header is for one operation only.
func (p *choices) take(key string, op wire.Op, want string, set func(value string) bool) {
	values := p.header[key]
	switch {
	case p.wrong != "" || len(values) == 0:
	case op != p.op && op == wire.Stat:
		p.wrong = key + " is for GET"
	case op != p.op:
		p.wrong = key + " is for PUT"
	case len(values) > 1:
		p.wrong = key + " is there twice"
	case !set(values[0]):
		p.wrong = key + " is " + want
	}
}

// named sets to to the one of these that is written s.
func named[T interface{ String() string }](to *T, s string, these ...T) bool {
	for _, v := range these {
		if v.String() == s {
			*to = v
			return true
		}
	}
	return false
}

// credentials reads the values of Authorization, or says what is wrong with them.
func credentials(values []string) (c [capability.Size]byte, wrong string) {
	if len(values) == 0 {
		return c, "there is none, want Authorization: " + scheme + " <base64url>"
	}
	given, text, _ := strings.Cut(values[0], " ")
	size := base64.RawURLEncoding.EncodedLen(capability.Size)
	switch {
	case len(values) > 1:
		return c, "there are two"
	case !strings.EqualFold(given, scheme): // RFC 9110 section 11.1
		return c, "the scheme of Authorization is " + scheme
	case len(text) != size:
		return c, "it has " + strconv.Itoa(len(text)) + " characters, a capability has " +
			strconv.Itoa(size)
	}
	c, err := capability.ParseText(text)
	if err != nil {
		return c, "it is not base64url without padding"
	}
	return c, ""
}
