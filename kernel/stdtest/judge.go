package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// expectations is the reason for each expected failure, by package and test.
type expectations map[string]map[string]string

// parseExpected reads lines of the form "PACKAGE TEST REASON...". A line that starts with # is a
// comment.
func parseExpected(text string) (expectations, error) {
	e := expectations{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 3 {
			return nil, fmt.Errorf("expected.txt:%d: want PACKAGE TEST REASON", i+1)
		}
		pkg, test := f[0], f[1]
		if e[pkg] == nil {
			e[pkg] = map[string]string{}
		}
		if e[pkg][test] != "" {
			return nil, fmt.Errorf("expected.txt:%d: %s %s is there twice", i+1, pkg, test)
		}
		e[pkg][test] = strings.Join(f[2:], " ")
	}
	return e, nil
}

// verdict is what a package's run came to. Only tests at the top are counted: one fails when one
// inside of it does.
type verdict struct {
	pkg                    string
	pass, skip, asExpected int
	problems               []string
}

func (v verdict) String() string {
	word := "ok  "
	if len(v.problems) != 0 {
		word = "FAIL"
	}
	return fmt.Sprintf("%s %-12s %d passed, %d skipped, %d failed as expected, %d problems",
		word, v.pkg, v.pass, v.skip, v.asExpected, len(v.problems))
}

// result is the line that ends a test. What a test prints without an end of line can stand ahead.
var result = regexp.MustCompile(`--- (PASS|FAIL|SKIP): (\w+) \(\d+\.\d+s\)$`)

// judge compares a package's console with what is expected of it.
func judge(pkg string, lines []string, expected expectations) verdict {
	v := verdict{pkg: pkg}
	seen := map[string]string{}
	finished := false
	for _, line := range lines {
		finished = finished || line == "PASS" || line == "FAIL"
		if m := result.FindStringSubmatch(line); m != nil {
			seen[m[2]] = m[1]
		}
	}
	if !finished {
		last := "no line at all"
		for _, line := range slices.Backward(lines) {
			if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "stdtest: ") {
				last = line
				break
			}
		}
		v.problems = append(v.problems, fmt.Sprintf("did not reach its end: %s; running %s",
			last, strings.Join(running(lines, seen), " ")))
	}
	for test, outcome := range seen {
		reason := expected[pkg][test]
		switch {
		case outcome == "PASS" && reason != "":
			v.problems = append(v.problems, test+" passes, but is listed as failing: "+reason)
		case outcome == "PASS":
			v.pass++
		case outcome == "SKIP":
			v.skip++
		case reason != "":
			v.asExpected++
		default:
			v.problems = append(v.problems, test+" fails")
		}
	}
	for test := range expected[pkg] {
		if outcome := seen[test]; outcome == "" || outcome == "SKIP" {
			v.problems = append(v.problems, test+" is listed as failing, but did not run")
		}
	}
	if v.pass == 0 && finished {
		v.problems = append(v.problems, "no test passed")
	}
	slices.Sort(v.problems)
	return v
}

// running is the tests that started and did not end.
func running(lines []string, seen map[string]string) (tests []string) {
	for _, line := range lines {
		name, ok := strings.CutPrefix(line, "=== RUN   ")
		if ok && seen[name] == "" && !strings.Contains(name, "/") {
			tests = append(tests, name)
		}
	}
	return tests
}
