package main

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast/rig/journal"
	"holdfast/rig/lab/trace"
	"holdfast/rig/scenario"
)

// storedRun is a run that package scenario keeps.
func storedRun(t *testing.T, fault string) []journal.Record {
	t.Helper()
	records, err := scenario.StoredRun(fault)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func TestTheGapsOfARunAreAFileThatTheLabReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gaps.csv")
	if err := writeGaps(path, storedRun(t, "kill-peer")); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := trace.Read(file)
	if err != nil || got.Interval != 2_000 || len(got.Gaps) != 19 {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestARunWithoutAMemberHasNoGaps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gaps.csv")
	if err := writeGaps(path, storedRun(t, "no-peer")); err == nil {
		t.Error("gaps of nobody")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file without gaps")
	}
}
