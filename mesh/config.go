package mesh

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"slices"

	"holdfast/mesh/id"
	"holdfast/mesh/timing"
)

// Role is what a node is in its mesh.
type Role uint8

// The roles.
const (
	Authority Role = iota // signs views, admits and removes
	Member
)

func (r Role) String() string { return [...]string{"authority", "member"}[r] }

// Config is what a node is started with. New copies nothing: the caller does not change it
// afterwards.
type Config struct {
	Role      Role
	Key       ed25519.PrivateKey
	Root      ed25519.PublicKey // the authority's key; Key's own at the authority
	Allow     []id.Node         // whom the authority may admit, at most view.MaxMembers-1
	Boot      id.Boot           // random, new for this boot, not zero
	Seed      [32]byte          // for nonces; secret and new for this boot
	Epoch     id.Epoch          // the authority's first epoch, from 1
	Timing    timing.Timing
	Both      bool     // there is a second clock, and it times the lease too (rule L6)
	Marks     *Marks   // what the authority's NVRAM says, nil for one that keeps none (rules L7, L8)
	Detect    bool     // mesh.fail=1: convict silent members
	Route     bool     // mesh.route=1
	Lab       bool     // mesh.lab=1
	LabObject []string // names of the objects that exist from the start, at most ObjectsMax
}

// ObjectsMax bounds the objects that a node knows.
const ObjectsMax = 64

// The reasons a Config is refused.
var (
	ErrKey    = errors.New("mesh: private key, authority key and role do not go together")
	ErrBoot   = errors.New("mesh: boot and epoch must not be zero")
	ErrAllow  = errors.New("mesh: too many allowed nodes")
	ErrObject = errors.New("mesh: too many objects or a name twice")
)

func (c *Config) check() error {
	own := len(c.Key) == ed25519.PrivateKeySize && len(c.Root) == ed25519.PublicKeySize
	switch {
	case !own || c.public().Equal(c.Root) != (c.Role == Authority):
		return ErrKey
	case c.Boot == 0 || c.Epoch == 0:
		return ErrBoot
	case len(c.Allow) > maxAllow:
		return ErrAllow
	case len(c.LabObject) > ObjectsMax || hasTwice(c.LabObject):
		return ErrObject
	}
	return cmp.Or(c.Timing.Check(), c.Timing.CheckLab(c.Lab))
}

func (c *Config) public() ed25519.PublicKey { return c.Key.Public().(ed25519.PublicKey) }

func hasTwice(names []string) bool {
	sorted := slices.Sorted(slices.Values(names))
	return len(slices.Compact(sorted)) != len(names)
}
