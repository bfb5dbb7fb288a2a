package provision

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"

	"holdfast/mesh/id"
	"holdfast/nvram"
	"holdfast/nvram/config"
)

// Delivered is what an EEPROM image says of its node.
type Delivered struct {
	Key         config.Key // public; the value of mesh.root at the members of an authority
	ID          id.Node
	Environment *nvram.Environment
}

// New is the content of an EEPROM for a node that is no laboratory's: its keys come from the host's
// random generator and are nowhere else. An environment that a node would not use as a whole is
// refused.
func New(environment *nvram.Environment) ([]byte, error) {
	if err := config.Check(environment); err != nil {
		return nil, err
	}
	var seed, entropy nvram.Secret
	rand.Read(seed[:]) // never fails: it ends the program instead
	rand.Read(entropy[:])
	return nvram.Provision{
		Environment: environment, Identity: &nvram.Identity{Seed: seed}, Entropy: &entropy,
	}.Image()
}

// Inspect reads an EEPROM image. What a node could not read is an error.
func Inspect(eeprom []byte) (Delivered, error) {
	store, err := nvram.Open(nvram.Memory(eeprom))
	if err != nil {
		return Delivered{}, err
	}
	identity, err := store.LoadIdentity()
	if err != nil {
		return Delivered{}, err
	}
	record, err := store.LoadEnvironment()
	if err != nil {
		return Delivered{}, err
	}
	if len(record.Faults) != 0 {
		return Delivered{}, fmt.Errorf("environment: %v", record.Faults[0])
	}
	public := ed25519.NewKeyFromSeed(identity.Seed[:]).Public().(ed25519.PublicKey)
	return Delivered{config.Key(public), id.NodeOf(public), record.Environment}, nil
}

// Replace puts another environment into an EEPROM image, in place, and leaves keys, entropy and
// marks as they are. An environment that a node would not use as a whole is refused.
func Replace(eeprom []byte, environment *nvram.Environment) error {
	if err := config.Check(environment); err != nil {
		return err
	}
	store, err := nvram.Open(nvram.Memory(eeprom))
	if err != nil {
		return err
	}
	_, err = store.SaveEnvironment(environment)
	return err
}
