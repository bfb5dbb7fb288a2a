package node

import (
	"encoding/binary"

	"golang.org/x/crypto/blake2s"

	"holdfast/nvram"
)

// Both halves of a boot's seed come out of everything that is known, each under its own domain, so
// that neither leads to the other: the key of this boot's generator, and the record that the next
// boot finds.
//
//	half = BLAKE2s-256(domain, record 32, loader's seed 32, chip's generator 32, boot counter u64,
//	                   cycle counter u64, second clock u64)
//
// What is missing counts as zeros, numbers are little-endian as everywhere in the NVRAM. The boot
// counter makes two boots with one record differ, and the second clock two machines with one chip.
const (
	keyDomain  = "holdfast/entropy/key\x00"
	nextDomain = "holdfast/entropy/next\x00"
)

type seedInput struct {
	record nvram.Secret
	loader [32]byte
	chip   [32]byte
	boots  uint64
	cycles uint64
	second uint64
}

func (in *seedInput) half(domain string) [32]byte {
	b := append([]byte(domain), in.record[:]...)
	b = append(b, in.loader[:]...)
	b = append(b, in.chip[:]...)
	b = binary.LittleEndian.AppendUint64(b, in.boots)
	b = binary.LittleEndian.AppendUint64(b, in.cycles)
	b = binary.LittleEndian.AppendUint64(b, in.second)
	sum := blake2s.Sum256(b)
	clear(b)
	return sum
}

// seed keys the random generator and reports from where, "" when there is no entropy. The next
// boot's record is on the chip, read back, before the key is used: a boot that loses power in
// between costs nothing, and no two boots start from one record. When the NVRAM does not take the
// record, this one must not be used; what came from elsewhere still may.
func (n *Node) seed(store *nvram.Store, boots uint64) (from string) {
	in := seedInput{boots: boots, cycles: n.machine.Entropy.Cycles()}
	defer func() { in = seedInput{} }()
	if n.machine.Second != nil {
		if s, ok := n.machine.Second(); ok {
			in.second = uint64(s)
		}
	}
	var fromRecord, fromLoader, fromChip bool
	in.loader, fromLoader = n.machine.Entropy.Seed()
	if n.machine.Entropy.Chip != nil {
		in.chip, fromChip = n.machine.Entropy.Chip()
	}
	if store != nil {
		record, err := store.LoadEntropy()
		if in.record, fromRecord = record, err == nil; err != nil {
			n.log.Note("entropy: " + err.Error())
		}
	}
	if !fromRecord && !fromLoader && !fromChip {
		return ""
	}
	if store != nil {
		if err := store.SaveEntropy(in.half(nextDomain)); err != nil {
			n.log.Note("entropy: " + err.Error())
			in.record, fromRecord = nvram.Secret{}, false
		}
	}
	switch {
	case fromRecord:
		from = "nvram"
	case fromLoader:
		from = "loader"
	case fromChip:
		from = "chip"
	default:
		return ""
	}
	key := in.half(keyDomain)
	n.machine.Entropy.Rekey(&key)
	clear(key[:])
	return from
}
