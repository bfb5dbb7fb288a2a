package tidy

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// raceless returns the patterns of the packages that the Makefile tests without the race detector,
// since they have no goroutine: PURE.
func raceless(makefile string) []string {
	_, after, _ := strings.Cut(makefile, "\nPURE := ")
	list, _, _ := strings.Cut(strings.ReplaceAll(after, "\\\n", " "), "\n")
	return strings.Fields(list)
}

// covers reports whether one of the patterns names a folder.
func covers(patterns []string, folder string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		tree, all := strings.CutSuffix(strings.TrimPrefix(p, "./"), "/...")
		return folder == tree || all && strings.HasPrefix(folder, tree+"/")
	})
}

// concurrent finds what makes a goroutine in a file, tests included. Tests that run in parallel
// have nothing in common but the package's variables, and are not meant.
func concurrent(f *file) []string {
	if f.syntax == nil {
		return nil
	}
	var wrong []string
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		call, selected := n.(*ast.SelectorExpr)
		if _, statement := n.(*ast.GoStmt); statement ||
			selected && call.Sel.Name == "Go" {
			wrong = append(wrong, fmt.Sprintf("%s:%d: a goroutine, and PURE in the Makefile leaves the "+
				"race detector out", f.path, f.line(n.Pos())))
		}
		return true
	})
	return wrong
}

// races checks that the race detector looks at every package with a goroutine of its own.
func races(files []*file) []string {
	var patterns, wrong []string
	for _, f := range files {
		if f.path == "Makefile" {
			patterns = raceless(f.content)
		}
	}
	for _, p := range patterns {
		if !slices.ContainsFunc(files, func(f *file) bool {
			return f.syntax != nil && covers([]string{p}, path.Dir(f.path))
		}) {
			wrong = append(wrong, "the Makefile's PURE names "+p+", which has no Go file")
		}
	}
	for _, f := range files {
		if covers(patterns, path.Dir(f.path)) {
			wrong = append(wrong, concurrent(f)...)
		}
	}
	return wrong
}

func TestGoroutinesAreNotLeftToChance(t *testing.T) {
	makefile := read(t, "Makefile", "A := b\nPURE := ./mesh/... \\\n\t./a\n\nB := c\n")
	for text, ok := range map[string]bool{
		"func f() { g() }":               true,
		"func f() { go g() }":            false,
		"func f() { group.Go(g) }":       false,
		"func f(t *T) { t.Parallel() }":  true,
		"func f() { c := make(chan T) }": true,
	} {
		for folder, pure := range map[string]bool{"mesh/sim": true, "mesh": true, "a": true, "a/b": false,
			"meshes": false} {
			files := []*file{makefile, read(t, folder+"/x.go", "package x\n"+text+"\n"),
				read(t, "mesh/y.go", "package mesh\n"), read(t, "a/z.go", "package a\n")}
			if wrong := races(files); (len(wrong) == 0) != (ok || !pure) {
				t.Errorf("%q in %s: %v", text, folder, wrong)
			}
		}
	}
	if wrong := races([]*file{makefile, read(t, "a/z.go", "package a\n")}); len(wrong) != 1 {
		t.Errorf("mesh is missing, and %v", wrong)
	}
}
