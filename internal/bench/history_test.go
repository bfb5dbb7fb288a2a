package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheHistoryIsOfTheTablesRows reads the file that is in the tree: a row that was renamed would
// lose its figures in silence.
func TestTheHistoryIsOfTheTablesRows(t *testing.T) {
	es, err := readHistory(filepath.Base(historyFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(es) == 0 {
		t.Fatal("there are no figures")
	}
	rows := newTable().rows
	for i, e := range es {
		if i > 0 && e.date < es[i-1].date {
			t.Errorf("%v: before the entry above it", e)
		}
		if !slices.ContainsFunc(rows, func(r row) bool { return r.name == e.name && r.unit == e.unit }) {
			t.Errorf("%v: the table has no such row", e)
		}
	}
}

func TestLinesOfTheHistory(t *testing.T) {
	const good = "2026-11-30 | 71b5623 | reset to main | 3.145 | M instructions"
	e, err := parseEntry(good)
	if want := (entry{"2026-11-30", "71b5623", resetToMain, 3.145, "M instructions"}); err != nil ||
		e != want {
		t.Errorf("%v, %v", e, err)
	}
	if e.String() != good {
		t.Errorf("%q comes back as %q", good, e)
	}
	for _, bad := range []string{
		"", "2026-11-30 | 71b5623 | reset to main | 3.145", good + " | more",
		strings.Replace(good, "2026-11-30", "30.11.2026", 1),
		strings.Replace(good, "3.145", "few", 1),
	} {
		if _, err := parseEntry(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestWhatWasRecordedIsPrintedAsBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.txt")
	if es, err := readHistory(path); err != nil || len(es) != 0 {
		t.Errorf("no file: %v, %v", es, err)
	}
	if err := os.WriteFile(path, []byte("# for people\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
	for _, value := range []float64{1.616, 0.75} {
		table := newTable()
		table.set(commitAgain, value)
		if err := appendHistory(path, table.entries(at, "71b5623")); err != nil {
			t.Fatal(err)
		}
	}
	es, err := readHistory(path)
	if err != nil || len(es) != 2 || es[0].value != 1.616 || es[1].date != "2026-11-30" {
		t.Fatalf("%v, %v", es, err)
	}
	var b strings.Builder
	now := newTable()
	now.set(commitAgain, 0.5)
	now.set(commitFirst, 4)
	now.print(&b, es)
	lines := strings.Split(b.String(), "\n")
	for _, want := range []string{
		"routed commit, capability seen again - 0.8 0.75 0.5 M instructions",
		"routed commit, capability seen first - 4.5 - 4 M instructions",
		"reset to main 3.15 3.5 - - M instructions",
	} {
		if !slices.ContainsFunc(lines, func(line string) bool {
			return strings.Join(strings.Fields(line), " ") == want
		}) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

func TestABrokenHistoryIsRefusedWithItsLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.txt")
	if err := os.WriteFile(path, []byte("# for people\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readHistory(path); err == nil || !strings.Contains(err.Error(), "history.txt:2: ") {
		t.Error(err)
	}
}

func TestFieldsOfAPage(t *testing.T) {
	const page = "node id=1 role=member epoch=2 mutable=1 now_ms=9\nmember id=2 epoch=3\n"
	for key, want := range map[string]string{
		"epoch": "2", "mutable": "1", "id": "1", "och": "", "x": "",
	} {
		if got := field(page, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

func TestInstructionsBetweenTwoReadings(t *testing.T) {
	a, b := reading{ms: 10, busyTicks: 100, hz: 62.5e6}, reading{ms: 15, busyTicks: 1100, hz: 62.5e6}
	if n, ms := busy(a, b); n != 16_000 || ms != 5 {
		t.Errorf("%v instructions in %v ms", n, ms)
	}
}
