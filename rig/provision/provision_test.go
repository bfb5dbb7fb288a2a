package provision

import (
	"bytes"
	"crypto/ed25519"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/nvram"
	"holdfast/nvram/config"
)

func TestTheSameSeedGivesTheSameCast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		nodes := rapid.IntRange(1, 3).Draw(t, "nodes")
		a, b := Draw(seed, nodes), Draw(seed, nodes)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("two casts of seed %d differ", seed)
		}
		if other := Draw(seed+1, nodes); other.Nodes[0].ID == a.Nodes[0].ID {
			t.Fatalf("seeds %d and %d give the same authority", seed, seed+1)
		}
	})
}

// A seed that somebody wrote down must name the same nodes in every later version.
func TestTheCastOfASeedNeverChanges(t *testing.T) {
	const want = "9059a24323b4b240d7977d38e3e6a408"
	if got := Draw(1, 2).Nodes[1].ID.String(); got != want {
		t.Errorf("the member of seed 1 is %s, want %s", got, want)
	}
}

func TestEveryNodeHomesTwoLabObjects(t *testing.T) {
	for seed := range uint64(50) {
		for _, nodes := range []int{1, 2, 3} {
			c := Draw(seed, nodes)
			for _, n := range c.Nodes {
				count := 0
				for _, o := range LabObjects() {
					if c.HomeOf(o.ID) == n.ID {
						count++
					}
				}
				if count < homedLeast {
					t.Errorf("seed %d: %s of %d homes %d lab objects", seed, n.Name, nodes, count)
				}
			}
		}
	}
	if c := Draw(3, NodesMax); len(c.Nodes) != NodesMax {
		t.Errorf("%d nodes, want %d", len(c.Nodes), NodesMax)
	}
}

func TestEachNodeReadsItsConfigurationFromItsEEPROM(t *testing.T) {
	c := Draw(42, 2)
	authority, member := &c.Nodes[0], &c.Nodes[1]
	key := config.Key(authority.Key.Public().(ed25519.PublicKey))
	for i, want := range []config.Config{
		{
			Peer:  config.Peer{Port: 7070},
			Root:  config.Root{Self: true},
			Allow: []config.ID{config.ID(member.ID)},
		}, {
			Peer: config.Peer{Host: authority.Address.Addr(), Port: 7070},
			Root: config.Root{Key: key},
		},
	} {
		want.Address, want.Epoch = c.Nodes[i].Address, config.EpochDefault
		want.Fail, want.Route, want.Lab = true, true, true
		environment, err := c.Environment(i)
		if err != nil {
			t.Fatal(err)
		}
		image, err := c.EEPROM(i, environment)
		if err != nil {
			t.Fatal(err)
		}
		store, err := nvram.Open(nvram.Memory(image))
		if err != nil {
			t.Fatal(err)
		}
		record, err := store.LoadEnvironment()
		if err != nil {
			t.Fatal(err)
		}
		if got := config.Load(record); !reflect.DeepEqual(got, want) {
			t.Errorf("%s reads\n%+v\nwant\n%+v", c.Nodes[i].Name, got, want)
		}
		if _, set := record.Environment.Get(config.KeyEpoch); set {
			t.Errorf("%s has mesh.epoch, which says what its absence says", c.Nodes[i].Name)
		}
		identity, err := store.LoadIdentity()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(ed25519.NewKeyFromSeed(identity.Seed[:]), c.Nodes[i].Key) {
			t.Errorf("%s's identity is not its key", c.Nodes[i].Name)
		}
	}
}

func TestAnEnvironmentThatANodeWouldNotUseIsRefused(t *testing.T) {
	c := Draw(42, 2)
	for _, change := range []struct{ key, value string }{
		{config.KeyPeer, ":7070"}, // a member must dial
		{config.KeyLab, "yes"},
		{"mesh.colour", "blue"},
	} {
		environment, err := c.Environment(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := environment.Set(change.key, change.value); err != nil {
			t.Fatal(err)
		}
		if _, err := c.EEPROM(1, environment); err == nil {
			t.Errorf("a member with %s=%s was provisioned", change.key, change.value)
		}
	}
}

func TestCapabilitiesAreSignedByTheAuthorityAndNumbered(t *testing.T) {
	c := Draw(42, 2)
	object, holder := LabObjects()[3].ID, c.Nodes[1].ID
	for serial := uint64(1); serial <= 2; serial++ {
		token, err := capability.ParseText(c.Mint(object, holder, capability.RightCommit, 4))
		if err != nil {
			t.Fatal(err)
		}
		got, err := capability.Verify(token[:], c.Nodes[0].Key.Public().(ed25519.PublicKey))
		want := capability.Capability{Object: object, Holder: holder,
			Rights: capability.RightCommit, Epoch: id.Epoch(4), Serial: serial}
		if err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
}

func TestStationsHaveTheAddressesOfTheSpecification(t *testing.T) {
	c := Draw(1, 3)
	for i, want := range []string{"10.7.0.10/24", "10.7.0.11/24", "10.7.0.12/24"} {
		n := c.Nodes[i]
		if n.Address.String() != want || n.MAC() != [6]byte{2, 0, 0, 0, 0, byte(10 + i)} {
			t.Errorf("%s has %v and %x, want %s", n.Name, n.Address, n.MAC(), want)
		}
	}
	if MAC(Rig) != [6]byte{2, 0, 0, 0, 0, 1} {
		t.Errorf("the rig has %x", MAC(Rig))
	}
}

func TestACloneHasTheKeyAndNothingElse(t *testing.T) {
	plain, c := Draw(42, 2), Draw(42, 2)
	c.Clone(1)
	if len(c.Nodes) != 3 {
		t.Fatalf("%d machines, want 3", len(c.Nodes))
	}
	member, clone := &c.Nodes[1], &c.Nodes[2]
	if clone.ID != member.ID || !clone.Key.Equal(member.Key) || clone.seed != member.seed {
		t.Error("the clone has another key")
	}
	if clone.Name != "n2" || clone.Address == member.Address || clone.entropy == member.entropy {
		t.Errorf("the clone is %s at %v, and its entropy is the member's: %t", clone.Name,
			clone.Address, clone.entropy == member.entropy)
	}
	if got, want := c.Config(0), plain.Config(0); !reflect.DeepEqual(got, want) {
		t.Errorf("the authority is configured as\n%+v\nwant, as without the clone,\n%+v", got, want)
	}
	for _, o := range LabObjects() {
		if c.HomeOf(o.ID) != plain.HomeOf(o.ID) {
			t.Errorf("the clone moves %s", o.Name)
		}
	}
	environment, err := c.Environment(2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.EEPROM(2, environment); err != nil {
		t.Error(err)
	}
}
