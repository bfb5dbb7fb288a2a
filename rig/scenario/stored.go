package scenario

import (
	"bytes"
	"embed"
	"fmt"
	"slices"

	"holdfast/mesh/timing"
	"holdfast/rig/journal"
)

//go:embed testdata/*.jsonl
var runs embed.FS

// StoredSeed is the seed of the stored runs.
const StoredSeed = 42

// Recorded is the faults of which a run is stored. Those with traffic are left out: their journals
// are long, and what is particular to their checks is shown by the tests of package judge. So are
// those with other times and those that kill in the middle of a commit, whose checks are other
// faults' too.
func Recorded() []*Fault {
	return slices.DeleteFunc(All(), func(f *Fault) bool {
		retimed := f.Times != (timing.Timing{})
		return retimed || isMid(f) || slices.ContainsFunc(f.Steps, func(s Step) bool {
			_, traffic := s.(load)
			return traffic
		})
	})
}

// StoredRun is the journal of a run of a recorded fault on real kernels in which everything was as
// it should be. After a change to what nodes print, new ones come from
//
//	bin/rig run --fault every --seed 42 --out /tmp/runs
//
// as each run's events.jsonl.
func StoredRun(fault string) ([]journal.Record, error) {
	text, err := runs.ReadFile("testdata/" + fault + ".jsonl")
	if err != nil {
		return nil, fmt.Errorf("scenario: no stored run of %s", fault)
	}
	records, err := journal.Read(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("scenario: stored run of %s: %w", fault, err)
	}
	return records, nil
}
