package search

import (
	"crypto/sha256"
	"encoding/binary"

	"holdfast/mesh"
)

// key identifies a world among those of the same second: 128 bits of a SHA-256.
type key [16]byte

// keyer makes keys. It is kept for its memory.
type keyer struct {
	buf      []byte
	nonces   []uint64
	sessions []uint64
}

// key encodes everything that decides a world's future. Nonces and sessions are numbered in the
// order in which they appear: frames come first, then what nodes may yet send, then what nodes only
// wait for. A nonce that one node waits for and nobody else has will never come.
func (k *keyer) key(w *world) key {
	k.buf, k.nonces, k.sessions = k.buf[:0], k.nonces[:0], k.sessions[:0]
	k.buf = append(k.buf, w.left.boots, w.left.writes,
		w.writes.object, w.writes.asked, w.writes.acked)
	for i := range w.links {
		k.link(&w.links[i])
	}
	k.buf = append(k.buf, 0)
	for i := range w.machines {
		k.machine(w, i)
	}
	for i := range w.machines {
		if s := w.machines[i].node; s != nil {
			k.refer(s.refs, true)
		}
	}
	sum := sha256.Sum256(k.buf)
	return key(sum[:])
}

func (k *keyer) link(l *link) {
	name(&k.sessions, uint64(l.id))
	k.buf = append(k.buf, 1, l.peer, byte(bit(l.drain)))
	for i := range l.ends {
		e := &l.ends[i]
		k.buf = append(k.buf, byte(bit(e.open)), byte(e.does))
		k.uint(uint64(len(e.queue)))
		for _, f := range e.queue {
			k.uint(uint64(len(f.code)))
			k.buf = append(k.buf, f.code...)
			k.refer(f.refs, false)
		}
	}
}

func (k *keyer) machine(w *world, i int) {
	m := &w.machines[i]
	k.buf = append(k.buf, byte(m.mode), m.boots, byte(bit(m.ticked)), byte(bit(m.staged != 0)),
		byte(bit(m.dialling)), byte(bit(m.writing)))
	k.marks(&m.marks)
	if m.writing {
		k.marks(&m.write)
	}
	if m.node == nil {
		return
	}
	k.uint(uint64(w.counter(i).Sub(m.node.now)))
	k.uint(uint64(w.t - m.node.at))
	if m.heard != 0 {
		k.uint(uint64(1 + min(w.counter(i).Sub(m.heard), adrLeaseOver)))
	}
	k.buf = append(k.buf, m.node.code[:]...)
	k.refer(m.node.refs, false)
}

func (k *keyer) marks(m *mesh.Marks) {
	k.uint(uint64(m.Signed))
	k.uint(uint64(m.Activated))
	k.buf = append(k.buf, byte(bit(m.NeverRan)), byte(bit(m.MayEmpty)))
}

// refer appends the names of references: of the weak ones, or of the others.
func (k *keyer) refer(refs []reference, weak bool) {
	for i := range refs {
		switch r := &refs[i]; {
		case (r.kind == refWeak) != weak:
		case r.kind == refSession:
			k.uint(name(&k.sessions, r.value))
		case !weak:
			k.uint(name(&k.nonces, r.value))
		default:
			k.awaited(r)
		}
	}
	k.buf = append(k.buf, 0)
}

// awaited appends a weak reference, if anybody else has the nonce.
func (k *keyer) awaited(r *reference) {
	for n, v := range k.nonces {
		if v == r.value {
			k.uint(uint64(1 + n))
			k.buf = append(k.buf, r.more...)
			return
		}
	}
}

func (k *keyer) uint(u uint64) { k.buf = binary.AppendUvarint(k.buf, u) }

// name returns the number of a value, given when it is first asked for.
func name(names *[]uint64, value uint64) uint64 {
	for i, v := range *names {
		if v == value {
			return uint64(i)
		}
	}
	*names = append(*names, value)
	return uint64(len(*names) - 1)
}
