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
