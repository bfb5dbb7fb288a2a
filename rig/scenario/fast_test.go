package scenario

import (
	"slices"
	"testing"

	"holdfast/mesh/timing"
	"holdfast/nvram/config"
)

func TestTheFastFaultsProvisionTheirTiming(t *testing.T) {
	if err := fast.Check(); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range All() {
		if isSecond(f) {
			continue
		}
		if !isFast(f) {
			if f.Times != (timing.Timing{}) {
				t.Errorf("%s has times of its own", f.Name)
			}
			continue
		}
		found++
		cast := f.Cast(1)
		for i := range cast.Nodes {
			var node config.Config
			f.Configure(cast, i, &node)
			const want = "mesh.time=300,1200,2400,400"
			if got := node.Assignments(); f.Times != fast || !slices.Contains(got, want) {
				t.Errorf("%s provisions %q, want %s", f.Name, got, want)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d fast faults, want 2", found)
	}
}

func TestTheFaultsOfASecondProvisionNoLeases(t *testing.T) {
	if err := second.Check(); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range All() {
		if !isSecond(f) {
			continue
		}
		found++
		cast := f.Cast(1)
		for i := range cast.Nodes {
			node := config.Config{Lab: true}
			f.Configure(cast, i, &node)
			got := node.Assignments()
			for _, want := range []string{"mesh.time=300,600,1000,600", "mesh.acks=all"} {
				if f.Times != second || !slices.Contains(got, want) {
					t.Errorf("%s provisions %q, want %s", f.Name, got, want)
				}
			}
			if slices.Contains(got, "mesh.lab=1") {
				t.Errorf("%s provisions the lab, which no node takes without leases", f.Name)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d faults of a second, want 2", found)
	}
}
