package scenario

import (
	"slices"
	"testing"
)

func TestGroupsAreOfFaultsThatExist(t *testing.T) {
	names := func(group string) (all []string) {
		faults, ok := FindGroup(group)
		if !ok {
			t.Fatalf("no group %s", group)
		}
		for _, f := range faults {
			all = append(all, f.Name)
		}
		return all
	}
	if got := names("quick"); len(got) != len(quick) || len(quick) > 8 {
		t.Errorf("quick has %q of %q, at most 8", got, quick)
	}
	if got := names(MidCommit); len(got) != 2*len(places) {
		t.Errorf("%s has %q, want each place twice", MidCommit, got)
	}
	everything, most := names("every"), names("all")
	for _, f := range All() {
		if slices.Contains(everything, f.Name) != !f.Short {
			t.Errorf("%s is in every: %t", f.Name, f.Short)
		}
		if slices.Contains(most, f.Name) != (!f.Short && !f.Long) {
			t.Errorf("%s is in all: %t", f.Name, !f.Long)
		}
		if _, ok := FindGroup(f.Name); ok {
			t.Errorf("%s is a fault and a group", f.Name)
		}
	}
	if _, ok := FindGroup("earthquake"); ok {
		t.Error("there is a group earthquake")
	}
}

func TestNamesAreUsedOnce(t *testing.T) {
	faults := make(map[string]bool)
	for _, f := range All() {
		if faults[f.Name] {
			t.Errorf("two faults are called %s", f.Name)
		}
		faults[f.Name] = true
		checks := make(map[string]bool)
		for _, c := range f.AllChecks() {
			if checks[c.Name] {
				t.Errorf("two checks of %s are called %s", f.Name, c.Name)
			}
			checks[c.Name] = true
		}
	}
}
