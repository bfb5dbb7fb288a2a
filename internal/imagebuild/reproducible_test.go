package imagebuild

import (
	"bytes"
	"debug/buildinfo"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
)

// copyTree copies the module's sources to dir: what a checkout has, without its history.
func copyTree(t *testing.T, root, dir string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, relative)
		switch {
		case slices.Contains([]string{".git", "bin", "build", "runs"}, d.Name()):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, content, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isPatched reports whether an image says of itself that it has another gVisor than go.mod names.
func isPatched(t *testing.T, image []byte) bool {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(info.Deps, func(m *debug.Module) bool {
		return m.Path == patchedModule && m.Replace != nil && m.Replace.Path == "./"+patchedAt
	})
}

// TestTwoBuildsInTwoFoldersAreTheSame builds in two copies of the tree: the node's image with what
// is compiled already, and a small one with nothing, so that runtime, kernel and gVisor are
// compiled anew under another path.
func TestTwoBuildsInTwoFoldersAreTheSame(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "another")}
	for _, folder := range folders {
		copyTree(t, root, folder)
	}
	for _, c := range []struct {
		name, pkg string
		anew      bool // the second one
	}{
		{"the node", "./kernel/image", false},
		{"a small one, compiled anew", "./kernel/internal/guest/talk", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.anew && testing.Short() {
				t.Skip("compiles the runtime and gVisor")
			}
			var images [2][]byte
			for i, folder := range folders {
				t.Chdir(folder)
				if c.anew && i == 1 {
					t.Setenv("GOCACHE", t.TempDir())
				}
				out := filepath.Join(t.TempDir(), "image.elf")
				if err := Build(c.pkg, out, "-tags", "nethttpomithttp2"); err != nil {
					t.Fatal(err)
				}
				var err error
				if images[i], err = os.ReadFile(out); err != nil {
					t.Fatal(err)
				}
				if !isPatched(t, images[i]) {
					t.Error("gVisor is as it is")
				}
				if bytes.Contains(images[i], []byte(folder)) {
					t.Errorf("the path %s is in the image", folder)
				}
			}
			if !bytes.Equal(images[0], images[1]) {
				t.Errorf("two builds differ, %d and %d bytes", len(images[0]), len(images[1]))
			}
		})
	}
}
