package scenario

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/mesh/id"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/provision"
)

var update = flag.Bool("update", false, "rewrite the verdicts in testdata; review the difference")

// seed is that of the stored runs.
const seed = 42

// good returns the journal of a run of the fault on real kernels in which everything was as it
// should be. After a change to what nodes print, new ones come from
//
//	bin/rig run --fault every --seed 42 --out /tmp/runs
//
// as each run's events.jsonl.
func good(t *testing.T, fault string) []journal.Record {
	t.Helper()
	if stored[fault] == nil {
		text, err := os.ReadFile("testdata/" + fault + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		if stored[fault], err = journal.Read(bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	records := slices.Clone(stored[fault])
	for i := range records {
		records[i].HTTP = copied(records[i].HTTP)
		records[i].Action = copied(records[i].Action)
		records[i].Frame = copied(records[i].Frame)
		records[i].End = copied(records[i].End)
	}
	return records
}

// recorded is the faults of which a run is stored. Those with traffic are left out: their journals
// are long, and what is particular to their checks is shown by the tests of package judge.
func recorded() []*Fault {
	return slices.DeleteFunc(All(), func(f *Fault) bool {
		return slices.ContainsFunc(f.Steps, func(s Step) bool {
			_, traffic := s.(load)
			return traffic
		})
	})
}

// stored is the journals that have been read, for good to copy.
var stored = make(map[string][]journal.Record)

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// cast is who takes part in the stored runs.
var cast = provision.Draw(seed, 2)

// idOf is a node's id as text.
func idOf(node string) string {
	for _, n := range cast.Nodes {
		if n.Name == node {
			return n.ID.String()
		}
	}
	panic("no node " + node)
}

// homed is the lowest-numbered lab object that a node homes, as text.
func homed(node string) string { return homedObject(node, 1) }

// homedNth is the nth one, from 1.
func homedObject(node string, nth int) string {
	for _, o := range provision.LabObjects() {
		if cast.HomeOf(o.ID).String() != idOf(node) {
			continue
		}
		if nth--; nth == 0 {
			return o.ID.String()
		}
	}
	panic("not so many objects of " + node)
}

// digest is one that no view of a stored run has.
func digest(n byte) string { return id.Sum([]byte{n}).String() }

func verdictOn(t *testing.T, fault string, records []journal.Record) judge.Verdict {
	t.Helper()
	f, ok := Find(fault)
	if !ok {
		t.Fatalf("no fault %s", fault)
	}
	run, err := judge.New(records)
	if err != nil {
		t.Fatal(err)
	}
	return judge.Judge(run, f.AllChecks())
}

func TestAGoodRunOfEveryFaultHolds(t *testing.T) {
	for _, f := range recorded() {
		t.Run(f.Name, func(t *testing.T) {
			v := verdictOn(t, f.Name, good(t, f.Name))
			for _, r := range v.Results {
				if r.Status != judge.Held || len(r.Evidence) == 0 {
					t.Errorf("%s is %v: %s (records %v)", r.Name, r.Status, r.Detail, r.Evidence)
				}
			}
			if v.Code != judge.CodeHeld {
				t.Errorf("exit %d, want %d", v.Code, judge.CodeHeld)
			}
			golden(t, "testdata/"+f.Name+".verdict", v)
		})
	}
}

// golden compares what every check found, and the records that it cites, with what is stored.
func golden(t *testing.T, path string, v judge.Verdict) {
	t.Helper()
	var got strings.Builder
	for _, r := range v.Results {
		fmt.Fprintf(&got, "%s %s: %s %v\n", r.Status, r.Name, r.Detail, r.Evidence)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// damage is one way in which a good journal can be made worse, and what must notice it.
type damage struct {
	name   string
	do     func([]journal.Record) []journal.Record
	check  string // that must notice
	status judge.Status
	code   judge.Code
}

func TestDamageIsNoticed(t *testing.T) {
	tables := map[string][]damage{
		"none": noneDamages(), "kill-peer": killPeerDamages(), "no-peer": noPeerDamages(),
		"partition": partitionDamages(), "partition-long": partitionLongDamages(),
		"wrong-authority": wrongAuthorityDamages(), "no-route": noRouteDamages(),
		"restart": restartDamages(),
	}
	noticed := make(map[string]map[string]bool) // by fault, the checks
	for fault, damages := range tables {
		noticed[fault] = make(map[string]bool)
		for _, d := range damages {
			t.Run(fault+"/"+d.name, func(t *testing.T) { d.notice(t, fault) })
			noticed[fault][d.check] = noticed[fault][d.check] || d.status != judge.Held
		}
	}
	for _, f := range recorded() {
		for _, c := range f.Checks {
			// A long partition has all the checks of a short one.
			if !noticed[f.Name][c.Name] && !(f.Long && noticed["partition"][c.Name]) {
				t.Errorf("no damage to a %s run shows that its check %s can fail", f.Name, c.Name)
			}
		}
	}
}

// changes returns the numbers of the records that are not in the original, whatever their number
// there.
func changes(t *testing.T, original, damaged []journal.Record) []int {
	text := func(r journal.Record) string {
		r.N = 0
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	known := make(map[string]bool)
	for _, r := range original {
		known[text(r)] = true
	}
	var numbers []int
	for _, r := range damaged {
		if !known[text(r)] {
			numbers = append(numbers, r.N)
		}
	}
	return numbers
}

func (d damage) notice(t *testing.T, fault string) {
	damaged := d.do(good(t, fault))
	v := verdictOn(t, fault, damaged)
	i := slices.IndexFunc(v.Results, func(r judge.Result) bool { return r.Name == d.check })
	if i < 0 {
		t.Fatalf("%s has no check %s", fault, d.check)
	}
	r := v.Results[i]
	if r.Status != d.status {
		t.Errorf("%s is %v, want %v: %s", r.Name, r.Status, d.status, r.Detail)
	}
	changed := changes(t, good(t, fault), damaged)
	cited := slices.ContainsFunc(r.Evidence, func(n int) bool { return slices.Contains(changed, n) })
	if r.Status == judge.Violated && len(changed) > 0 && !cited {
		t.Errorf("records %v were damaged, %s cites %v", changed, r.Name, r.Evidence)
	}
	if v.Code != d.code {
		t.Errorf("exit %d, want %d", v.Code, d.code)
		for _, r := range v.Results {
			if r.Status != judge.Held {
				t.Logf("%s is %v: %s", r.Name, r.Status, r.Detail)
			}
		}
	}
}

// shortened is a good journal that ends after so many records, because a step took too long.
func shortened(records []journal.Record, n int) []journal.Record {
	at := records[n-1].At
	return append(records[:n:n], journal.Record{
		N: n + 1, At: at, Kind: journal.KindEnd, End: &journal.End{Outcome: journal.Deadline},
	})
}

func TestOfARunThatNeverBeganNothingIsKnown(t *testing.T) {
	for _, f := range recorded() {
		v := verdictOn(t, f.Name, shortened(good(t, f.Name), 1))
		for _, r := range v.Results[:len(f.Checks)] {
			if r.Status != judge.Inconclusive {
				t.Errorf("%s of %s is %v: %s", r.Name, f.Name, r.Status, r.Detail)
			}
		}
	}
}

func TestAGoodRunThatEndsEarlyViolatesNothing(t *testing.T) {
	const ends = 60 // of each journal: all would take long
	for _, f := range recorded() {
		records := good(t, f.Name)
		for i := range ends {
			n := 1 + i*len(records)/ends
			for _, r := range verdictOn(t, f.Name, shortened(records, n)).Results {
				if r.Status == judge.Violated {
					t.Errorf("%s of %s is violated when it ends after %d of %d records: %s",
						r.Name, f.Name, n, len(records), r.Detail)
				}
			}
		}
	}
}
