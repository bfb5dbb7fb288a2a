package main

import (
	"crypto/ed25519"
	"testing"

	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/rig/provision"
)

func TestACapabilityIsForTheNewestEpochOfItsRun(t *testing.T) {
	for fault, epoch := range map[string]id.Epoch{"no-peer": 1, "none": 2, "kill-peer": 4} {
		records := storedRun(t, fault)
		c := capCommand{Node: "n1", Object: "greeting", Rights: []string{"commit"}}
		token, err := c.mint(records, 7)
		if err != nil {
			t.Fatal(err)
		}
		cast := provision.Draw(records[0].Run.Seed, 2)
		got, err := capability.Verify(token[:], cast.Nodes[0].Key.Public().(ed25519.PublicKey))
		want := capability.Capability{Object: id.ObjectOf("greeting"), Holder: cast.Nodes[1].ID,
			Rights: capability.RightCommit, Epoch: epoch, Serial: 7}
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", fault, got, err, want)
		}
	}
}
