// Package provision makes what the nodes of a run are delivered with: key pairs, environments and
// EEPROM images, all drawn from one seed, so that a run can be repeated with the same nodes. The
// seed therefore is as secret as the keys that come of it, which is not at all: these are keys for
// a laboratory.
//
// It owns the cast of a run (names, addresses, keys) and the lab objects. It must never decide what
// a node does with them. The addresses and roles are those of spec section 8, the objects and the
// drawing of keys those of section 7, the environment that of section 2.
package provision

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync/atomic"

	"holdfast/mesh/capability"
	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/nvram"
	"holdfast/nvram/config"
)

const (
	// NodesMax is how many nodes can home homedLeast of the lab objects each.
	NodesMax = id.LabObjects / homedLeast

	// homedLeast is how many lab objects each node must be the home of, so that every lab step
	// finds one that fits.
	homedLeast = 2

	// MeshPort is the TCP port of the authority's links.
	MeshPort uint16 = 7070

	prefix    = 24
	firstHost = 10 // n0 is 10.7.0.10, n1 10.7.0.11, and so on

	// drawsMax bounds the drawing of keys. A draw of two nodes fails in 7 % of all cases, one of
	// four in 96 %: a thousand failures in a row are a bug.
	drawsMax = 1000

	// A compile error when mesh.allow cannot name all the members.
	_ uint = config.AllowMax - (NodesMax - 1)
)

// Rig is the address of the rig's own station on the Ethernet of the nodes.
var Rig = netip.MustParsePrefix("10.7.0.1/24")

// Attacker is that of a stranger's, in the runs that have one.
var Attacker = netip.MustParsePrefix("10.7.0.66/24")

// LabObject is an object that every lab node knows from its start.
type LabObject struct {
	Name string
	ID   id.Object
}

// LabObjects returns the lab objects, lowest number first.
func LabObjects() []LabObject {
	objects := make([]LabObject, id.LabObjects)
	for i := range objects {
		name := id.LabName(i)
		objects[i] = LabObject{name, id.ObjectOf(name)}
	}
	return objects
}

// Node is one node of the cast.
type Node struct {
	Name    string // n0, n1, ...
	Address netip.Prefix
	Key     ed25519.PrivateKey
	ID      id.Node

	seed, entropy nvram.Secret // Key's, and the first boot's generator's
}

// MAC is the node's Ethernet address: the last byte is that of its IP address.
func (n *Node) MAC() [6]byte { return MAC(n.Address) }

// MAC is the Ethernet address of the station at an address of the rig's Ethernet.
func MAC(address netip.Prefix) [6]byte {
	return [6]byte{2, 0, 0, 0, 0, address.Addr().As4()[3]}
}

// Cast is the nodes of a run: the authority first, then the members.
type Cast struct {
	Seed  uint64
	Nodes []Node

	serial *atomic.Uint64 // of the newest capability
}

// Draw makes a cast of so many nodes, 1 to NodesMax. The same seed gives the same cast. Keys are
// drawn until each node is the home of at least two lab objects.
func Draw(seed uint64, nodes int) *Cast {
	if nodes < 1 || nodes > NodesMax {
		panic("provision: number of nodes out of range")
	}
	random := stream("cast", seed)
	for range drawsMax {
		c := &Cast{Seed: seed, serial: new(atomic.Uint64)}
		for i := range nodes {
			c.Nodes = append(c.Nodes, draw(random, i))
		}
		if c.spread() {
			return c
		}
	}
	panic("provision: no keys spread the lab objects over the nodes")
}

// stream is the random bytes that a seed stands for, for one purpose. Its form decides which cast
// belongs to a seed that somebody wrote down; the number in the label changes with it.
func stream(purpose string, seed uint64) io.Reader {
	label := binary.BigEndian.AppendUint64([]byte("holdfast/rig/"+purpose+" 1\x00"), seed)
	return rand.NewChaCha8(sha256.Sum256(label))
}

