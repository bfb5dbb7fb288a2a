package main_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/imagebuild"
	"holdfast/nvram"
	"holdfast/qemu"
)

// debugChip is a file with the NVRAM of a node that has nothing but this environment.
func debugChip(t *testing.T, assignments ...string) (file string) {
	t.Helper()
	env, err := nvram.NewEnvironment(assignments...)
	if err != nil {
		t.Fatal(err)
	}
	chip, err := nvram.Provision{Environment: env}.Image()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "chip")
	if err := os.WriteFile(file, chip, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestProfilesAreAVariant boots both images on a chip that asks for profiles, and the variant on
// one that does not.
func TestProfilesAreAVariant(t *testing.T) {
	plain := build(t)
	variant := filepath.Join(t.TempDir(), "pprof.elf")
	if err := imagebuild.Build(".", variant, "-tags", "nethttpomithttp2,pprof"); err != nil {
		t.Fatal(err)
	}
	asks, silent := debugChip(t, "debug.pprof=1"), debugChip(t)

	n := boot(t, qemu.Machine{Image: plain, NVRAM: asks})
	a := n.send(http.MethodGet, "/debug/pprof/heap", "", nil)
	if a.status != http.StatusNotFound || !strings.Contains(a.body, "PPROF=1") {
		t.Errorf("without profiles: %d %q", a.status, a.body)
	}
	n.p.Kill()

	n = boot(t, qemu.Machine{Image: variant, NVRAM: silent})
	if a := n.send(http.MethodGet, "/debug/pprof/heap", "", nil); a.status != http.StatusNotFound {
		t.Errorf("not asked for: %d %q", a.status, a.body)
	}
	n.p.Kill()

	n = boot(t, qemu.Machine{Image: variant, NVRAM: asks})
	for name, has := range map[string]string{
		"heap": "runtime.", "goroutine": "runtime.", "allocs": "runtime.", // functions have their names
		"profile?seconds=1": "nanoseconds", // an idle node may have been caught nowhere in a second
	} {
		z, err := gzip.NewReader(strings.NewReader(n.get("/debug/pprof/" + name)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, err := io.ReadAll(z)
		if err != nil || !strings.Contains(string(b), has) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	if a := n.send(http.MethodGet, "/debug/pprof/nonsense", "", nil); a.status != 404 {
		t.Errorf("%d %q", a.status, a.body)
	}
}
