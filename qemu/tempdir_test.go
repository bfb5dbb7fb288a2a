package qemu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTempDirIsShortPrivateAndRemoved(t *testing.T) {
	t.Setenv("TMPDIR", shortDir(t))
	dir, remove, err := TempDir()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 || len(dir) > maxTempDir {
		t.Errorf("%s: %v, %v", dir, info, err)
	}
	remove()
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestATempDirOfALivingProgramIsKeptAndThatOfADeadOneSwept(t *testing.T) {
	base := shortDir(t)
	t.Setenv("TMPDIR", base)
	living, remove, err := TempDir()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	dead, owner, err := claim(base)
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dead, "n0.sw")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	owner.Close() // what the kernel does when the owner dies
	stranger := filepath.Join(base, tempPrefix+"stranger")
	if err := os.MkdirAll(filepath.Join(stranger, "kept"), 0o700); err != nil {
		t.Fatal(err)
	}

	_, remove2, err := TempDir()
	if err != nil {
		t.Fatal(err)
	}
	defer remove2()
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the dead program's folder: %v", err)
	}
	for _, dir := range []string{living, stranger} {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("swept: %v", err)
		}
	}
}

func TestTempDirAvoidsADeepTMPDIR(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("x", maxSocketPath))
	if err := os.Mkdir(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", deep)
	dir, remove, err := TempDir()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	if len(dir) > maxTempDir {
		t.Errorf("%s has %d bytes, want at most %d", dir, len(dir), maxTempDir)
	}
}

func TestTempDirWithoutAPlaceIsAnError(t *testing.T) {
	t.Setenv("TMPDIR", "/proc/self")
	if dir, _, err := TempDir(); err == nil {
		t.Errorf("no error, folder %q", dir)
	}
}

// shortDir is a t.TempDir whose path leaves room for another name and a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