func draw(random io.Reader, i int) Node {
	n := Node{
		Name:    fmt.Sprintf("n%d", i),
		Address: netip.PrefixFrom(Rig.Masked().Addr(), prefix),
	}
	host := n.Address.Addr().As4()
	host[3] = byte(firstHost + i)
	n.Address = netip.PrefixFrom(netip.AddrFrom4(host), prefix)
	for _, secret := range []*nvram.Secret{&n.seed, &n.entropy} {
		if _, err := io.ReadFull(random, secret[:]); err != nil {
			panic("provision: " + err.Error())
		}
	}
	n.Key = ed25519.NewKeyFromSeed(n.seed[:])
	n.ID = id.NodeOf(n.Key.Public().(ed25519.PublicKey))
	return n
}

// Clone adds a machine that has the key of the cast's i-th node and else nothing of it: its own
// name, address and entropy. Two machines with one key are one node to everybody else.
func (c *Cast) Clone(i int) {
	clone := draw(stream("clone", c.Seed), len(c.Nodes))
	clone.Key, clone.ID, clone.seed = c.Nodes[i].Key, c.Nodes[i].ID, c.Nodes[i].seed
	c.Nodes = append(c.Nodes, clone)
}

// spread says whether each node is the home of enough lab objects.
func (c *Cast) spread() bool {
	homed := make(map[id.Node]int)
	for _, o := range LabObjects() {
		homed[c.HomeOf(o.ID)]++
	}
	for _, n := range c.Nodes {
		if homed[n.ID] < homedLeast {
			return false
		}
	}
	return true
}

// Stranger is the public key of somebody who is not of the cast.
func (c *Cast) Stranger() config.Key {
	return config.Key(c.StrangersKey("stranger").Public().(ed25519.PublicKey))
}

// StrangersKey is the key of somebody who is not of the cast, one for each name.
func (c *Cast) StrangersKey(name string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(stream(name, c.Seed), seed); err != nil {
		panic("provision: " + err.Error())
	}
	return ed25519.NewKeyFromSeed(seed)
}

// IDs returns the nodes' ids in the cast's order.
func (c *Cast) IDs() []id.Node {
	var ids []id.Node
	for _, n := range c.Nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

// HomeOf is the home of an object while the whole cast is the view.
func (c *Cast) HomeOf(o id.Object) id.Node { return home.Of(o, c.IDs()) }

// Mint makes a capability with the next serial number, signed by the authority, in its text form.
func (c *Cast) Mint(o id.Object, holder id.Node, rights capability.Rights, epoch id.Epoch) string {
	return capability.Text(capability.Mint(capability.Capability{
		Object: o, Holder: holder, Rights: rights, Epoch: epoch, Serial: c.serial.Add(1),
	}, c.Nodes[0].Key))
}

// Config is the configuration of the i-th node for a lab run with failure detection and routing.
func (c *Cast) Config(i int) config.Config {
	n := &c.Nodes[i]
	conf := config.Config{
		Address: n.Address,
		Peer:    config.Peer{Port: MeshPort},
		Root:    config.Root{Self: true},
		Fail:    true,
		Route:   true,
		Lab:     true,
		Epoch:   config.EpochDefault,
	}
	if i > 0 {
		authority := &c.Nodes[0]
		conf.Peer.Host = authority.Address.Addr()
		conf.Root = config.Root{Key: config.Key(authority.Key.Public().(ed25519.PublicKey))}
		return conf
	}
	for _, member := range c.Nodes[1:] {
		if allowed := config.ID(member.ID); !slices.Contains(conf.Allow, allowed) { // or a clone
			conf.Allow = append(conf.Allow, allowed)
		}
	}
	return conf
}

// Environment is the i-th node's configuration as it stands in its EEPROM. One that a node would
// not use as a whole is refused, with the byte count when it does not fit.
func (c *Cast) Environment(i int) (*nvram.Environment, error) {
	conf := c.Config(i)
	environment, err := conf.Environment()
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", c.Nodes[i].Name, err)
	}
	return environment, nil
}

// EEPROM is the content of the i-th node's NVRAM with the given environment, nvram.Size bytes. An
// environment that a node would not use as a whole is refused.
func (c *Cast) EEPROM(i int, environment *nvram.Environment) ([]byte, error) {
	n := &c.Nodes[i]
	if err := config.Check(environment); err != nil {
		return nil, fmt.Errorf("node %s: %w", n.Name, err)
	}
	image, err := nvram.Provision{
		Environment: environment,
		Identity:    &nvram.Identity{Seed: n.seed},
		Entropy:     &n.entropy,
	}.Image()
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", n.Name, err)
	}
	return image, nil
}
