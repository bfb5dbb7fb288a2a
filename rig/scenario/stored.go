package scenario

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"slices"

	"holdfast/rig/journal"
)

//go:embed testdata/*.jsonl testdata/*.jsonl.gz
var runs embed.FS

// StoredSeed is the seed of the stored runs.
const StoredSeed = 42

// Recorded is the faults of which a run is stored: all without traffic at the usual times, and of
// those with traffic enough to have each of their checks once.
func Recorded() []*Fault {
	return slices.DeleteFunc(All(), func(f *Fault) bool {
		_, err := stored(f.Name)
		return err != nil
	})
}

// HasTraffic says whether the rig asks the nodes for objects all the time. Such a journal is long,
// and a stored one compressed.
func (f *Fault) HasTraffic() bool {
	return slices.ContainsFunc(f.Steps, func(s Step) bool {
		_, traffic := s.(load)
		return traffic
	})
}

// StoredRun is the journal of a run of a recorded fault on real kernels in which everything was as
// it should be, but that a busy host may have kept a node from running. After a change to what
// nodes print, new ones come from
//
//	bin/rig run --fault every --seed 42 --out /tmp/runs
//
// as each run's events.jsonl, without the checks at its end. Of the figures that hostile asks for
// only those are kept that a check reads.
func StoredRun(fault string) ([]journal.Record, error) {
	text, err := stored(fault)
	if err != nil {
		return nil, fmt.Errorf("scenario: no stored run of %s", fault)
	}
	records, err := journal.Read(text)
	if err != nil {
		return nil, fmt.Errorf("scenario: stored run of %s: %w", fault, err)
	}
	return records, nil
}

// stored is the text of a stored run.
func stored(fault string) (io.Reader, error) {
	path := "testdata/" + fault + ".jsonl"
	if text, err := runs.ReadFile(path); err == nil {
		return bytes.NewReader(text), nil
	}
	compressed, err := runs.ReadFile(path + ".gz")
	if err != nil {
		return nil, err
	}
	return gzip.NewReader(bytes.NewReader(compressed))
}
