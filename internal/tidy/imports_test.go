package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"
)

const module = "holdfast"

// rights is what the packages of a folder may import directly, outside their tests. A name that
// ends in /... stands for a folder with everything in it; std for the whole standard library; a
// package of the module is named from its root.
type rights struct {
	folder string
	allow  []string
}

// pureStd is what the protocol may use of the standard library: nothing that has a clock, a
// goroutine, or contact with the outside.
var pureStd = []string{
	"errors", "cmp", "slices", "bytes", "strings", "strconv", "math/bits", "encoding/binary",
	"encoding/hex", "encoding/base64", "crypto/ed25519", "crypto/subtle",
	"golang.org/x/crypto/blake2s", "golang.org/x/crypto/cryptobyte",
}

// observer is what a rig may use to read and judge what nodes say, and to provision them: codecs,
// names and pure tables of the mesh, never the logic that it judges.
var observer = []string{
	"std", "qemu/...", "netstack/...", "nvram/...", "rig/...",
	"mesh/wire", "mesh/evidence", "mesh/capability", "mesh/id", "mesh/when", "mesh/refusal",
	"mesh/timing", "mesh/home", "mesh/view",
	"github.com/alecthomas/kong", "github.com/gopacket/gopacket/...",
	"github.com/anishathalye/porcupine", "golang.org/x/sync/...", "golang.org/x/term",
	"gvisor.dev/gvisor/...",
}

// table is that of spec/system.md section 1. The longest folder that a package lies in decides.
var table = []rights{
	{"board", []string{"std", "board/mmio"}},
	{"kernel", []string{"std", "board/...", "kernel", "kernel/sys"}},
	{"kernel/node", []string{"std", "mesh/...", "nvram/...", "kernel/node/...",
		"golang.org/x/crypto/..."}},
	{"kernel/image", []string{"std", "board/...", "kernel/...", "mesh/...", "nvram/...",
		"netstack/..."}},
	{"kernel/stdtest", []string{"std", "board/...", "qemu/...", "internal/..."}}, // a host command
	{"netstack", []string{"std", "netstack/...", "gvisor.dev/gvisor/..."}},
	{"nvram", []string{"std", "nvram/..."}},
	{"mesh", append([]string{"mesh/..."}, pureStd...)},
	{"mesh/search", []string{"std", "mesh/..."}}, // a host's: it looks into nodes by reflection
	// Real numbers: what they say is advice and decides nothing.
	{"mesh/detect/phi", append([]string{"mesh/...", "math"}, pureStd...)},
	{"mesh/detect/swim", append([]string{"mesh/...", "math"}, pureStd...)},
	{"rig", observer},
	{"rig/report/page/pagetest", []string{"std", "golang.org/x/net/html"}}, // a tests' helper
	{"rig/replay", append([]string{"kernel/node/...", "mesh/..."}, observer...)},
	{"rig/lab", append([]string{"kernel/node/...", "mesh/..."}, observer...)},
	{"qemu", []string{"std", "qemu/...", "gvisor.dev/gvisor/...", "golang.org/x/sync/...",
		"github.com/gopacket/gopacket/..."}},
	{"internal/golden", []string{"std", "github.com/google/go-cmp/cmp"}}, // a tests' helper
	{"internal", []string{"std", "board/...", "kernel/...", "mesh/...", "netstack/...", "nvram/...",
		"qemu/...", "internal/..."}},
	// It asks whether a world's history is that of a register.
	{"internal/soak", []string{"std", "mesh/...", "internal/usage",
		"github.com/anishathalye/porcupine"}},
	// It measures nodes that are delivered like the rig's, and its guest sets interrupts off.
	{"internal/bench", []string{"std", "board/...", "kernel/...", "mesh/...", "netstack/...",
		"qemu/...", "internal/...", "rig/provision", "golang.org/x/sync/..."}},
}

// advisory are the packages whose judgement must not govern a node, with who may import them: what
// shows it, and what compares it.
var advisory = rights{"mesh/detect/", []string{
	"mesh/detect/policy", "mesh/detect/phi", "mesh/detect/swim", "kernel/node/health", "rig/lab/...",
}}

