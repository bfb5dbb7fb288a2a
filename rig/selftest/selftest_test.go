package selftest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/golden"
	"holdfast/mesh/timing"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/report"
	"holdfast/rig/scenario"
)

// good returns a copy of the stored run of a fault.
func good(t *testing.T, fault string) []journal.Record {
	t.Helper()
	if stored[fault] == nil {
		var err error
		if stored[fault], err = scenario.StoredRun(fault); err != nil {
			t.Fatal(err)
		}
	}
	return copyOf(stored[fault])
}

// stored is the journals that have been read, for good to copy.
var stored = make(map[string][]journal.Record)

func judged(t *testing.T, f *scenario.Fault, records []journal.Record) judge.Verdict {
	t.Helper()
	v, err := verdictOn(f, records)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAGoodRunOfEveryFaultHolds(t *testing.T) {
	for _, f := range scenario.Recorded() {
		t.Run(f.Name, func(t *testing.T) {
			v := judged(t, f, good(t, f.Name))
			for _, r := range v.Results {
				if r.Status != judge.Held && !hosts(r) || len(r.Evidence) == 0 {
					t.Errorf("%s is %v: %s (records %v)", r.Name, r.Status, r.Detail, r.Evidence)
				}
			}
			want := judge.CodeHeld
			if slices.ContainsFunc(v.Results, hosts) {
				want = judge.CodeInconclusive
			}
			if v.Code != want {
				t.Errorf("exit %d, want %d", v.Code, want)
			}
			compare(t, "../scenario/testdata/"+f.Name+".verdict", v)
		})
	}
}

// compare compares what every check found, and the records that it cites, with what is stored.
func compare(t *testing.T, path string, v judge.Verdict) {
	t.Helper()
	var got strings.Builder
	for _, r := range v.Results {
		fmt.Fprintf(&got, "%s %s: %s %v\n", r.Status, r.Name, r.Detail, r.Evidence)
	}
	golden.Check(t, path, got.String())
}

func TestDamageIsNoticed(t *testing.T) {
	noticed := make(map[string]map[string]bool) // by fault, the checks
	for _, f := range scenario.Recorded() {
		noticed[f.Name] = make(map[string]bool)
		table, err := Run(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range table.Rows {
			if r.Wrong != "" {
				t.Errorf("%s, %s: %s", f.Name, r.Damage, r.Wrong)
			}
			noticed[f.Name][r.Check] = noticed[f.Name][r.Check] || r.Want != judge.Held
		}
	}
	anywhere := make(map[string]bool)
	for _, checks := range noticed {
		for name, can := range checks {
			anywhere[name] = anywhere[name] || can
		}
	}
	for _, f := range scenario.Recorded() {
		for _, c := range f.Checks {
			// A long partition has all the checks of a short one; others share theirs.
			shared := f.HasTraffic() || f.Times != (timing.Timing{}) ||
				strings.HasPrefix(f.Name, "kill-mid-")
			if !noticed[f.Name][c.Name] && !(f.Long && noticed["partition"][c.Name]) &&
				!(shared && anywhere[c.Name]) {
				t.Errorf("no damage to a %s run shows that its check %s can fail", f.Name, c.Name)
			}
		}
	}
}

func TestEveryCheckOfEveryFaultHasADamage(t *testing.T) {
	damaged := make(map[string]bool)
	for _, list := range tables() {
		for _, d := range list {
			damaged[d.check] = damaged[d.check] || d.status != judge.Held
		}
	}
	missing := make(map[string]bool)
	for _, f := range scenario.All() {
		for _, c := range f.Checks {
			if !damaged[c.Name] {
				missing[c.Name] = true
			}
		}
	}
	for name := range missing {
		t.Errorf("no damage shows that %s can fail", name)
	}
}

// A damage that changes nothing, one that another check is said to be there for, and one with
// another code must be missed: else the table could not tell.
func TestABlindSpotIsReported(t *testing.T) {
	f, _ := scenario.Find("none")
	leave := func(rs []journal.Record) []journal.Record { return rs }
	lost := drop(member, "mesh-join: confirmed")
	for _, c := range []struct {
		damage damage
		wrong  string
	}{
		{damage{"nothing", leave, "join", inconclusive, open}, "join is held, want inconclusive"},
		{damage{"no join", lost, "homes-by-score", inconclusive, open}, "homes-by-score is held"},
		{damage{"no join", lost, "join", inconclusive, wrong}, "exit 2, want 1"},
		{damage{"no join", lost, "join", inconclusive, open}, ""},
	} {
		row, err := c.damage.row(f, good(t, "none"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(row.Wrong, c.wrong) || (row.Wrong == "") != (c.wrong == "") {
			t.Errorf("%s: %q, want %q", c.damage.name, row.Wrong, c.wrong)
		}
	}
	unknown := damage{"x", leave, "no-such-check", violated, open}
	if _, err := unknown.row(f, good(t, "none")); err == nil {
		t.Error("a check that does not exist is no error")
	}
	if _, err := Run(&scenario.Fault{Name: "earthquake"}); err == nil {
		t.Error("a fault without a stored run is no error")
	}
	if cites(judge.Result{Evidence: []int{1, 2}}, []int{3}) {
		t.Error("a result cites what it does not")
	}
}

func TestTheTablesAreWritten(t *testing.T) {
	table := Table{Fault: "none", Checks: []string{"a", "b"}, Rows: []Row{
		{"none", "one", "a", violated, violated, "", []string{"a", "b"}},
		{"none", "two", "b", violated, judge.Held, "b is held", []string{"a"}},
		{"none", "three", "b", judge.Held, judge.Held, "", nil},
	}}
	var text, matrix strings.Builder
	if err := table.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := table.WriteMatrix(&matrix); err != nil {
		t.Fatal(err)
	}
	const wantText = "none: 2 of 3 damages caught\n" +
		"  caught  one: a is violated; also b\n" +
		"  MISSED  two: b is held; also a\n" +
		"          b is held\n" +
		"  caught  three: b lets it be, as it must\n\n" +
		"  check, and how many damages make it fail\n     2  a\n     1  b\n"
	const wantMatrix = "fault,damage,caught,a,b\nnone,one,1,1,1\nnone,two,0,1,0\nnone,three,1,0,0\n"
	if diff := cmp.Diff(wantText, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantMatrix, matrix.String()); diff != "" {
		t.Errorf("matrix (-want +got):\n%s", diff)
	}
	if s := table.Survivors(); len(s) != 1 || s[0].Damage != "two" {
		t.Errorf("survivors are %+v", s)
	}
}

func TestWhatBecomesOfBrokenKernels(t *testing.T) {
	checked := func(code judge.Code, fault string, a, b judge.Status) report.Result {
		return report.Result{Fault: fault, Exit: code, Checks: []judge.Result{
			{Name: fault, Status: a}, {Name: "common", Status: b}}}
	}
	kernels := Kernels{
		{"lives", checked(judge.CodeHeld, "one", judge.Held, judge.Held)},
		{"lives", checked(judge.CodeHeld, "two", judge.Held, judge.Held)},
		{"sleeps", checked(open, "one", inconclusive, judge.Held)},
		{"sleeps", checked(judge.CodeHeld, "two", judge.Held, judge.Held)},
		{"dies", checked(open, "one", judge.Held, inconclusive)},
		{"dies", checked(wrong, "two", inconclusive, violated)},
	}
	for kernel, want := range map[string]Fate{"lives": Missed, "sleeps": Open, "dies": Caught} {
		if got := kernels.FateOf(kernel); got != want {
			t.Errorf("%s is %v, want %v", kernel, got, want)
		}
	}
	var text, matrix strings.Builder
	if err := kernels.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := kernels.WriteMatrix(&matrix); err != nil {
		t.Fatal(err)
	}
	const wantText = "  MISSED  lives\n            one: every check held\n" +
		"            two: every check held\n  open    sleeps\n            one: inconclusive one\n" +
		"            two: every check held\n  caught  dies\n            one: inconclusive common\n" +
		"            two: violated common; inconclusive two\n1 of 3 broken kernels caught\n"
	const wantMatrix = "kernel,fault,exit,one,common,two\nlives,one,0,held,held,\n" +
		"lives,two,0,,held,held\nsleeps,one,2,inconclusive,held,\nsleeps,two,0,,held,held\n" +
		"dies,one,2,held,inconclusive,\ndies,two,1,,violated,inconclusive\n"
	if diff := cmp.Diff(wantText, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantMatrix, matrix.String()); diff != "" {
		t.Errorf("matrix (-want +got):\n%s", diff)
	}
}

func TestOfARunThatNeverBeganNothingIsKnown(t *testing.T) {
	for _, f := range scenario.Recorded() {
		v := judged(t, f, shortened(good(t, f.Name), 1))
		for _, r := range v.Results[:len(f.Checks)] {
			if r.Status != judge.Inconclusive {
				t.Errorf("%s of %s is %v: %s", r.Name, f.Name, r.Status, r.Detail)
			}
		}
	}
}

func TestAGoodRunThatEndsEarlyViolatesNothing(t *testing.T) {
	const ends = 60 // of each journal: all would take long
	for _, f := range scenario.Recorded() {
		records := good(t, f.Name)
		for i := range ends {
			n := 1 + i*len(records)/ends
			early := shortened(records, n)
			if f.HasTraffic() {
				// As a rig leaves it that is killed: one that ends a run has a record of every request.
				early = early[:n]
			}
			for _, r := range judged(t, f, early).Results {
				if r.Status == judge.Violated {
					t.Errorf("%s of %s is violated when it ends after %d of %d records: %s",
						r.Name, f.Name, n, len(records), r.Detail)
				}
			}
		}
	}
}

func TestEveryDamageIsOfARecordedFault(t *testing.T) {
	for fault := range tables() {
		if !slices.ContainsFunc(scenario.Recorded(), func(f *scenario.Fault) bool {
			return f.Name == fault
		}) {
			t.Errorf("there is no stored run of %s", fault)
		}
	}
}
