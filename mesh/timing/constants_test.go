package timing

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// with returns timing.go with some of its constants changed.
func with(t *testing.T, values map[string]string) string {
	t.Helper()
	source, err := os.ReadFile("timing.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range values {
		declaration := regexp.MustCompile(`(?m)^(\t` + name + ` += )[\d_]+`)
		if !declaration.Match(source) {
			t.Fatalf("timing.go declares no %s", name)
		}
		source = declaration.ReplaceAll(source, []byte("${1}"+value))
	}
	return string(source)
}

// compiles type-checks the constants of a timing.go, by the same rules as the compiler.
func compiles(t *testing.T, source string) error {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "timing.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := &ast.File{Name: file.Name, Package: file.Package}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			constants.Decls = append(constants.Decls, g)
		}
	}
	_, err = new(types.Config).Check("timing", files, []*ast.File{constants}, nil)
	return err
}

// Each case changes constants so that one relation just holds, then one constant by a millisecond.
func TestABrokenRelationDoesNotCompile(t *testing.T) {
	if err := compiles(t, with(t, nil)); err != nil {
		t.Fatalf("the constants as they are: %v", err)
	}
	for relation, c := range map[string]struct {
		given               map[string]string
		name, holds, broken string
	}{
		"heartbeat + write lease < failure window": {nil, "HeartbeatMS", "5_997", "5_998"},
		"heartbeat < suspicion":                    {nil, "SuspectMS", "5_001", "5_000"},
		"suspicion < failure":                      {nil, "SuspectMS", "11_999", "12_000"},
		"the fence is shorter than the window":     {nil, "FenceMS", "11_999", "12_000"},
		"the fence outlasts the lease":             {nil, "FenceMS", "7_371", "7_370"},
		"a longer lease needs a longer fence":      {nil, "WriteLeaseMS", "6_000", "6_001"},
		"L3": {map[string]string{"HeartbeatMS": "1_000", "SuspectMS": "2_000", "FenceMS": "7_371"},
			"FailMS", "7_447", "7_446"},
	} {
		values := map[string]string{}
		for name, value := range c.given {
			values[name] = value
		}
		values[c.name] = c.holds
		if err := compiles(t, with(t, values)); err != nil {
			t.Errorf("%s: %s = %s is refused: %v", relation, c.name, c.holds, err)
		}
		values[c.name] = c.broken
		err := compiles(t, with(t, values))
		if err == nil || !strings.Contains(err.Error(), "(overflows)") {
			t.Errorf("%s: %s = %s compiles: %v", relation, c.name, c.broken, err)
		}
	}
}

// What the test above asks go/types, the toolchain itself must answer alike.
func TestTheToolchainRefusesAWriteLeaseOfSevenSeconds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds three packages")
	}
	for _, c := range []struct {
		values map[string]string
		ok     bool
	}{
		{nil, true},
		{map[string]string{"WriteLeaseMS": "7_000"}, false},
		{map[string]string{"HeartbeatMS": "5_998"}, false},
	} {
		dir := t.TempDir()
		instants, err := os.ReadFile("../when/when.go")
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{
			"go.mod":                "module holdfast\n\ngo 1.26\n",
			"mesh/when/when.go":     string(instants),
			"mesh/timing/timing.go": with(t, c.values),
		} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		build := exec.Command("go", "build", "./mesh/timing")
		build.Dir = dir
		build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		out, err := build.CombinedOutput()
		if (err == nil) != c.ok {
			t.Errorf("%v: %v\n%s", c.values, err, out)
		}
		if !c.ok && !strings.Contains(string(out), "(overflows)") {
			t.Errorf("%v: refused for another reason:\n%s", c.values, out)
		}
	}
}
