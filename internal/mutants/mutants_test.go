package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestEveryPatchAppliesToTheTree: whoever changes the code of a rule has to look at the mutant that
// breaks it, whose patch has to be made for the new code.
func TestEveryPatchAppliesToTheTree(t *testing.T) {
	all, err := parse(mutantsText)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		m := &all[i]
		changed, err := m.apply("../..")
		if err != nil {
			t.Error(err)
			continue
		}
		if len(changed) != len(m.files()) {
			t.Errorf("mutant %s changes %d files of %v", m.name, len(changed), m.files())
		}
		if !slices.ContainsFunc(levels, func(l level) bool { return l.sees(m.files()) }) {
			t.Errorf("mutant %s is in no level", m.name)
		}
	}
}

// TestThePageSaysHowManyMutantsThereAre: docs/safety.md.
func TestThePageSaysHowManyMutantsThereAre(t *testing.T) {
	all, err := parse(mutantsText)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/safety.md")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`switches each rule off in the product's own source, in\s+(\d+) ways`).
		FindSubmatch(page)
	if said == nil || string(said[1]) != strconv.Itoa(len(all)) {
		t.Errorf("docs/safety.md says %q, there are %d", said, len(all))
	}
}

const twoMutants = `# a comment

mutant one
rule   L1 lease
says   it does one thing
with   two
file   a/b.go
-	x := 1
+	x := 2
 	y := 1

mutant two
rule   L2
says   it does another
file   c.go
-gone
file   c.go
+new
 old
`

func TestATableIsRead(t *testing.T) {
	got, err := parse(twoMutants)
	if err != nil {
		t.Fatal(err)
	}
	two := []edit{{"c.go", "gone", ""}, {"c.go", "old", "new\nold"}}
	one := append(slices.Clone(two), edit{"a/b.go", "\tx := 1\n\ty := 1", "\tx := 2\n\ty := 1"})
	for i, want := range []mutant{
		{"one", "L1 lease", "it does one thing", "two", one},
		{"two", "L2", "it does another", "", two},
	} {
		g := got[i]
		if g.name != want.name || g.rule != want.rule || g.says != want.says || g.with != want.with ||
			!slices.Equal(g.edits, want.edits) {
			t.Errorf("%+v\nwant %+v", g, want)
		}
	}
	if files := got[0].files(); !slices.Equal(files, []string{"c.go", "a/b.go"}) {
		t.Errorf("files %v", files)
	}
}

func TestATableThatIsNoneIsRefused(t *testing.T) {
	const good = "mutant m\nrule r\nsays s\nfile f\n-a\n+b\n"
	for name, c := range map[string]struct{ text, want string }{
		"an unknown word":      {strings.Replace(good, "says", "sais", 1), `3: what is "sais"?`},
		"a word without value": {strings.Replace(good, "rule r", "rule", 1), "2: rule of what?"},
		"before any mutant":    {"rule r\n", "1: rule without a mutant"},
		"no rule":              {strings.Replace(good, "rule r\n", "", 1), "lacks a rule"},
		"no change":            {"mutant m\nrule r\nsays s\n", "lacks a rule"},
		"a change of nothing":  {strings.Replace(good, "+b", "+a", 1), "changes nothing"},
		"only new text":        {strings.Replace(good, "-a\n", "", 1), "changes nothing"},
		"a name twice":         {good + good, "7: mutant m is there twice"},
		"with nobody":          {good + "with x\n", "m is with x: want a mutant that is with none"},
		"with itself":          {good + "with m\n", "m is with m: want a mutant that is with none"},
	} {
		if _, err := parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := parse(good); err != nil {
		t.Error(err)
	}
}

func TestATextMustStandInItsFileOnce(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "f"), []byte("one two two three"), 0o600); err != nil {
		t.Fatal(err)
	}
	for old, want := range map[string]string{
		"one": "", "two": "f has this 2 times, want once:\ntwo", "four": "f has this 0 times",
	} {
		m := mutant{name: "m", edits: []edit{{"f", old, "x"}}}
		changed, err := m.apply(root)
		switch {
		case want == "" && (err != nil || changed["f"] != "x two two three"):
			t.Errorf("%s: %q, %v", old, changed["f"], err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", old, err, want)
		}
	}
	m := mutant{name: "m", edits: []edit{{"f", "one", "two two"}, {"f", "two two two two", "x"}}}
	if changed, err := m.apply(root); err != nil || changed["f"] != "x three" {
		t.Errorf("a second change does not see the first: %q, %v", changed["f"], err)
	}
	m = mutant{name: "m", edits: []edit{{"nowhere", "a", "b"}}}
	if _, err := m.apply(root); err == nil {
		t.Error("a file that is not there")
	}
}

