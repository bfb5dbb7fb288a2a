package replay

import (
	"errors"
	"slices"

	"golang.org/x/crypto/cryptobyte"

	"holdfast/mesh/id"
	"holdfast/mesh/wire"
)

// The encoding of a window, which moves with the record (wire.Move):
//
//	count 1, then for each remembered request, oldest first:
//	  client 16, boot 8, sequence 8, digest 16, op 1, version 8, durability 1, copies 1
//	count 1, then for each mark: client 16, boot 8, sequence 8
//
// At most 8*59 + 8*32 + 2 = 730 bytes: below wire.WindowMax. No bytes at all are the empty window.
const (
	entrySize = 16 + 8 + 8 + 16 + 1 + 8 + 1 + 1
	markSize  = 16 + 8 + 8
)

// ErrMalformed is the error for bytes that Append does not produce.
var ErrMalformed = errors.New("replay: malformed window")

// Append encodes w at the end of dst. An empty window adds nothing.
func (w *Window) Append(dst []byte) []byte {
	if w.n == 0 {
		return dst // without a remembered request there is no mark either
	}
	b := cryptobyte.NewBuilder(slices.Grow(dst, 2+w.n*entrySize+w.marked*markSize))
	b.AddUint8(uint8(w.n))
	for i := range w.n {
		e := &w.entries[i]
		addRequest(b, e.request)
		b.AddBytes(e.digest[:])
		b.AddUint8(uint8(e.op))
		b.AddUint64(e.reply.Version)
		b.AddUint8(uint8(e.reply.Durability))
		b.AddUint8(e.reply.Copies)
	}
	b.AddUint8(uint8(w.marked))
	for i := range w.marked {
		m := &w.marks[i]
		addRequest(b, wire.Request{Client: m.client, Boot: m.boot, Seq: m.seq})
	}
	return b.BytesOrPanic()
}

func addRequest(b *cryptobyte.Builder, r wire.Request) {
	b.AddBytes(r.Client[:])
	b.AddUint64(uint64(r.Boot))
	b.AddUint64(r.Seq)
}

// Parse decodes what Append has encoded.
func Parse(b []byte) (Window, error) {
	var w Window
	if len(b) == 0 {
		return w, nil
	}
	s := cryptobyte.String(b)
	var n, marked uint8
	ok := s.ReadUint8(&n) && n > 0 && n <= Max
	for i := 0; ok && i < int(n); i++ {
		ok = w.entries[i].read(&s)
	}
	ok = ok && s.ReadUint8(&marked) && marked <= Max
	for i := 0; ok && i < int(marked); i++ {
		var r wire.Request
		ok = readRequest(&s, &r)
		w.marks[i] = mark{r.Client, r.Boot, r.Seq}
	}
	if !ok || !s.Empty() {
		return Window{}, ErrMalformed
	}
	w.n, w.marked = int(n), int(marked)
	return w, nil
}

func (e *entry) read(s *cryptobyte.String) bool {
	var op, durability uint8
	ok := readRequest(s, &e.request) && s.CopyBytes(e.digest[:]) && s.ReadUint8(&op) &&
		s.ReadUint64(&e.reply.Version) && s.ReadUint8(&durability) && s.ReadUint8(&e.reply.Copies)
	e.op, e.reply.Durability = wire.Op(op), wire.Durability(durability)
	return ok && (e.op == wire.Stat || e.op == wire.Commit) && e.reply.Durability <= wire.Replicated
}

func readRequest(s *cryptobyte.String, r *wire.Request) bool {
	var boot uint64
	ok := s.CopyBytes(r.Client[:]) && s.ReadUint64(&boot) && s.ReadUint64(&r.Seq) && r.Seq != 0
	r.Boot = id.Boot(boot)
	return ok
}
