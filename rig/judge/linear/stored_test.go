package linear_test

import (
	"fmt"
	"testing"

	"holdfast/rig/judge/linear"
	"holdfast/rig/scenario"
)

func TestStoredRunsAreLinearizable(t *testing.T) {
	for fault, want := range map[string]string{
		"kill-peer": "26 acts, 4 objects", "partition": "48 acts, 4 objects",
		"no-peer": "0 acts, 0 objects",
	} {
		records, err := scenario.StoredRun(fault)
		if err != nil {
			t.Fatal(err)
		}
		r := linear.Check(records, 0)
		if got := fmt.Sprintf("%d acts, %d objects", r.Acts, r.Objects); got != want {
			t.Errorf("%s: %s, want %s", fault, got, want)
		}
		if r.Outcome == linear.Broken {
			t.Errorf("%s: records %v", fault, r.Records)
		}
	}
}
