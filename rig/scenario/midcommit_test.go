package scenario

import (
	"fmt"
	"go/ast"
	source "go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// functionsOf lists the functions that a folder of the module declares, named as the linker does.
func functionsOf(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has the files %v, %v", folder, files, err)
	}
	var names []string
	for _, path := range files {
		syntax, err := source.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range syntax.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				if pointer, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
					name = fmt.Sprintf("(*%v).%s", pointer.X, name)
				}
			}
			names = append(names, "holdfast/"+folder+"."+name)
		}
	}
	return names
}

// TestThePlacesAreFunctionsOfTheNode notices on the host what else only a run would: that a
// function at which the home is stopped has another name now.
func TestThePlacesAreFunctionsOfTheNode(t *testing.T) {
	for _, p := range places {
		if p.function == "" {
			continue
		}
		slash := strings.LastIndex(p.function, "/")
		dot := slash + strings.Index(p.function[slash:], ".")
		folder := strings.TrimPrefix(p.function[:dot], "holdfast/")
		if !slices.Contains(functionsOf(t, folder), p.function) {
			t.Errorf("%s: %s has no %s", p.name, folder, p.function)
		}
	}
}