func TestALevelThatDidNotRunHasShownNothing(t *testing.T) {
	for name, c := range map[string]struct {
		succeeded bool
		output    string
		want      verdict
		by        string
	}{
		"all well":     {true, "ok  \tholdfast/mesh\t0.1s\n", survived, ""},
		"a test fails": {false, "--- FAIL: TestX (0.00s)\n    x.go:1: y\nFAIL\n", caught, "TestX"},
		"a panic": {false, "panic: mesh: no [recovered]\n\ngoroutine 1\n", caught,
			"panic: mesh: no [recovered]"},
		"a subtest fails": {false, "--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/y (0.00s)\n", caught,
			"TestX"},
		"a world fails": {false, "soak: seed 7: 1.000 root may\nexit status 1\n", caught,
			"seed 7: 1.000 root may"},
		"not built":   {false, "FAIL\tholdfast/mesh [build failed]\n", broken, ""},
		"killed":      {false, "signal: killed\nFAIL\tholdfast/mesh\t9s\n", broken, ""},
		"wrong flags": {false, "flag provided but not defined: -x\nFAIL\n", broken, ""},
		"no package":  {false, "FAIL\tholdfast/mesh [setup failed]\n", broken, ""},
	} {
		if got := judge(c.succeeded, c.output); got.verdict != c.want ||
			c.want != broken && got.by != c.by {
			t.Errorf("%s: %v by %q, want %v by %q", name, got.verdict, got.by, c.want, c.by)
		}
	}
}

func TestALevelsCommandHasTheOverlayAndThePackages(t *testing.T) {
	packages := []string{"m/a", "m/b"}
	for i := range levels {
		l := &levels[i]
		plain, over := l.command("", packages), l.command("o.json", packages)
		if !slices.Equal(over[:3], []string{l.args[0], "-overlay", "o.json"}) ||
			!slices.Equal(over[3:], plain[1:]) || slices.Contains(plain, protocolPackages) {
			t.Errorf("%s: %v and %v", l.name, plain, over)
		}
	}
	if got := levels[0].command("", packages); !slices.Equal(got[len(got)-2:], packages) {
		t.Errorf("%v does not test %v", got, packages)
	}
}

func TestWrongCommandLinesAreSaid(t *testing.T) {
	for line, want := range map[string]string{
		"-run (":            "-run: error parsing regexp",
		"-run nothing-like": `no mutant matches "nothing-like"`,
		"-level unit,what":  `there is no level "what"`,
		"-level unit,unit":  `there is no level "unit"`,
		"-workers 0":        "have to be above zero",
		"-limit -1s":        "have to be above zero",
		"-what":             "not defined: -what",
		"what":              `what is "what"?`,
	} {
		_, err := parseFlags(strings.Fields(line))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	o, err := parseFlags([]string{"-run", "^L7$", "-level", "search,unit", "-all"})
	if err != nil || !o.all || len(o.mutants) == 0 || o.mutants[0].rule != "L7" {
		t.Errorf("%+v, %v", o, err)
	}
	if len(o.levels) != 2 || o.levels[0].name != "unit" || o.levels[1].name != "search" {
		t.Errorf("levels %v", o.levels)
	}
}

func TestTheReportNamesWhatGotAway(t *testing.T) {
	ls := []level{{name: "unit"}, {name: "search"}}
	ms := []mutant{{name: "a", rule: "L1"}, {name: "long-name", rule: "L2"}, {name: "c", rule: "L3"}}
	rows := []row{
		{&ms[0], []result{{caught, "TestX"}, {}}, nil},
		{&ms[1], []result{{verdict: survived}, {late, "not over after 5m0s"}}, nil},
		{&ms[2], make([]result, 2), os.ErrNotExist},
	}
	var b strings.Builder
	report(&b, ls, rows, 61_400*time.Millisecond)
	want := `mutant               rule  unit    search  first caught by
a                    L1    caught  -       TestX
long-name            L2    lived   late    nothing
c                    L3    -       -       not tried: see below
caught of those run        1/2     0/1

1 of 3 mutants caught; not caught:
  long-name: SURVIVED; search is late: not over after 5m0s
  c: file does not exist
took 1m1s
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	first := row{&ms[0], []result{{caught, "TestX"}, {caught, "TestY"}}, nil}
	if got := first.summary(ls); got != "caught by unit (TestX), search" {
		t.Errorf("in a few words: %s", got)
	}
	if allCaught(rows) || allCaught(rows[1:]) || !allCaught(rows[:1]) {
		t.Error("what counts as all caught")
	}
}
