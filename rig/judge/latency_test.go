package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/rig/journal"
)

func TestStoredRunsHaveTheirLatencies(t *testing.T) {
	for fault, want := range map[string]string{
		"kill-peer": "detection 12.017 s of 12.500 s, records 143 to 168; " +
			"re-home 12.061 s of 12.500 s, records 143 to 171; " +
			"rejoin 1.563 s of 30.000 s, records 225 to 274",
		"partition": "detection 11.985 s of 12.500 s, records 148 to 229; " +
			"re-home 11.990 s of 12.500 s, records 148 to 230; " +
			"rejoin 0.386 s of 30.000 s, records 312 to 363",
		"restart": "rejoin 2.879 s of 30.000 s, records 102 to 137",
		"no-peer": "",
	} {
		file, err := os.Open(filepath.Join("..", "scenario", "testdata", fault+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		records, err := journal.Read(file)
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		run, err := New(records)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, l := range run.Latencies() {
			parts = append(parts, fmt.Sprintf("%s %s of %s, records %d to %d",
				l.Name, seconds(l.Value), seconds(l.Most), l.From, l.To))
		}
		if got := strings.Join(parts, "; "); got != want {
			t.Errorf("%s: %s\nwant %s", fault, got, want)
		}
	}
}
