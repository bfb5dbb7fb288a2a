package evidence

import (
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
func New(prefix string, words ...string) Line { return Begin(prefix, words...).Line() }

// StatusLine starts a line of an HTTP answer with its head: node, member, tick, peer, bucket, or
// nothing for a row of GET /mesh/homes.
func StatusLine(head string) Line { return Line{head} }

// Str adds a word of the grammar or a text from outside, such as the name of an environment key:
// bytes that a value cannot hold become '?', and it is cut at 80 bytes.
func (l Line) Str(key, v string) Line { return l.draft().Str(key, v).Line() }

// Word adds a refusal word.
func (l Line) Word(key string, w refusal.Word) Line { return l.draft().Word(key, w).Line() }

// Node adds a node id, none for the zero id.
func (l Line) Node(key string, n id.Node) Line { return l.draft().Node(key, n).Line() }

// Nodes adds a list of node ids, none when it is empty.
func (l Line) Nodes(key string, ns []id.Node) Line { return l.draft().Nodes(key, ns).Line() }

// Object adds an object id.
func (l Line) Object(key string, o id.Object) Line { return l.draft().Object(key, o).Line() }

// Digest adds a digest.
func (l Line) Digest(key string, d id.Digest) Line { return l.draft().Digest(key, d).Line() }

// Boot adds a boot, none for zero.
func (l Line) Boot(key string, b id.Boot) Line { return l.draft().Boot(key, b).Line() }

// Epoch adds an epoch, none for zero.
func (l Line) Epoch(key string, e id.Epoch) Line { return l.draft().Epoch(key, e).Line() }

// Request adds a request identity.
func (l Line) Request(key string, r wire.Request) Line { return l.draft().Request(key, r).Line() }

// Uint adds a number.
func (l Line) Uint(key string, v uint64) Line { return l.draft().Uint(key, v).Line() }

// Int adds a number that is never negative.
func (l Line) Int(key string, v int64) Line { return l.draft().Int(key, v).Line() }

// Span adds a length of time in milliseconds; the key ends in _ms.
func (l Line) Span(key string, s when.Span) Line { return l.draft().Span(key, s).Line() }

// Instant adds an instant in milliseconds since boot, none for when.Never.
func (l Line) Instant(key string, t when.Instant) Line { return l.draft().Instant(key, t).Line() }

// Bool adds 1 or 0.
func (l Line) Bool(key string, v bool) Line { return l.draft().Bool(key, v).Line() }

// None adds a value that does not exist.
func (l Line) None(key string) Line { return l.draft().None(key).Line() }

// At adds the instant of the event, which ends the line.
func (l Line) At(t when.Instant) Line { return l.draft().At(t).Line() }

const atKey = "at"

// draft goes on with the line, with room for one more field.
func (l Line) draft() *Draft {
	const room = 80 // an object's id, which is the longest value but for lists, and its key
	return &Draft{append(make([]byte, 0, len(l.text)+room), l.text...)}
}

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
