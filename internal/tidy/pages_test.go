package tidy

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What a page says that can be looked up: links, and names between backticks.
var (
	link    = regexp.MustCompile(`\]\(([^)#\s]+)`)
	quoted  = regexp.MustCompile("`(make )?([A-Za-z0-9_./-]+)")
	shown   = regexp.MustCompile(`at holdfast/(\S+):\d+\n(\d+)\t(.*)`) // a debugger's
	tested  = regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w+`)
	target  = regexp.MustCompile(`(?m)^([a-z-]+):`)
	defined = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w+)\(`)
)

// A catalogue has what there is to name.
type catalogue struct {
	exists  func(path string) bool // from the module's root
	folders []string               // at the root
	sources map[string][]string    // the lines of each Go file
	names   map[string]bool        // of tests and of make's targets
}

// catalogueOf looks through the tree.
func catalogueOf(files []*file) *catalogue {
	c := &catalogue{names: map[string]bool{}, sources: map[string][]string{}}
	c.exists = func(path string) bool {
		_, err := os.Stat(filepath.Join("../..", filepath.FromSlash(path)))
		return err == nil
	}
	for _, f := range files {
		if f.syntax != nil {
			c.sources[f.path] = strings.Split(f.content, "\n")
		}
		names := defined
		if f.path == "Makefile" {
			names = target
		} else if !f.isTest() {
			names = nil
		}
		if names != nil {
			for _, m := range names.FindAllStringSubmatch(f.content, -1) {
				c.names[m[1]] = true
			}
		}
		if folder, _, within := strings.Cut(f.path, "/"); within && !slices.Contains(c.folders, folder) {
			c.folders = append(c.folders, folder)
		}
	}
	return c
}

// dangling checks that what a page names is there.
func (c *catalogue) dangling(f *file) []string {
	if !strings.HasSuffix(f.path, ".md") {
		return nil
	}
	var wrong []string
	say := func(what string) {
		wrong = append(wrong, fmt.Sprintf("%s: there is no %s", f.path, what))
	}
	for _, m := range link.FindAllStringSubmatch(f.content, -1) {
		if !strings.Contains(m[1], "://") && !c.exists(path.Join(path.Dir(f.path), m[1])) {
			say(m[1])
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(f.content, -1) {
		folder, _, within := strings.Cut(m[2], "/")
		switch {
		case m[1] != "" && !strings.Contains(m[2], "/"):
			if !c.names[m[2]] {
				say("make " + m[2])
			}
		case within && slices.Contains(c.folders, folder) && !c.exists(m[2]):
			say(m[2])
		}
	}
	for _, m := range shown.FindAllStringSubmatch(f.content, -1) {
		source := c.sources[m[1]]
		if n, _ := strconv.Atoi(m[2]); n < 1 || n > len(source) || source[n-1] != m[3] {
			say(m[1] + " with this line " + m[2] + ": " + m[3])
		}
	}
	for _, name := range tested.FindAllString(f.content, -1) {
		if !c.names[name] {
			say(name)
		}
	}
	return wrong
}

// TestDecisionsAreNumberedAndListed: the records count from 1 without a gap, and their README leads
// to each.
func TestDecisionsAreNumberedAndListed(t *testing.T) {
	const folder = "../../docs/decisions/"
	list, err := os.ReadFile(folder + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	records, err := filepath.Glob(folder + "0*.md")
	if err != nil || len(records) < 13 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for i, record := range records {
		name, number := filepath.Base(record), fmt.Sprintf("%04d", i+1)
		if row := fmt.Sprintf("\n| [%s](%s) |", number, name); !strings.Contains(string(list), row) {
			t.Errorf("no row of record %d leads to %s", i+1, name)
		}
		text, err := os.ReadFile(record)
		if err != nil || !strings.HasPrefix(string(text), "# "+number+": ") {
			t.Errorf("%s does not begin with its number, %s: %v", name, number, err)
		}
	}
}

// TestEveryDependencyIsExplained: docs/dependencies.md has a row for what go.mod requires, and for
// nothing else.
func TestEveryDependencyIsExplained(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	var (
		direct = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`) // others have "// indirect" behind it
		row    = regexp.MustCompile("(?m)^\\| (`[^|]+)\\|")
		module = regexp.MustCompile("`(\\S+/\\S+)`")
	)
	required := make(map[string]bool)
	for _, m := range direct.FindAllStringSubmatch(string(mod), -1) {
		required[m[1]] = true
	}
	if len(required) < 10 {
		t.Fatalf("go.mod requires %v", required)
	}
	for _, cells := range row.FindAllStringSubmatch(string(page), -1) {
		for _, m := range module.FindAllStringSubmatch(cells[1], -1) {
			if !required[m[1]] {
				t.Errorf("docs/dependencies.md explains %s, which go.mod does not require", m[1])
			}
			delete(required, m[1])
		}
	}
	for name := range required {
		t.Errorf("docs/dependencies.md says nothing of %s", name)
	}
}

func TestWhatIsNotThereIsFound(t *testing.T) {
	c := &catalogue{folders: []string{"mesh"}, names: map[string]bool{"sweep": true, "TestIt": true},
		sources: map[string][]string{"a.go": {"package a", "func b() {"}},
		exists:  func(path string) bool { return path == "docs/safety.md" || path == "mesh/sim" }}
	for text, ok := range map[string]bool{
		"[why](safety.md), [there](https://example.org/x)": true,
		"[why](safety.md#rules)":                           true,
		"[why](missing.md)":                                false,
		"[why](../docs/missing.md)":                        false,
		"`mesh/sim` and `bin/rig`":                         true,
		"`mesh/simm`":                                      false,
		"`make sweep` and `make image PPROF=1`":            false,
		"`make sweep`, `make build/x`":                     true,
		"`TestIt` shows it":                                true,
		"`TestThat` shows it":                              false,
		"a.b (c=1) at holdfast/a.go:2\n2\tfunc b() {\n":    true,
		"a.b (c=1) at holdfast/a.go:2\n2\tfunc c() {\n":    false,
		"a.b (c=1) at holdfast/a.go:9\n9\tfunc b() {\n":    false,
	} {
		if wrong := c.dangling(read(t, "docs/a.md", text)); (len(wrong) == 0) != ok {
			t.Errorf("%q: %v", text, wrong)
		}
	}
}
