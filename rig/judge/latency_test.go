package judge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/mesh/timing"
	"holdfast/rig/journal"
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

// TestWhatFencesARun is by its journal's word, and where it has none by its nodes'.
func TestWhatFencesARun(t *testing.T) {
	page := func(fence string) journal.Record {
		return journal.Record{N: 2, Kind: journal.KindHTTP, Node: "n0", Boot: 1, HTTP: &journal.HTTP{
			Method: "GET", Path: "/mesh", Status: 200, Body: "node id=none\ntimes heartbeat_ms=300 " +
				"suspect_ms=600 fail_ms=1000 lease_ms=600 fence=" + fence + "\n"}}
	}
	leased := timing.OneSecond
	leased.AcksAll = false
	for name, c := range map[string]struct {
		word    string
		records []journal.Record
		want    timing.Timing // zero: an error
	}{
		"the word of the journal": {timing.FenceAcks, nil, timing.OneSecond},
		"another":                 {timing.FenceLease, []journal.Record{page("acks")}, leased},
		"none, and no node's":     {"", nil, leased},
		"none, but a node's":      {"", []journal.Record{page("acks")}, timing.OneSecond},
		"none, but another's":     {"", []journal.Record{page("lease")}, leased},
		"one that nobody knows":   {"hedge", nil, timing.Timing{}},
		"no times":                {"no times", nil, timing.Default},
		"no times, but a node's":  {"no times", []journal.Record{page("acks")}, timing.OneSecond},
		"no times, but half":      {"no times", []journal.Record{page("")}, timing.Default},
	} {
		times := &journal.Times{Heartbeat: 300, Suspect: 600, Fail: 1_000, Lease: 600, Fence: c.word}
		if c.word == "no times" {
			times = nil
		}
		run, err := judge.New(append([]journal.Record{{N: 1, Kind: journal.KindRun,
			Run: &journal.Run{Schema: journal.Schema, Times: times}}}, c.records...))
		switch {
		case (err != nil) != (c.want == timing.Timing{}):
			t.Errorf("%s: error %v", name, err)
		case err == nil && run.Times() != c.want:
			t.Errorf("%s: %+v, want %+v", name, run.Times(), c.want)
		}
	}
}

func TestTheBoundOfALatencyIsThatOfTheRunsTimes(t *testing.T) {
	records, err := scenario.StoredRun("kill-peer")
	if err != nil {
		t.Fatal(err)
	}
	fast := *records[0].Run
	fast.Times = &journal.Times{Heartbeat: 300, Suspect: 1_200, Fail: 2_400, Lease: 400}
	records[0].Run = &fast
	run, err := judge.New(records)
	if err != nil {
		t.Fatal(err)
	}
	if l := run.Latencies()[0]; l.Name != judge.Detection || l.Most != 2_900*time.Millisecond {
		t.Errorf("%+v, want a bound of 2.9 s", l)
	}
}
