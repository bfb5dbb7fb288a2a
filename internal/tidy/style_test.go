package tidy

import (
	"fmt"
	"go/ast"
	"go/format"
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

// The limits of the house.
const (
	columnsMax  = 100 // a tab counts as one
	functionMax = 70  // lines from func to the closing brace
	fileMax     = 500 // lines
	pageMax     = 800 // lines of a page, which people read from the top
)

// columns checks the width of Go code and of assembly.
func columns(f *file) []string {
	if f.syntax == nil && !strings.HasSuffix(f.path, ".s") {
		return nil
	}
	var wrong []string
	number := 0
	for line := range strings.Lines(f.content) {
		number++
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columnsMax {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %d columns, at most %d",
				f.path, number, n, columnsMax))
		}
	}
	return wrong
}

// lengths checks the lines of pages, files and functions.
func lengths(f *file) []string {
	most := fileMax
	switch {
	case strings.HasSuffix(f.path, ".md"):
		most = pageMax
	case f.syntax == nil:
		return nil
	}
	var wrong []string
	if n := strings.Count(f.content, "\n"); n > most {
		wrong = append(wrong, fmt.Sprintf("%s: %d lines, at most %d", f.path, n, most))
	}
	if f.syntax == nil {
		return wrong
	}
	for _, d := range f.syntax.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := f.line(fn.End()) - f.line(fn.Pos()) + 1; n > functionMax {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s has %d lines, at most %d",
				f.path, f.line(fn.Pos()), fn.Name.Name, n, functionMax))
		}
	}
	return wrong
}

// formatted checks that gofmt has nothing to change.
func formatted(f *file) []string {
	if f.syntax == nil {
		return nil
	}
	want, err := format.Source([]byte(f.content))
	if err != nil || string(want) != f.content {
		return []string{f.path + ": not gofmt'd"}
	}
	return nil
}

// sleeps checks that no test waits by sleeping: it waits for a condition. In a synctest bubble
// sleeping is no waiting, since the bubble's time moves by itself.
func sleeps(f *file) []string {
	if f.syntax == nil || !f.isTest() {
		return nil
	}
	for _, spec := range f.syntax.Imports {
		if spec.Path.Value == `"testing/synctest"` {
			return nil
		}
	}
	var wrong []string
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != "Sleep" {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
			wrong = append(wrong, fmt.Sprintf("%s:%d: a test may not sleep", f.path, f.line(n.Pos())))
		}
		return true
	})
	return wrong
}

// undocumented checks that every package has exactly one package comment, in the form that the
// documentation tools know.
func undocumented(files []*file) []string {
	comments := map[string][]string{} // by folder: the files with a package comment
	names := map[string]string{}
	for _, f := range files {
		if f.syntax == nil || strings.HasSuffix(f.syntax.Name.Name, "_test") {
			continue
		}
		dir, name := path.Dir(f.path), f.syntax.Name.Name
		names[dir] = name
		if f.syntax.Doc == nil {
			continue
		}
		comments[dir] = append(comments[dir], f.path)
	}
	var wrong []string
	for dir, name := range names {
		switch found := comments[dir]; {
		case len(found) == 0:
			wrong = append(wrong, dir+": no package comment")
		case len(found) > 1:
			wrong = append(wrong, fmt.Sprintf("%s: %d package comments: %v", dir, len(found), found))
		case name != "main" && !strings.HasPrefix(docOf(files, found[0]), "Package "+name+" "):
			wrong = append(wrong, found[0]+": the comment does not begin with Package "+name)
		}
	}
	return wrong
}

func docOf(files []*file, path string) string {
	for _, f := range files {
		if f.path == path {
			return f.syntax.Doc.Text()
		}
	}
	return ""
}

func TestStyleRulesCatchWhatTheyAreFor(t *testing.T) {
	long, wide := strings.Repeat("x", columnsMax-3), strings.Repeat("é", columnsMax-3)
	lines := func(n int) string { return strings.Repeat("\tf()\n", n) }
	for name, c := range map[string]struct {
		rule          func(*file) []string
		path          string
		holds, broken string
	}{
		"columns": {columns, "a.go", "package a\n\n// " + long + "\n",
			"package a\n\n// " + long + "x\n"},
		"columns count characters": {columns, "a.go", "package a\n\n// " + wide + "\n",
			"package a\n\n// " + wide + "é\n"},
		"columns of assembly": {columns, "a.s", "// " + long + "\n", "// " + long + "x\n"},
		"functions": {lengths, "a.go", "package a\n\nfunc g() {\n" + lines(functionMax-2) + "}\n",
			"package a\n\nfunc g() {\n" + lines(functionMax-1) + "}\n"},
		"files": {lengths, "a.go", "package a\n" + strings.Repeat("\n", fileMax-1),
			"package a\n" + strings.Repeat("\n", fileMax)},
		"pages": {lengths, "a.md", strings.Repeat("\n", pageMax), strings.Repeat("\n", pageMax+1)},
		"gofmt": {formatted, "a.go", "package a\n\nvar x = 1\n", "package a\nvar x  = 1\n"},
		"sleeping tests": {sleeps, "a_test.go", "package a\n\nimport \"time\"\n\nvar _ = time.Now\n",
			"package a\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n"},
		"sleeping outside bubbles": {sleeps, "a_test.go",
			"package a\n\nimport _ \"testing/synctest\"\n\nfunc f() { time.Sleep(1) }\n",
			"package a\n\nimport _ \"testing\"\n\nfunc f() { time.Sleep(1) }\n"},
	} {
		if wrong := c.rule(read(t, c.path, c.holds)); len(wrong) != 0 {
			t.Errorf("%s: what keeps the rule is refused: %v", name, wrong)
		}
		if wrong := c.rule(read(t, c.path, c.broken)); len(wrong) != 1 {
			t.Errorf("%s: what breaks the rule gives %v", name, wrong)
		}
	}
}

func TestEveryPackageHasOneComment(t *testing.T) {
	good := read(t, "a/a.go", "// Package a is.\npackage a\n")
	bare := read(t, "a/b.go", "package a\n")
	for name, c := range map[string]struct {
		files []*file
		wrong int
	}{
		"one of two files":     {[]*file{good, bare}, 0},
		"none":                 {[]*file{bare}, 1},
		"two":                  {[]*file{good, read(t, "a/c.go", "// Package a too.\npackage a\n")}, 1},
		"another package's":    {[]*file{read(t, "a/a.go", "// Package b is.\npackage a\n")}, 1},
		"a command's":          {[]*file{read(t, "a/a.go", "// A does it.\npackage main\n")}, 0},
		"outside, of the test": {[]*file{good, read(t, "a/a_test.go", "// More.\npackage a_test\n")}, 0},
	} {
		if wrong := undocumented(c.files); len(wrong) != c.wrong {
			t.Errorf("%s: %v", name, wrong)
		}
	}
}
