package evidence

import (
	"strconv"
	"strings"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// Max is the length of the longest line, in bytes.
const Max = 512

// absent is how a value that does not exist is written.
const absent = "none"

// Line is one line of evidence: an immutable value, comparable with ==. Each of its methods that
// takes a key returns the line with one more field; fields are added in the order of the row.
// Building does not check the grammar: Check does, and Parse.
type Line struct{ text string }

// New starts a line: New("mesh-fail", "suspect"). The prefix Single has no words.
func New(prefix string, words ...string) Line {
	if prefix == Single {
		return Line{prefix}
	}
	text := prefix + ":"
	for _, w := range words {
		text += " " + w
	}
	return Line{text}
}

// StatusLine starts a line of an HTTP answer with its head: node, member, tick, peer, bucket, or
// nothing for a row of GET /mesh/homes.
func StatusLine(head string) Line { return Line{head} }

func (l Line) field(key, value string) Line {
	if l.text == "" {
		return Line{key + "=" + value}
	}
	return Line{l.text + " " + key + "=" + value}
}

// Str adds a word of the grammar or a text from outside, such as the name of an environment key:
// bytes that a value cannot hold become '?', and it is cut at 80 bytes.
func (l Line) Str(key, v string) Line {
	if v == "" {
		v = "?"
	}
	return l.field(key, clean(v[:min(len(v), textMax)]))
}

// Word adds a refusal word.
func (l Line) Word(key string, w refusal.Word) Line { return l.field(key, w.String()) }

// Node adds a node id, none for the zero id.
func (l Line) Node(key string, n id.Node) Line {
	if n.IsZero() {
		return l.None(key)
	}
	return l.field(key, n.String())
}

// Nodes adds a list of node ids, none when it is empty.
func (l Line) Nodes(key string, ns []id.Node) Line {
	if len(ns) == 0 {
		return l.None(key)
	}
	var b strings.Builder
	for i, n := range ns {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(n.String())
	}
	return l.field(key, b.String())
}

// Object adds an object id.
func (l Line) Object(key string, o id.Object) Line { return l.field(key, o.String()) }

// Digest adds a digest.
func (l Line) Digest(key string, d id.Digest) Line { return l.field(key, d.String()) }

// Boot adds a boot, none for zero.
func (l Line) Boot(key string, b id.Boot) Line {
	if b == 0 {
		return l.None(key)
	}
	return l.field(key, b.String())
}

// Epoch adds an epoch, none for zero.
func (l Line) Epoch(key string, e id.Epoch) Line {
	if e == 0 {
		return l.None(key)
	}
	return l.field(key, e.String())
}

// Request adds a request identity.
func (l Line) Request(key string, r wire.Request) Line { return l.field(key, r.String()) }

// Uint adds a number.
func (l Line) Uint(key string, v uint64) Line { return l.field(key, strconv.FormatUint(v, 10)) }

// Int adds a number that is never negative.
func (l Line) Int(key string, v int64) Line { return l.field(key, strconv.FormatInt(v, 10)) }

// Span adds a length of time in milliseconds; the key ends in _ms.
func (l Line) Span(key string, s when.Span) Line {
	return l.field(key, strconv.FormatInt(int64(s), 10))
}

// Instant adds an instant in milliseconds since boot, none for when.Never.
func (l Line) Instant(key string, t when.Instant) Line {
	if t == when.Never {
		return l.None(key)
	}
	return l.field(key, strconv.FormatInt(int64(t), 10))
}

// Bool adds 1 or 0.
func (l Line) Bool(key string, v bool) Line {
	if v {
		return l.field(key, "1")
	}
	return l.field(key, "0")
}

// None adds a value that does not exist.
func (l Line) None(key string) Line { return l.field(key, absent) }

// At adds the instant of the event, which ends the line.
func (l Line) At(t when.Instant) Line { return l.Instant(atKey, t) }

const atKey = "at"

// String returns the line without a line end.
func (l Line) String() string { return l.text }

// AppendTo appends the line, without a line end, to dst.
func (l Line) AppendTo(dst []byte) []byte { return append(dst, l.text...) }

// clean replaces every byte that is no visible ASCII character by '?'.
func clean(s string) string {
	for i := range len(s) {
		if !visible(s[i]) {
			b := []byte(s)
			for j := range b {
				if !visible(b[j]) {
					b[j] = '?'
				}
			}
			return string(b)
		}
	}
	return s
}

func visible(c byte) bool { return c > ' ' && c <= '~' }
