package main

import (
	"slices"
	"strings"
	"testing"
)

func TestExpectationsAreReadAndBadOnesRefused(t *testing.T) {
	e, err := parseExpected(
		"# a comment\n\nsync TestA  because of  this\n sync TestB that\nruntime TestA x\n")
	if err != nil {
		t.Fatal(err)
	}
	if e["sync"]["TestA"] != "because of this" || e["sync"]["TestB"] != "that" ||
		e["runtime"]["TestA"] != "x" {
		t.Errorf("read %v", e)
	}
	for _, bad := range []string{"sync TestA", "sync", "sync TestA x\nsync TestA y"} {
		if e, err := parseExpected(bad); err == nil || !strings.HasPrefix(err.Error(), "expected.txt:") {
			t.Errorf("%q: %v, %v", bad, e, err)
		}
	}
	if _, err := parseExpected(expectedText); err != nil {
		t.Error(err)
	}
}

func TestARunIsJudgedByItsConsole(t *testing.T) {
	expected := expectations{"sync": {"TestB": "no files"}}
	const a, b = "--- PASS: TestA (0.00s)", "--- FAIL: TestB (1.25s)"
	for name, tt := range map[string]struct {
		lines    []string
		problems []string
		summary  string
	}{
		"as expected": {
			[]string{"=== RUN   TestA", "    --- FAIL: TestA/inner (0.00s)", a, "noise" + b,
				"--- SKIP: TestC (0.00s)", "FAIL"},
			nil, "ok   sync         1 passed, 1 skipped, 1 failed as expected, 0 problems",
		},
		"unexpected failure": {
			[]string{a, b, "--- FAIL: TestD (0.00s)", "FAIL"},
			[]string{"TestD fails"}, "",
		},
		"unexpected pass": {
			[]string{a, "--- PASS: TestB (0.00s)", "PASS"},
			[]string{"TestB passes, but is listed as failing: no files"}, "",
		},
		"a listed test that is gone": {
			[]string{a, "PASS"},
			[]string{"TestB is listed as failing, but did not run"}, "",
		},
		"a listed test that is skipped": {
			[]string{a, "--- SKIP: TestB (0.00s)", "PASS"},
			[]string{"TestB is listed as failing, but did not run"}, "",
		},
		"nothing passed": {
			[]string{b, "FAIL"},
			[]string{"no test passed"}, "",
		},
		"a crash": {
			[]string{a, b, "=== RUN   TestD", "panic: kernel: data abort at 60000000", "r0 00000000"},
			[]string{"did not reach its end: panic: kernel: data abort at 60000000; running TestD"}, "",
		},
		"a hang": {
			[]string{a, b, "=== RUN   TestD", "=== RUN   TestD/inner", "stdtest: time limit reached"},
			[]string{"did not reach its end: stdtest: time limit reached; running TestD"}, "",
		},
		"silence": {
			nil,
			[]string{"TestB is listed as failing, but did not run",
				"did not reach its end: no line at all; running "}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge("sync", tt.lines, expected)
			if !slices.Equal(v.problems, tt.problems) {
				t.Errorf("problems %q, want %q", v.problems, tt.problems)
			}
			if tt.summary != "" && v.String() != tt.summary {
				t.Errorf("summary %q, want %q", v.String(), tt.summary)
			}
		})
	}
}
