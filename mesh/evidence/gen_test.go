package evidence

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// draw adds a field with any of its values to a line, through the method that a kernel would use.
func (f Field) draw(t *rapid.T, l Line) Line {
	if f.OrNone && rapid.Bool().Draw(t, f.Key+" is none") {
		return l.None(f.Key)
	}
	number := func(most uint64) uint64 { return rapid.Uint64Range(0, most).Draw(t, f.Key) }
	hash := func(n int) []byte { return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, f.Key) }
	node := func() id.Node {
		n := id.Node(hash(16))
		n[15] |= 1 // not zero, which is written none
		return n
	}
	switch f.Kind {
	case KindWord:
		return l.Str(f.Key, rapid.SampledFrom(f.Words).Draw(t, f.Key))
	case KindText:
		return l.Str(f.Key, rapid.StringMatching("[!-~]{1,80}").Draw(t, f.Key))
	case KindNode:
		return l.Node(f.Key, node())
	case KindNodes:
		var ns []id.Node
		for range rapid.IntRange(1, view.MaxMembers).Draw(t, f.Key) {
			ns = append(ns, node())
		}
		slices.SortFunc(ns, id.Node.Compare)
		return l.Nodes(f.Key, slices.Compact(ns))
	case KindObject:
		return l.Object(f.Key, id.Object(hash(32)))
	case KindDigest:
		return l.Digest(f.Key, id.Digest(hash(16)))
	case KindBoot:
		return l.Boot(f.Key, id.Boot(rapid.Uint64Min(1).Draw(t, f.Key)))
	case KindEpoch:
		return l.Epoch(f.Key, id.Epoch(rapid.Uint64Min(1).Draw(t, f.Key)))
	case KindNumber:
		return l.Uint(f.Key, number(1<<64-1))
	case KindCount:
		return l.Int(f.Key, int64(number(1<<16-1)))
	case KindMillis:
		return l.Span(f.Key, when.Span(number(1<<63-1)))
	case KindFlag:
		return l.Bool(f.Key, rapid.Bool().Draw(t, f.Key))
	case KindIP:
		return l.Str(f.Key, rapid.StringMatching(ipPattern).Draw(t, f.Key))
	case KindIPPort:
		return l.Str(f.Key, rapid.StringMatching(ipPattern+":"+portPattern).Draw(t, f.Key))
	case KindRequest:
		return l.Request(f.Key, wire.Request{Client: id.Client(hash(16)), Boot: id.Boot(number(9)),
			Seq: rapid.Uint64Min(1).Draw(t, f.Key)})
	case KindStatus:
		return l.Word(f.Key, rapid.SampledFrom(append(refusal.All(), refusal.OK)).Draw(t, f.Key))
	}
	panic("evidence: a kind without a generator: " + f.Kind.String())
}

const (
	ipPattern   = `(25[0-5]|[1-9]?[0-9])(\.(25[0-5]|1?[1-9][0-9]|[0-9])){3}`
	portPattern = `(0|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6553[0-5])`
)

// start returns a line that begins with the row's head, as a kernel would begin it.
func (r Row) start() Line {
	prefix, words, found := strings.Cut(r.Head, ": ")
	switch {
	case !claims(r.Head):
		return StatusLine(r.Head)
	case !found:
		return New(r.Head)
	}
	return New(prefix, strings.Fields(words)...)
}

// draw returns any line of the row.
func (r Row) draw(t *rapid.T) Line {
	l := r.start()
	for _, f := range r.fields() {
		l = f.draw(t, l)
	}
	return l
}

// longest returns the longest line of the row.
func (r Row) longest() Line {
	l := r.start()
	for _, f := range r.fields() {
		l = l.draft().field(f.Key, f.longest()).Line()
	}
	return l
}

// longest returns a value of the field that no other value exceeds in length.
func (f Field) longest() string {
	byLength := func(a, b string) int { return len(a) - len(b) }
	switch f.Kind {
	case KindWord:
		return slices.MaxFunc(f.Words, byLength)
	case KindStatus:
		w := slices.MaxFunc(refusal.All(), func(a, b refusal.Word) int {
			return len(a.String()) - len(b.String())
		})
		return w.String()
	case KindNodes:
		var ns []string
		for i := range view.MaxMembers {
			ns = append(ns, strings.Repeat("0", 31)+string(rune('1'+i)))
		}
		return strings.Join(ns, ",")
	}
	const u64, ip = "18446744073709551615", "255.255.255.255"
	hex := strings.Repeat("f", 64)
	return map[Kind]string{
		KindText: strings.Repeat("x", textMax), KindNode: hex[:32], KindObject: hex,
		KindDigest: hex[:32], KindBoot: hex[:16], KindEpoch: u64, KindNumber: u64, KindCount: "65535",
		KindMillis: "9223372036854775807", KindFlag: "0", KindIP: ip, KindIPPort: ip + ":65535",
		KindRequest: hex[:32] + "/" + hex[:16] + "/" + u64,
	}[f.Kind]
}

// rebuilt adds the field to a line with the value that the typed getter reads from another.
func (f Field) rebuilt(l, from Line) (Line, bool) {
	if v, _ := from.Get(f.Key); v == absent {
		return l.None(f.Key), true
	}
	switch f.Kind {
	case KindNode:
		v, ok := from.GetNode(f.Key)
		return l.Node(f.Key, v), ok
	case KindNodes:
		v, ok := from.GetNodes(f.Key)
		return l.Nodes(f.Key, v), ok
	case KindObject:
		v, ok := from.GetObject(f.Key)
		return l.Object(f.Key, v), ok
	case KindDigest:
		v, ok := from.GetDigest(f.Key)
		return l.Digest(f.Key, v), ok
	case KindBoot:
		v, ok := from.GetBoot(f.Key)
		return l.Boot(f.Key, v), ok
	case KindEpoch:
		v, ok := from.GetEpoch(f.Key)
		return l.Epoch(f.Key, v), ok
	case KindNumber, KindCount:
		v, ok := from.GetUint(f.Key)
		return l.Uint(f.Key, v), ok
	case KindMillis:
		v, ok := from.GetSpan(f.Key)
		return l.Span(f.Key, v), ok
	case KindFlag:
		v, ok := from.GetBool(f.Key)
		return l.Bool(f.Key, v), ok
	case KindRequest:
		v, ok := from.GetRequest(f.Key)
		return l.Request(f.Key, v), ok
	case KindStatus:
		v, ok := from.GetWord(f.Key)
		return l.Word(f.Key, v), ok
	}
	v, ok := from.Get(f.Key)
	return l.Str(f.Key, v), ok
}
