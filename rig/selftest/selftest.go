// Package selftest shows that the verdict can fail: it damages the journals of good runs in one way
// each, such as a fence that is missing or a suspicion that is early, and asks whether the check
// that is there for it notices. A damaged journal is what a kernel that is wrong in that one way
// would have left, without building it.
//
// The package owns the damages and what must notice each. It must never know how a check decides:
// it has the journal and the verdict. It reads nothing but the stored runs of package scenario.
//
// A Damage is caught when its check gives the answer that it must, held no more, and cites what was
// changed, so that whoever reads the verdict is led there; and when the run's exit code is the one
// for that. What is not caught is a blind spot of the rig's, and never the kernels'.
package selftest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/provision"
	"holdfast/rig/scenario"
)

// damage is one way in which a good journal can be made worse, and what must notice it.
type damage struct {
	name   string
	do     func([]journal.Record) []journal.Record
	check  string // that must notice
	status judge.Status
	code   judge.Code
}

// tables has the damages to the stored run of each recorded fault.
func tables() map[string][]damage {
	return map[string][]damage{
		"none": noneDamages(), "kill-peer": killPeerDamages(), "no-peer": noPeerDamages(),
		"partition": partitionDamages(), "partition-long": partitionLongDamages(),
		"wrong-authority": wrongAuthorityDamages(), "no-route": noRouteDamages(),
		"restart": restartDamages(), "stall-peer-8s": stall8Damages(), "one-way-in": oneWayDamages(),
		"restart-root-gone": goneDamages(), "restart-root-wiped": wipedDamages(),
		"kill-mid-stage": stageDamages(), "clone": cloneDamages(), "kill-peer-second": secondDamages(),
		"kill-peer-of-three": killOfThreeDamages(), "partition-of-three": partitionOfThreeDamages(),
		"restart-root-of-three": olderDamages(), "hostile": hostileDamages(),
	}
}

// Row is what became of one damage.
type Row struct {
	Fault  string
	Damage string
	Check  string       // that must notice
	Want   judge.Status // its answer; Held for a change that is none of its business
	Got    judge.Status
	Wrong  string // why it was not caught; empty when it was
	// Noticed are all checks that did not hold, in the order in which they are asked.
	Noticed []string
}

// Table is the damages to the runs of one fault and what noticed them.
type Table struct {
	Fault  string
	Checks []string // of the fault, in the order in which they are asked
	Rows   []Row
}

// Run does every damage to the stored run of a fault. Its error says that there is no such run, or
// that it is not good even undamaged.
func Run(f *scenario.Fault) (Table, error) {
	good, err := scenario.StoredRun(f.Name)
	if err != nil {
		return Table{}, err
	}
	v, err := verdictOn(f, copyOf(good))
	if err != nil {
		return Table{}, err
	}
	table := Table{Fault: f.Name}
	for _, r := range v.Results {
		table.Checks = append(table.Checks, r.Name)
		if r.Status != judge.Held && !hosts(r) {
			return Table{}, fmt.Errorf("selftest: %s of the undamaged %s run is %v: %s",
				r.Name, f.Name, r.Status, r.Detail)
		}
	}
	for _, d := range tables()[f.Name] {
		row, err := d.row(f, good)
		if err != nil {
			return Table{}, err
		}
		table.Rows = append(table.Rows, row)
	}
	return table, nil
}

// hosts says whether a result is about the host alone: a stored run may have had a busy one, which
// kept a node from running for a moment.
func hosts(r judge.Result) bool {
	return r.Name == "no-pause" && r.Status == judge.Inconclusive
}

// row does the damage and sees who notices.
func (d damage) row(f *scenario.Fault, good []journal.Record) (Row, error) {
	damaged := d.do(copyOf(good))
	v, err := verdictOn(f, damaged)
	if err != nil {
		return Row{}, fmt.Errorf("%s, %s: %w", f.Name, d.name, err)
	}
	row := Row{Fault: f.Name, Damage: d.name, Check: d.check, Want: d.status}
	i := slices.IndexFunc(v.Results, func(r judge.Result) bool { return r.Name == d.check })
	if i < 0 {
		return Row{}, fmt.Errorf("selftest: %s has no check %s", f.Name, d.check)
	}
	for _, r := range v.Results {
		if r.Status != judge.Held {
			row.Noticed = append(row.Noticed, r.Name)
		}
	}
	r := v.Results[i]
	row.Got = r.Status
	switch {
	case r.Status != d.status:
		row.Wrong = fmt.Sprintf("%s is %v, want %v: %s", r.Name, r.Status, d.status, r.Detail)
	case r.Status == judge.Violated && !cites(r, changes(good, damaged)):
		row.Wrong = fmt.Sprintf("%s cites records %v, and not what was changed", r.Name, r.Evidence)
	case v.Code != d.code:
		row.Wrong = fmt.Sprintf("exit %d, want %d; noticed by %v", v.Code, d.code, row.Noticed)
	}
	return row, nil
}

func verdictOn(f *scenario.Fault, records []journal.Record) (judge.Verdict, error) {
	run, err := judge.New(records)
	if err != nil {
		return judge.Verdict{}, err
	}
	return judge.Judge(run, f.AllChecks()), nil
}

// cites says whether a result cites one of the records, or there are none: what was left out cannot
// be cited.
func cites(r judge.Result, records []int) bool {
	return len(records) == 0 || slices.ContainsFunc(r.Evidence, func(n int) bool {
		return slices.Contains(records, n)
	})
}

// changes returns the numbers of the records that are not in the original, whatever their number
// there.
func changes(original, damaged []journal.Record) []int {
	text := func(r journal.Record) string {
		r.N = 0
		b, err := json.Marshal(r)
		if err != nil {
			panic("selftest: " + err.Error())
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

// copyOf copies records as deep as damages go.
func copyOf(records []journal.Record) []journal.Record {
	records = slices.Clone(records)
	for i := range records {
		if records[i].HTTP = copied(records[i].HTTP); records[i].HTTP != nil {
			records[i].HTTP.Header = maps.Clone(records[i].HTTP.Header)
		}
		records[i].Action = copied(records[i].Action)
		records[i].Frame = copied(records[i].Frame)
		records[i].End = copied(records[i].End)
	}
	return records
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// The nodes of a pair.
const (
	root   = "n0" // the authority
	member = "n1"
)

// pair and trio are who takes part in the stored runs of two nodes and of three.
var (
	pair = provision.Draw(scenario.StoredSeed, 2)
	trio = provision.Draw(scenario.StoredSeed, 3)
)

// idOf is the id of a node of a pair, as text.
func idOf(node string) string { return idIn(pair, node) }

func idIn(cast *provision.Cast, node string) string {
	for _, n := range cast.Nodes {
		if n.Name == node {
			return n.ID.String()
		}
	}
	panic("selftest: no node " + node)
}

// homed is the lowest-numbered lab object that a node of a pair homes, as text.
func homed(node string) string { return homedObject(node, 1) }

// homedObject is the nth one, from 1.
func homedObject(node string, nth int) string { return homedIn(pair, node, nth) }

func homedIn(cast *provision.Cast, node string, nth int) string {
	for _, o := range provision.LabObjects() {
		if cast.HomeOf(o.ID).String() != idIn(cast, node) {
			continue
		}
		if nth--; nth == 0 {
			return o.ID.String()
		}
	}
	panic("selftest: not so many objects of " + node)
}
