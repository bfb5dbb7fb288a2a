package evidence

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// blocks returns the lines of the fenced blocks of a kind in docs/evidence.md.
func blocks(t *testing.T, kind string) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/evidence.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	inside := false
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```"+kind
		case inside:
			lines = append(lines, line)
		}
	}
	return lines
}

func TestTheDocumentationShowsEveryRowAndNoOther(t *testing.T) {
	var want []string
	for _, r := range allRows {
		want = append(want, r.String())
	}
	got := blocks(t, "form")
	for _, r := range want {
		if !slices.Contains(got, r) {
			t.Errorf("docs/evidence.md does not show\n%s", r)
		}
	}
	for _, r := range got {
		if !slices.Contains(want, r) {
			t.Errorf("docs/evidence.md shows a row that does not exist\n%s", r)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}

func TestEveryExampleOfTheDocumentationParses(t *testing.T) {
	rows := slices.Clone(allRows)
	for _, s := range blocks(t, "example") {
		if _, err := parse(s); err != nil {
			t.Error(err)
		}
		rows = slices.DeleteFunc(rows, func(r Row) bool {
			_, wrong := r.match(s)
			return wrong == ""
		})
	}
	for _, r := range rows {
		t.Errorf("no example of %s", r)
	}
}

func TestTheDocumentationExplainsEveryKindOfValue(t *testing.T) {
	page, err := os.ReadFile("../../docs/evidence.md")
	if err != nil {
		t.Fatal(err)
	}
	for k := KindText; int(k) < len(kinds); k++ {
		cell := "`<" + strings.ReplaceAll(k.String(), "|", `\|`) + ">`"
		if !strings.Contains(string(page), cell) {
			t.Errorf("no %s in the table of values", cell)
		}
	}
}
