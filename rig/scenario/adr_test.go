package scenario_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/rig/scenario"
)

const adrTable = "../../docs/adr-0008.md"

var (
	testCell  = regexp.MustCompile("^([a-z/]+) `(Test[A-Za-z0-9]+)`$")
	checkName = regexp.MustCompile("`([a-z0-9-]+)`")
)

// The table of the decision record's sentences must point at tests and checks that exist.
func TestEveryRowOfTheADRTablePointsAtATestAndAtChecksThatExist(t *testing.T) {
	tests, checks := adrRows(t)
	if len(tests) < 22 || len(checks) < 7 {
		t.Fatalf("%d host rows and %d rows of real kernels", len(tests), len(checks))
	}
	for _, row := range tests {
		cell := testCell.FindStringSubmatch(row[1])
		if cell == nil {
			t.Errorf("%q names no test: %q", row[0], row[1])
		} else if !hasTest(t, cell[1], cell[2]) {
			t.Errorf("%q: package %s has no %s", row[0], cell[1], cell[2])
		}
		for _, name := range names(row[2]) {
			if !anyFaultHas(name) {
				t.Errorf("%q: no fault has the check %s", row[0], name)
			}
		}
	}
	for _, row := range checks {
		faults, wanted := names(row[1]), names(row[2])
		if len(faults) == 0 || len(wanted) == 0 {
			t.Errorf("%q names no fault or no check", row[0])
		}
		for _, fault := range faults {
			for _, name := range wanted {
				if !faultHas(fault, name) {
					t.Errorf("%q: fault %s has no check %s", row[0], fault, name)
				}
			}
		}
	}
}

// adrRows returns the rows of the two tables: of host tests, and of real kernels.
func adrRows(t *testing.T) (tests, checks [][]string) {
	text, err := os.ReadFile(adrTable)
	if err != nil {
		t.Fatal(err)
	}
	host, real, ok := strings.Cut(string(text), "## Real kernels")
	if !ok {
		t.Fatal("no section on real kernels")
	}
	return tableRows(host), tableRows(real)
}

// tableRows returns the cells of each table row below the header.
func tableRows(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| the record's sentence") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

func names(cell string) (all []string) {
	for _, m := range checkName.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// hasTest reports whether a test file of the package declares the test.
func hasTest(t *testing.T, pkg, name string) bool {
	files, err := filepath.Glob(filepath.Join("../..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "\nfunc "+name+"(t *testing.T) {")
	})
}

func anyFaultHas(check string) bool {
	return slices.ContainsFunc(scenario.All(), func(f *scenario.Fault) bool {
		return faultHas(f.Name, check)
	})
}

func faultHas(fault, check string) bool {
	f, ok := scenario.Find(fault)
	if !ok {
		return false
	}
	for _, c := range f.AllChecks() {
		if c.Name == check {
			return true
		}
	}
	return false
}
