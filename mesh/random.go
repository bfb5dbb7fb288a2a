package mesh

import (
	"encoding/binary"

	"golang.org/x/crypto/blake2s"

	"holdfast/mesh/id"
)

// random makes nonces from the seed of this boot: BLAKE2s-256(seed, counter), its first 64 bits. It
// makes the node's steps deterministic while nobody without the seed can foretell a nonce.
type random struct {
	seed  [32]byte
	count uint64
}

// nonce returns a number that is never zero.
func (r *random) nonce() id.Nonce {
	for {
		var in [40]byte
		copy(in[:], r.seed[:])
		r.count++
		binary.BigEndian.PutUint64(in[32:], r.count)
		sum := blake2s.Sum256(in[:])
		if v := binary.BigEndian.Uint64(sum[:8]); v != 0 {
			return id.Nonce(v)
		}
	}
}
