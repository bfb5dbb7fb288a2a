// Package tidy holds the tree to the rules of the house that a machine can check: which folder may
// import what (spec/system.md section 1), how long a line, a function and a file may be, that every
// package says what it is, that what a page names exists, and words that have no place in a
// product. It is only a test.
//
// Each rule is a function from a file to what is wrong with it, so that the rules themselves are
// tested on small files that break them. Whatever lies in a testdata folder is exempt.
package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// file is one file of the tree.
type file struct {
	path    string // slash-separated, from the module's root
	content string
	set     *token.FileSet
	syntax  *ast.File // nil when it is not a Go file
}

func (f *file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// line returns the line of a position in the file.
func (f *file) line(p token.Pos) int { return f.set.Position(p).Line }

// read parses content as the file at path.
func read(t *testing.T, path, content string) *file {
	t.Helper()
	f := &file{path: path, content: content, set: token.NewFileSet()}
	if strings.HasSuffix(path, ".go") {
		syntax, err := parser.ParseFile(f.set, path, content, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		f.syntax = syntax
	}
	return f
}

// textual are the names of files that people write and read.
var textual = []string{".go", ".s", ".md", ".mod", ".sh", ".py", ".txt", ".yml", ".yaml", ".html",
	".css", ".js", "Makefile", "run", ".gitignore"}

// tree reads every textual file that belongs to the product.
func tree(t *testing.T) []*file {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var files []*file
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "testdata", "bin", "runs", "build"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !slices.ContainsFunc(textual, func(end string) bool {
			return strings.HasSuffix(d.Name(), end)
		}) {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files = append(files, read(t, filepath.ToSlash(relative), string(content)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestTheTreeKeepsTheRules is the one test that reads the tree; all rules look at each file once.
func TestTheTreeKeepsTheRules(t *testing.T) {
	files := tree(t)
	folders := map[string]bool{}
	c := catalogueOf(files)
	for _, f := range files {
		for _, rule := range append(rules, c.dangling) {
			for _, wrong := range rule(f) {
				t.Error(wrong)
			}
		}
		folders[strings.Split(f.path, "/")[0]] = true
	}
	for _, wrong := range append(undocumented(files), races(files)...) {
		t.Error(wrong)
	}
	for _, r := range table {
		if top := strings.Split(r.folder, "/")[0]; !folders[top] {
			t.Errorf("the import table names %s, which does not exist", top)
		}
	}
}

// rules are all rules that look at one file.
var rules = []func(*file) []string{
	imports, advised, pure, columns, lengths, formatted, sleeps, leftovers,
}
