package imagebuild

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An image has gVisor with a few lines changed; everything else has it as it is. The lines are
// exchanged on the compiler's way to the files (go build -overlay), so that there is no copy of
// gVisor to keep. Each of them changes what something costs and nothing of what it does, and could
// be proposed to gVisor as it stands. An image that is built without them works the same.
//
// When gVisor changes one of these lines, Build says so, and the patch is to be looked at again:
// perhaps it is not needed any more.
var patches = []patch{
	{
		// The pool for a size is found by shifting a 64-bit number bit by bit, 600 instructions,
		// twice for each buffer.
		file: "pkg/buffer/chunk.go",
		edits: []edit{
			{old: `"gvisor.dev/gvisor/pkg/bits"`, replacement: `"math/bits"`},
			{old: `bits.MostSignificantOne64(uint64(size) >> baseChunkSizeLog2)`,
				replacement: `bits.Len(uint(size)>>baseChunkSizeLog2) - 1`},
		},
	},
	{
		// All counters, 680 bytes of pointers, are copied each time that one of them is counted up,
		// which is about ten times for each packet.
		file: "pkg/tcpip/stack/stack.go",
		edits: []edit{{old: "func (s *Stack) Stats() tcpip.Stats {\n\treturn s.stats\n",
			replacement: "func (s *Stack) Stats() *tcpip.Stats {\n\treturn &s.stats\n"}},
	},
	{
		file: "pkg/tcpip/stack/route.go",
		edits: []edit{{old: "func (r *Route) Stats() tcpip.Stats {",
			replacement: "func (r *Route) Stats() *tcpip.Stats {"}},
	},
	{
		// The same for those of IPv4, several times for each packet.
		file: "pkg/tcpip/network/ipv4/ipv4.go",
		edits: []edit{
			{old: "\tstats := e.stats.ip\n", replacement: "\tstats := &e.stats.ip\n", times: 5},
			{old: "\tstats := e.stats\n", replacement: "\tstats := &e.stats\n", times: 2},
		},
	},
	{
		// A regular expression, with all of package regexp, 0.2 MB, serves to shorten a stack in a
		// log that netstack turns off.
		file: "pkg/log/log.go",
		edits: []edit{
			{old: "\t\"regexp\"\n"},
			{old: "var stackRegexp = regexp.MustCompile(`(?m)^\\S+\\(.*\\)$\\r?\\n" +
				"^\\t\\S+:\\d+.*$\\r?\\n`)\n"},
			{old: "\treplaceNext := excludeTopN + 1\n"},
			{old: "return stackRegexp.ReplaceAllFunc(Stacks(false), func(s []byte) []byte {\n" +
				"\t\tif replaceNext > 0 {\n\t\t\treplaceNext--\n\t\t\treturn nil\n\t\t}\n" +
				"\t\treturn s\n\t})", replacement: "return Stacks(false)"},
		},
	},
}

// patch is what changes in a file of gVisor's.
type patch struct {
	file  string // from the module's root
	edits []edit
}

// edit replaces a text, which must occur once, or as often as times says.
type edit struct {
	old, replacement string
	times            int
}

// apply changes the text of a file.
func (p patch) apply(text []byte) ([]byte, error) {
	for _, e := range p.edits {
		want := max(1, e.times)
		if n := bytes.Count(text, []byte(e.old)); n != want {
			return nil, fmt.Errorf("imagebuild: gVisor's %s has %q %d times, the patch wants it %d times",
				p.file, e.old, n, want)
		}
		text = bytes.ReplaceAll(text, []byte(e.old), []byte(e.replacement))
	}
	return text, nil
}

const (
	patchedModule = "gvisor.dev/gvisor"
	// patchedAt is where the go command believes that the patched module lies, from the root of the
	// module that is built. There are some empty folders.
	patchedAt = "build/gvisor"
)

// patched writes to a folder what the go command needs to build with the patches, and with files of
// the caller's in the place of others, and returns its flags.
func patched(folder string, changed map[string]string) (flags []string, err error) {
	root, module, err := moduleFolders()
	if err != nil {
		return nil, err
	}
	files, err := patchedFiles(filepath.Join(root, patchedAt), module, folder)
	if err != nil {
		return nil, err
	}
	for file := range files {
		if filepath.Ext(file) != ".s" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { // the assembler goes there
			return nil, fmt.Errorf("imagebuild: %w", err)
		}
	}
	maps.Copy(files, changed)
	overlay, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		return nil, fmt.Errorf("imagebuild: %w", err)
	}
	to := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(to, overlay, 0o600); err != nil {
		return nil, fmt.Errorf("imagebuild: %w", err)
	}
	mod, err := replaced(root, folder, "./"+patchedAt)
	return []string{"-overlay", to, "-modfile", mod}, err
}

// replaced writes to a folder a go.mod and a go.sum that have the patched module at a path.
func replaced(root, folder, at string) (mod string, err error) {
	mod = filepath.Join(folder, "go.mod")
	text, err1 := os.ReadFile(filepath.Join(root, "go.mod"))
	sum, err2 := os.ReadFile(filepath.Join(root, "go.sum"))
	text = fmt.Appendf(text, "\nreplace %s => %s\n", patchedModule, at)
	if err := errors.Join(err1, err2, os.WriteFile(mod, text, 0o600),
		os.WriteFile(filepath.Join(folder, "go.sum"), sum, 0o600)); err != nil {
		return "", fmt.Errorf("imagebuild: %w", err)
	}
	return mod, nil
}

// moduleFolders are where the module lies that is built, and gVisor, which is downloaded if nobody
// has needed it yet.
func moduleFolders() (root, module string, err error) {
	var folders [2]string
	for i, args := range [][]string{
		{"list", "-m", "-json", "holdfast"},
		{"mod", "download", "-json", patchedModule},
	} {
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), Env...)
		out, err := cmd.Output()
		if err != nil {
			return "", "", fmt.Errorf("imagebuild: go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		var answer struct{ Dir string }
		if err := json.Unmarshal(out, &answer); err != nil || answer.Dir == "" {
			return "", "", fmt.Errorf("imagebuild: go %s: %q, %v", strings.Join(args, " "), out, err)
		}
		folders[i] = answer.Dir
	}
	return folders[0], folders[1], nil
}

// patchedFiles is where the text of each source file is that the patched module seems to have at a
// folder: in the module as it is, or, patched, in the scratch folder to which it is written.
func patchedFiles(at, module, scratch string) (map[string]string, error) {
	files := map[string]string{filepath.Join(at, "go.mod"): filepath.Join(module, "go.mod")}
	each := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		relative, err := filepath.Rel(module, path)
		if ext := filepath.Ext(path); ext == ".go" || ext == ".s" || ext == ".h" {
			files[filepath.Join(at, relative)] = path
		}
		return err
	}
	if err := filepath.WalkDir(filepath.Join(module, "pkg"), each); err != nil {
		return nil, fmt.Errorf("imagebuild: %w", err)
	}
	for _, p := range patches {
		original, err := os.ReadFile(filepath.Join(module, p.file))
		if err != nil {
			return nil, fmt.Errorf("imagebuild: %w", err)
		}
		text, err := p.apply(original)
		if err != nil {
			return nil, err
		}
		to := filepath.Join(scratch, strings.ReplaceAll(p.file, "/", "-"))
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return nil, fmt.Errorf("imagebuild: %w", err)
		}
		files[filepath.Join(at, p.file)] = to
	}
	return files, nil
}
