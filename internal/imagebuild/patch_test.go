package imagebuild

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnEditFitsAsOftenAsItSaysOrNotAtAll(t *testing.T) {
	p := patch{file: "a.go", edits: []edit{{old: "one", replacement: "1"},
		{old: "two", replacement: "2"}, {old: "a", times: 2}}}
	for _, c := range []struct{ text, want, err string }{
		{"one, two, aa", "1, 2, ", ""},
		{"a two one a", " 2 1 ", ""},
		{"one two a", "", `a.go has "a" 1 times, the patch wants it 2 times`},
		{"one two aaa", "", `a.go has "a" 3 times`},
		{"two", "", `a.go has "one" 0 times`},
		{"one two two", "", `a.go has "two" 2 times`},
		{"", "", `a.go has "one" 0 times`},
	} {
		got, err := p.apply([]byte(c.text))
		if c.err == "" && err == nil && string(got) == c.want {
			continue
		}
		if c.err == "" || err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
	}
}

// TestThePatchedStackPassesTheStacksTests runs the tests of netstack, which are on the host and so
// over gVisor as it is, over the one that an image has.
func TestThePatchedStackPassesTheStacksTests(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles gVisor and runs other tests")
	}
	root, module, err := moduleFolders()
	if err != nil {
		t.Fatal(err)
	}
	at, scratch := t.TempDir(), t.TempDir() // a real folder: the assembler works in it
	files, err := patchedFiles(at, module, scratch)
	if err != nil {
		t.Fatal(err)
	}
	for to, from := range files {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mod, err := replaced(root, scratch, at)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-modfile", mod, "holdfast/netstack/...")
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
