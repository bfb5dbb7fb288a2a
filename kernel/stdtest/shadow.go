package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"holdfast/internal/imagebuild"
)

// shadow is a GOROOT made of symbolic links to the real one, in which the kernel is a package of
// the standard library: the library's tests may import nothing else. Time zones come with the tests
// (timetzdata), because there are no files.
type shadow struct{ dir, root string }

// kernelFolders are linked into the shadow's src/holdfast.
var kernelFolders = []string{"kernel", "board"}

func newShadow(dir string) (*shadow, error) {
	goroot, err := goEnv("GOROOT")
	if err != nil {
		return nil, err
	}
	module, err := goEnv("GOMOD")
	if err != nil {
		return nil, err
	}
	s := &shadow{dir, filepath.Join(dir, "goroot")}
	src := filepath.Join(s.root, "src")
	holdfast := filepath.Join(src, "holdfast")
	if err := os.MkdirAll(holdfast, 0o755); err != nil {
		return nil, err
	}
	if err := linkAll(goroot, s.root, "src"); err != nil {
		return nil, err
	}
	if err := linkAll(filepath.Join(goroot, "src"), src, ""); err != nil {
		return nil, err
	}
	for _, folder := range kernelFolders {
		from := filepath.Join(filepath.Dir(module), folder)
		if err := os.Symlink(from, filepath.Join(holdfast, folder)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// linkAll links every entry of folder from, but except, into folder to.
func linkAll(from, to, except string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == except {
			continue
		}
		if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// build makes the test binary of pkg with the kernel in it. One more test file, which exists only
// in an overlay, imports the kernel.
func (s *shadow) build(ctx context.Context, pkg, out string) error {
	const name = "zz_holdfast_test.go"
	file := filepath.Join(s.dir, name)
	text := fmt.Sprintf("package %s_test\n\nimport _ \"holdfast/kernel\"\n", path.Base(pkg))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(s.root, "src", filepath.FromSlash(pkg), name): file,
	}})
	if err != nil {
		return err
	}
	overlayFile := filepath.Join(s.dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath", "-vet=off",
		"-tags", "timetzdata", "-overlay", overlayFile,
		"-ldflags", imagebuild.LinkerFlags(false), "-o", out, pkg)
	cmd.Dir = filepath.Join(s.root, "src")
	cmd.Env = append(append(os.Environ(), imagebuild.Env...), "GOROOT="+s.root, "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("tests of %s: %w\n%s", pkg, err, text)
	}
	return nil
}

// goEnv is one value of go env.
func goEnv(name string) (string, error) {
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("go env %s: %w", name, err)
	}
	value := strings.TrimSpace(string(out))
	if value == "" || value == os.DevNull {
		return "", fmt.Errorf("go env %s is empty: not in the module", name)
	}
	return value, nil
}
