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
		"kill-peer": "detection 11.993 s of 12.500 s, records 165 to 204; " +
			"re-home 11.997 s of 12.500 s, records 165 to 207; " +
			"rejoin 0.801 s of 30.000 s, records 278 to 339",
		"partition": "detection 11.970 s of 12.500 s, records 170 to 259; " +
			"re-home 11.987 s of 12.500 s, records 170 to 260; " +
			"rejoin 0.232 s of 30.000 s, records 360 to 427",
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
