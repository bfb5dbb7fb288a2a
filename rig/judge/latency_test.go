package judge_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/rig/judge"
	"holdfast/rig/scenario"
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
		records, err := scenario.StoredRun(fault)
		if err != nil {
			t.Fatal(err)
		}
		run, err := judge.New(records)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, l := range run.Latencies() {
			parts = append(parts, fmt.Sprintf("%s %.3f s of %.3f s, records %d to %d",
				l.Name, l.Value.Seconds(), l.Most.Seconds(), l.From, l.To))
		}
		if got := strings.Join(parts, "; "); got != want {
			t.Errorf("%s: %s\nwant %s", fault, got, want)
		}
	}
}
