package kernel

import (
	"math/bits"
	"unsafe"

	"holdfast/board"
	"holdfast/board/timer"
)

// generator answers getrandom: ChaCha20 (RFC 8439) with a key that every request replaces, so that
// what has been handed out can not be computed from what is in memory later.
//
// Its first key comes from what the loader left at seedPage and from the counter, which is no
// entropy to speak of. That is enough for the runtime's hash seeds. Whoever needs keys has to know
// that there was a seed, or brings a key of its own: see package kernel/sys.
type generator struct {
	key  [8]uint32
	seed [8]uint32 // what the loader left, until somebody takes it
}

// randomMax is how many bytes one entry into the kernel generates.
const randomMax = 128

// block is one block of ChaCha20's key stream: RFC 8439, section 2.3.
func block(key *[8]uint32, counter uint32, nonce [3]uint32) (out [16]uint32) {
	in := [16]uint32{0: 0x61707865, 1: 0x3320646e, 2: 0x79622d32, 3: 0x6b206574, 12: counter}
	copy(in[4:12], key[:])
	copy(in[13:], nonce[:])
	x := in
	for range 10 {
		quarter(&x, 0, 4, 8, 12)
		quarter(&x, 1, 5, 9, 13)
		quarter(&x, 2, 6, 10, 14)
		quarter(&x, 3, 7, 11, 15)
		quarter(&x, 0, 5, 10, 15)
		quarter(&x, 1, 6, 11, 12)
		quarter(&x, 2, 7, 8, 13)
		quarter(&x, 3, 4, 9, 14)
	}
	for i := range out {
		out[i] = x[i] + in[i]
	}
	return out
}

// quarter is the quarter round: RFC 8439, section 2.1.
func quarter(x *[16]uint32, a, b, c, d uint) {
	xa, xb, xc, xd := x[a&15], x[b&15], x[c&15], x[d&15]
	xa += xb
	xd = bits.RotateLeft32(xd^xa, 16)
	xc += xd
	xb = bits.RotateLeft32(xb^xc, 12)
	xa += xb
	xd = bits.RotateLeft32(xd^xa, 8)
	xc += xd
	xb = bits.RotateLeft32(xb^xc, 7)
	x[a&15], x[b&15], x[c&15], x[d&15] = xa, xb, xc, xd
}

// init takes the loader's seed from its page, which is zeros afterwards.
func (g *generator) init() {
	for i := range g.seed {
		a := seedPage + 4*uint32(i)
		g.seed[i] = *word(a)
		*word(a) = 0
	}
	g.key = g.seed
	g.erase()
}

// erase replaces the key by one that does not lead back to it.
func (g *generator) erase() {
	now := timer.Counter()
	next := block(&g.key, 0, [3]uint32{uint32(now), uint32(now >> 32), 0})
	copy(g.key[:], next[:8])
}

// fill writes n random bytes to a, which is known to be writable.
func (g *generator) fill(a, n uint32) {
	for i := uint32(0); i < n; i += 64 {
		out := block(&g.key, 1+i/64, [3]uint32{})
		stream := unsafe.Slice((*byte)(unsafe.Pointer(&out)), unsafe.Sizeof(out))
		copy(bytesAt(a+i, min(n-i, 64)), stream)
	}
	g.erase()
}

// getrandom is getrandom. It never waits. It works in pieces: see pause.
func (k *kernel) getrandom(t *thread, buf, n uint32) int32 {
	n = min(n, 1<<25-1) // as Linux
	end := min(n, t.done+randomMax)
	if !k.writable(buf+t.done, end-t.done) {
		return -eFAULT
	}
	k.random.fill(buf+t.done, end-t.done)
	if end < n {
		return t.pause(end)
	}
	return int32(n)
}

// takeSeed hands the loader's seed over, once: afterwards the kernel has zeros in its place.
func (k *kernel) takeSeed(out uint32) int32 {
	if !k.writable(out, board.SeedSize) {
		return -eFAULT
	}
	for i := range k.random.seed {
		*word(out + 4*uint32(i)) = k.random.seed[i]
		k.random.seed[i] = 0
	}
	return 0
}

// rekey mixes a key from outside into the generator's own: afterwards it is at least as good as
// the better one of the two.
func (k *kernel) rekey(key uint32) int32 {
	if !k.readable(key, board.SeedSize) {
		return -eFAULT
	}
	g := &k.random
	g.erase()
	for i := range g.key {
		g.key[i] ^= *word(key + 4*uint32(i))
	}
	g.erase()
	return 0
}