// advised checks that nobody else imports an advisory package.
func advised(f *file) []string {
	if f.syntax == nil || f.isTest() {
		return nil
	}
	own := rights{allow: advisory.allow}
	if own.allows(module + "/" + path.Dir(f.path)) {
		return nil
	}
	var wrong []string
	for _, spec := range f.syntax.Imports {
		if imported, _ := strconv.Unquote(spec.Path.Value); strings.HasPrefix(imported,
			module+"/"+advisory.folder) {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s only advises, and is not to be asked here",
				f.path, f.line(spec.Pos()), imported))
		}
	}
	return wrong
}

// fixtures is where the images lie that tests boot. They put together what they test, like
// kernel/image does.
const fixtures = "/internal/guest/"

// imports checks a file against the table.
func imports(f *file) []string {
	if f.syntax == nil || f.isTest() || strings.Contains(f.path, fixtures) {
		return nil
	}
	r, ok := rightsOf(f.path)
	if !ok {
		return []string{f.path + ": its folder is not in the import table"}
	}
	var wrong []string
	for _, spec := range f.syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic("tidy: " + err.Error())
		}
		if !r.allows(imported) {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s may not import %s",
				f.path, f.line(spec.Pos()), r.folder, imported))
		}
	}
	return wrong
}

func rightsOf(file string) (rights, bool) {
	var best rights
	for _, r := range table {
		if strings.HasPrefix(file, r.folder+"/") && len(r.folder) > len(best.folder) {
			best = r
		}
	}
	return best, best.folder != ""
}

func (r rights) allows(imported string) bool {
	own, inside := strings.CutPrefix(imported, module+"/")
	std := !inside && !strings.Contains(strings.Split(imported, "/")[0], ".")
	for _, allowed := range r.allow {
		folder, everything := strings.CutSuffix(allowed, "/...")
		switch {
		case allowed == "std" && std, own == allowed:
			return true
		case everything && (own == folder || strings.HasPrefix(own, folder+"/")):
			return true
		}
	}
	return false
}

// pure checks that the protocol has no concurrency of its own and that no map decides an order: it
// is a function of its inputs. A map may stand as a package's table that is looked up and never
// walked.
func pure(f *file) []string {
	if f.syntax == nil || f.isTest() || !strings.HasPrefix(f.path, "mesh/") {
		return nil
	}
	tables, names := mapTables(f.syntax)
	var wrong []string
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		what := ""
		switch n := n.(type) {
		case *ast.GoStmt:
			what = "a goroutine"
		case *ast.ChanType, *ast.SendStmt:
			what = "a channel"
		case *ast.SelectStmt:
			what = "a select"
		case *ast.MapType:
			if !tables[n] {
				what = "a map that is no table"
			}
		case *ast.RangeStmt:
			if x, ok := n.X.(*ast.Ident); ok && names[x.Name] {
				what = "a walk through a map"
			}
		}
		if what != "" {
			wrong = append(wrong, fmt.Sprintf("%s:%d: the protocol may not use %s",
				f.path, f.line(n.Pos()), what))
		}
		return true
	})
	return wrong
}

// mapTables returns the types and the names of the package-level variables that are map literals.
func mapTables(syntax *ast.File) (map[*ast.MapType]bool, map[string]bool) {
	tables, names := map[*ast.MapType]bool{}, map[string]bool{}
	for _, d := range syntax.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			for i, value := range v.Values {
				lit, ok := value.(*ast.CompositeLit)
				if !ok {
					continue
				}
				if m, ok := lit.Type.(*ast.MapType); ok {
					tables[m], names[v.Names[i].Name] = true, true
				}
			}
		}
	}
	return tables, names
}

