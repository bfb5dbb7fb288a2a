package search

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"slices"

	"holdfast/mesh"
	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
)

// The machines, by their index in a world.
const (
	root = iota
	member
	third // off at first
	machinesMax
)

// cast is what is the same in every state of a search: the scope, names, keys, objects.
type cast struct {
	Scope
	names   [machinesMax]string
	keys    [machinesMax]ed25519.PrivateKey
	ids     [machinesMax]id.Node
	configs [machinesMax]mesh.Config
	objects []object

	interned table[*state] // the states of this second
	frames   table[*frame] // and its frames, by a hash of their bytes
	buf      []byte        // for encodings, kept for its memory
	doing    doing         // the latest action
	speaks   bool          // somebody reads what nodes say
}

type object struct {
	name string
	id   id.Object
}

func newCast(s Scope) *cast {
	c := &cast{Scope: s, names: [machinesMax]string{"root", "n1", "n2"}}
	if s.Third == Twin {
		c.names[third] = "n1-twin"
	}
	for i, name := range c.names {
		if i == third && s.Third == Twin {
			name = c.names[member]
		}
		seed := sha256.Sum256([]byte(name))
		c.keys[i] = ed25519.NewKeyFromSeed(seed[:])
		c.ids[i] = id.NodeOf(c.public(i))
	}
	c.objects = c.pickObjects()
	var names []string
	for _, o := range c.objects {
		names = append(names, o.name)
	}
	for i := range c.configs {
		c.configs[i] = mesh.Config{Role: mesh.Member, Key: c.keys[i], Root: c.public(root), Epoch: 1,
			Timing: timing.Default, Both: !s.OneClock, Detect: true, Route: true, Lab: true,
			LabObject: names}
	}
	for i := range c.configs {
		c.configs[i].Timing.AcksAll, c.configs[i].Lab = s.Acks, !s.Acks
	}
	c.configs[root].Role = mesh.Authority
	c.configs[root].Allow = []id.Node{c.ids[member]}
	if c.three() {
		c.configs[root].Allow = []id.Node{c.ids[member], c.ids[third]}
	}
	return c
}

// three reports whether there can be two members.
func (c *cast) three() bool { return c.Third == Newcomer || c.Third == Settled }

func (c *cast) public(m int) ed25519.PublicKey { return c.keys[m].Public().(ed25519.PublicKey) }

// pickObjects returns one object for each way in which the views of these nodes can home one: that
// is all that the protocol tells apart.
func (c *cast) pickObjects() []object {
	views := [][]id.Node{{c.ids[root], c.ids[member]}}
	if c.three() {
		views = append(views, []id.Node{c.ids[root], c.ids[third]},
			[]id.Node{c.ids[root], c.ids[member], c.ids[third]})
	}
	var seen []string
	var picked []object
	for i := range 64 {
		name := fmt.Sprintf("lab-%d", i)
		o := object{name, id.ObjectOf(name)}
		way := ""
		for _, v := range views {
			way += home.Of(o.id, v).String()
		}
		if !slices.Contains(seen, way) {
			seen, picked = append(seen, way), append(picked, o)
		}
	}
	return picked
}

// configOf is the configuration of a machine's n-th boot.
func (c *cast) configOf(m int, boot uint8, marks *mesh.Marks) mesh.Config {
	config := c.configs[m]
	config.Boot = bootOf(m, boot)
	config.Seed = sha256.Sum256([]byte{byte(m), boot})
	config.Marks = marks
	return config
}

// bootOf is the identity of a machine's n-th boot.
func bootOf(m int, boot uint8) id.Boot { return id.Boot(m+1)<<32 | id.Boot(boot) }

// forget forgets the states and frames of the second that is over: those that are still in use are
// made again.
func (c *cast) forget() {
	c.interned.clear()
	c.frames.clear()
}
