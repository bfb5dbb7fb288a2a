package nvram

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrBlankSecret says that a secret of zeros was to be stored. It is what an unset variable or a
// dead random source looks like, and anybody could guess it.
var ErrBlankSecret = errors.New("secret is all zero")

// Secret is 32 bytes that must not be seen: the Ed25519 seed or the generator's seed. However it is
// formatted, it prints as a fixed word.
type Secret [secretBytes]byte

// Format prints a fixed word for every verb, so that no log or error text can show the bytes.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("secret")) }

// check refuses the secret of zeros.
func (s *Secret) check(what string) error {
	if *s == (Secret{}) {
		return fmt.Errorf("nvram: %s: %w", what, ErrBlankSecret)
	}
	return nil
}

// Identity is the node's identity record.
type Identity struct {
	Seed  Secret // of the node's Ed25519 key
	Boots uint64 // how often the node has booted, the running boot included
}

func (id *Identity) encode() []byte {
	return binary.LittleEndian.AppendUint64(id.Seed[:], id.Boots)
}

func decodeIdentity(b []byte) Identity {
	return Identity{Secret(b[:secretBytes]), binary.LittleEndian.Uint64(b[secretBytes:])}
}

// LoadIdentity is the identity on the chip. The error is an *AbsentError when there is none: then
// the node has no key and joins no mesh.
func (s *Store) LoadIdentity() (Identity, error) {
	b, _, err := s.read(KindIdentity)
	if err != nil {
		return Identity{}, err
	}
	return decodeIdentity(b), nil
}

// SaveIdentity replaces the identity, which makes another node of this one.
func (s *Store) SaveIdentity(id Identity) error {
	if err := id.Seed.check("identity"); err != nil {
		return err
	}
	_, err := s.write(KindIdentity, id.encode())
	return err
}

// CountBoot adds one to the boot counter and returns the identity with the new count. The count is
// on the chip and was read back before CountBoot returns, so that no two boots use the same one.
func (s *Store) CountBoot() (Identity, error) {
	id, err := s.LoadIdentity()
	if err != nil {
		return Identity{}, err
	}
	if id.Boots == math.MaxUint64 {
		return Identity{}, errors.New("nvram: identity: boot counter is at its end")
	}
	id.Boots++
	if err := s.SaveIdentity(id); err != nil {
		return Identity{}, err
	}
	return id, nil
}

// LoadEntropy is the seed that the boot before left for this one. The caller derives from it the
// generator's key and, separately, the next seed, and saves that one before it uses the key. The
// error is an *AbsentError when there is none.
func (s *Store) LoadEntropy() (Secret, error) {
	b, _, err := s.read(KindEntropy)
	if err != nil {
		return Secret{}, err
	}
	return Secret(b), nil
}

// SaveEntropy replaces the seed with next, in both copies, one after the other, each read back.
// This record alone is written twice: a copy of a used seed would let a reader of the chip work out
// the running generator's key, and a fallback to it would hand the same seed out again. On an error
// the generator must not start.
func (s *Store) SaveEntropy(next Secret) error {
	if err := next.check("entropy"); err != nil {
		return err
	}
	for range 2 {
		if _, err := s.write(KindEntropy, next[:]); err != nil {
			return err
		}
	}
	return nil
}
