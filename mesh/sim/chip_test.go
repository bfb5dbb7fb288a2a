package sim

import (
	"testing"

	"holdfast/mesh"
)

// TestWhatAChipSaysAfterALoss: marks are the highest of the whole slots, and nothing has never run
// unless both say so (spec/protocol.md, "NVRAM marks").
func TestWhatAChipSaysAfterALoss(t *testing.T) {
	fresh := slot{true, mesh.Marks{NeverRan: true}}
	old := slot{true, mesh.Marks{Signed: 3, Activated: 3}}
	newer := slot{true, mesh.Marks{Signed: 4, Activated: 3}}
	for name, c := range map[string]struct {
		slots [2]slot
		want  mesh.Marks
	}{
		"provisioned":            {[2]slot{fresh, fresh}, mesh.Marks{NeverRan: true}},
		"first signature torn":   {[2]slot{{}, fresh}, mesh.Marks{}},
		"first signature half":   {[2]slot{old, fresh}, mesh.Marks{Signed: 3, Activated: 3}},
		"second slot torn":       {[2]slot{newer, {}}, mesh.Marks{Signed: 4, Activated: 3}},
		"first slot torn":        {[2]slot{{}, old}, mesh.Marks{Signed: 3, Activated: 3}},
		"one of two has changed": {[2]slot{newer, old}, mesh.Marks{Signed: 4, Activated: 3}},
		"wiped":                  {[2]slot{}, mesh.Marks{Lost: true}},
	} {
		chip := chip{slots: c.slots}
		if got := chip.load(); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
