package node

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// consolePage is docs/console.md.
func consolePage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/console.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheDocumentationHasEveryCommand(t *testing.T) {
	page := consolePage(t)
	for _, c := range commands() {
		usage := strings.TrimRight(c.name+" "+c.arguments, " ")
		row := "| `" + strings.ReplaceAll(usage, "|", `\|`) + "` | " + c.help + " |\n"
		if !strings.Contains(page, row) {
			t.Errorf("docs/console.md has no row %q", row)
		}
	}
}

// machineFigure is a figure in package main of the image, which no test can import.
var machineFigure = regexp.MustCompile(`(total|gauge)\("(\w+)",\s*"([^"]+)"`)

func TestTheDocumentationHasEveryMetricAndNoOther(t *testing.T) {
	helps := make(map[string]string) // by metric
	inWorld(t, func(t *testing.T, w *world) {
		a, _ := w.pair()
		<-time.After(time.Second)
		for name, family := range a.scrape() {
			helps[name] = family.GetHelp()
		}
	})
	source, err := os.ReadFile("../image/figures.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range machineFigure.FindAllStringSubmatch(string(source), -1) {
		name := "holdfast_" + m[2]
		if m[1] == "total" {
			name += "_total"
		}
		helps[name] = m[3]
	}
	row := regexp.MustCompile("(?m)^\\| `((?:holdfast|go)_\\w+)` \\| [^|]+ \\| (.+) \\|$")
	documented := make(map[string]string)
	for _, m := range row.FindAllStringSubmatch(consolePage(t), -1) {
		documented[m[1]] = m[2]
	}
	for _, name := range slices.Sorted(maps.Keys(helps)) {
		if documented[name] != helps[name] {
			t.Errorf("docs/console.md says of %s %q, and the node %q", name, documented[name], helps[name])
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("docs/console.md has %s, which does not exist", name)
	}
	if len(helps) < 40 {
		t.Errorf("only %d metrics", len(helps))
	}
}