func TestTheImportTableAllowsAndForbids(t *testing.T) {
	for _, c := range []struct {
		path, imported string
		ok             bool
	}{
		{"board/gic/gic.go", "sync/atomic", true},
		{"board/gic/gic.go", "holdfast/board/mmio", true},
		{"board/gic/gic.go", "holdfast/board", false},
		{"board/gic/gic.go", "golang.org/x/sys/unix", false},
		{"kernel/boot.go", "holdfast/board", true},
		{"kernel/boot.go", "holdfast/board/gic", true},
		{"kernel/boot.go", "holdfast/mesh", false},
		{"kernel/boot.go", "holdfast/nvram", false},
		{"kernel/node/loop.go", "holdfast/mesh", true},
		{"kernel/node/loop.go", "crypto/tls", true},
		{"kernel/node/loop.go", "holdfast/board", false},
		{"kernel/node/loop.go", "holdfast/netstack", false},
		{"kernel/node/loop.go", "gvisor.dev/gvisor/pkg/tcpip", false},
		{"kernel/nodes/x.go", "holdfast/mesh", false},
		{"kernel/image/main.go", "holdfast/netstack", true},
		{"kernel/image/main.go", "holdfast/rig", false},
		{"netstack/x.go", "gvisor.dev/gvisor/pkg/tcpip", true},
		{"netstack/x.go", "holdfast/mesh", false},
		{"nvram/x.go", "encoding/binary", true},
		{"nvram/x.go", "holdfast/mesh/id", false},
		{"mesh/x.go", "slices", true},
		{"mesh/wire/x.go", "holdfast/mesh/id", true},
		{"mesh/x.go", "golang.org/x/crypto/cryptobyte", true},
		{"mesh/x.go", "golang.org/x/crypto/chacha20", false},
		{"mesh/x.go", "time", false},
		{"mesh/x.go", "fmt", false},
		{"mesh/x.go", "unsafe", false},
		{"mesh/x.go", "holdfast/nvram", false},
		{"mesh/x.go", "holdfast/meshes", false},
		{"rig/judge/x.go", "holdfast/mesh/evidence", true},
		{"rig/judge/x.go", "holdfast/mesh", false},
		{"rig/judge/x.go", "holdfast/mesh/lease", false},
		{"rig/judge/x.go", "holdfast/kernel/node", false},
		{"rig/lab/x.go", "holdfast/kernel/node", true},
		{"rig/lab/x.go", "holdfast/kernel", false},
		{"qemu/x.go", "github.com/gopacket/gopacket/pcapgo", true},
		{"qemu/x.go", "holdfast/mesh/id", false},
		{"elsewhere/x.go", "errors", false},
		{"mesh/x_test.go", "time", true},
		{"kernel/internal/guest/x/main.go", "holdfast/nvram", true},
	} {
		f := read(t, c.path, "package x\n\nimport _ "+strconv.Quote(c.imported)+"\n")
		if wrong := imports(f); (len(wrong) == 0) != c.ok {
			t.Errorf("%s imports %s: allowed %v, %v", c.path, c.imported, !c.ok, wrong)
		}
	}
}

func TestAdviceIsNotAsked(t *testing.T) {
	for _, c := range []struct {
		path, imported string
		ok             bool
	}{
		{"mesh/authority.go", "holdfast/mesh/detect/phi", false},
		{"mesh/authority.go", "holdfast/mesh/detect", true},
		{"mesh/member/member.go", "holdfast/mesh/detect/policy", false},
		{"mesh/authority_test.go", "holdfast/mesh/detect/phi", true},
		{"kernel/node/loop.go", "holdfast/mesh/detect/phi", false},
		{"kernel/node/health/health.go", "holdfast/mesh/detect/phi", true},
		{"mesh/detect/detect.go", "holdfast/mesh/detect/policy", false},
		{"mesh/detect/swim/x.go", "holdfast/mesh/detect/policy", true},
		{"rig/lab/trace/x.go", "holdfast/mesh/detect/swim", true},
		{"rig/judge/x.go", "holdfast/mesh/detect/swim", false},
	} {
		f := read(t, c.path, "package x\n\nimport _ "+strconv.Quote(c.imported)+"\n")
		if wrong := advised(f); (len(wrong) == 0) != c.ok {
			t.Errorf("%s imports %s: allowed %v, %v", c.path, c.imported, !c.ok, wrong)
		}
	}
}

func TestTheProtocolIsPure(t *testing.T) {
	const declared = "var table = map[int]int{1: 1}\n\n"
	for code, ok := range map[string]bool{
		"go f()":                             false,
		"var c chan int; _ = c":              false,
		"c <- 1":                             false,
		"select {}":                          false,
		"for range map[int]int{} {}":         false,
		"for range table {}":                 false,
		"_ = table[1]":                       true,
		"for range []int{} {}":               true,
		"var m map[int]int; _ = m[1]":        false,
		"f(); defer f(); _ = func() {}":      true,
		"x := []int{1}; for range x { f() }": true,
	} {
		source := "package mesh\n\n" + declared + "func g() { " + code + " }\n"
		if wrong := pure(read(t, "mesh/x.go", source)); (len(wrong) == 0) != ok {
			t.Errorf("%s: %v", code, wrong)
		}
		if wrong := pure(read(t, "kernel/x.go", source)); len(wrong) != 0 {
			t.Errorf("outside the protocol, %s: %v", code, wrong)
		}
	}
}
