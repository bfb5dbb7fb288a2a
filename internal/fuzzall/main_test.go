package main

import (
	"slices"
	"testing"
)

// What the product reads from outside has a target each: frames, certificates and views,
// capabilities, moves, NVRAM images, evidence, HTTP requests, byte programs for the step function.
func TestWhatComesFromOutsideIsFuzzed(t *testing.T) {
	suites, err := list(t.Context(), "../../...")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ pkg, name string }{
		{"holdfast/mesh/wire", "FuzzParseIsExact"},
		{"holdfast/mesh/wire", "FuzzMove"},
		{"holdfast/mesh/view", "FuzzDecode"},
		{"holdfast/mesh/view", "FuzzParse"},
		{"holdfast/mesh/capability", "FuzzParse"},
		{"holdfast/nvram", "FuzzImage"},
		{"holdfast/mesh/evidence", "FuzzParse"},
		{"holdfast/kernel/node/web", "FuzzAnyRequest"},
		{"holdfast/kernel/node/link", "FuzzReader"},
		{"holdfast/netstack", "FuzzFrame"},
		{"holdfast/mesh", "FuzzStep"},
	} {
		if !slices.ContainsFunc(suites, func(s suite) bool {
			return s.pkg == want.pkg && slices.Contains(s.targets, want.name)
		}) {
			t.Errorf("no target %s of %s", want.name, want.pkg)
		}
	}
}
