// Package imagetest gives tests that boot a kernel their image. It decides in one place what
// becomes of such a test on a machine without QEMU: it is skipped, unless HOLDFAST_REQUIRE_QEMU is
// set, as `make test` does.
package imagetest

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/imagebuild"
	"holdfast/qemu"
)

// Require is the environment variable that makes a missing QEMU a failure.
const Require = "HOLDFAST_REQUIRE_QEMU"

// NeedsQEMU skips or fails a test where there is no QEMU.
func NeedsQEMU(t testing.TB) {
	t.Helper()
	if _, err := qemu.Find(); err == nil {
		return
	} else if os.Getenv(Require) != "" {
		t.Fatal(err)
	} else {
		t.Skip(err)
	}
}

// Build makes the image of a package, with extra flags of go build, for a test that boots it, and
// returns its path in the test's own folder.
func Build(t testing.TB, pkg string, extra ...string) (path string) {
	t.Helper()
	NeedsQEMU(t)
	path = filepath.Join(t.TempDir(), "image.elf")
	if err := imagebuild.Build(pkg, path, extra...); err != nil {
		t.Fatal(err)
	}
	return path
}
