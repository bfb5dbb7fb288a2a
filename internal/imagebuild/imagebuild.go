// Package imagebuild holds the one command that makes a bootable image of a Go program: the stock
// toolchain for linux/arm, the kernel's entry point, the address that the board expects, and gVisor
// with a few lines changed (patch.go).
//
// It owns nothing but that command line. Tests and tools build guests with it; what it builds is
// the same that `make image` builds, byte for byte, given the same source and toolchain.
package imagebuild

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"holdfast/board"
)

// Env is what the build's environment has beyond the caller's own.
var Env = []string{"GOOS=linux", "GOARCH=arm", "GOARM=7", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly"}

// LinkerFlags is the value of -ldflags: the kernel's first instruction as the entry point (-E,
// which also keeps the kernel from being dropped as unused), the address of the code (-T, with the
// ELF headers on the page before it), segments rounded to pages (-R). Symbols and debugging
// information are left out when strip is true; nothing at run time needs them.
func LinkerFlags(strip bool) string {
	flags := fmt.Sprintf("-E _kernel_start -T %#x -R 0x1000", uint32(board.ImageText))
	if strip {
		return "-s -w " + flags
	}
	return flags
}

// Tags are the build tags of a node's image.
const Tags = "nethttpomithttp2"

// Build makes out, a stripped image of package pkg, with extra flags for go build. It runs in the
// module that the working directory is in. On failure the error holds the compiler's output.
func Build(pkg, out string, extra ...string) error { return build(pkg, out, true, nil, extra) }

// BuildWithSymbols is Build without stripping: the same code at the same addresses.
func BuildWithSymbols(pkg, out string, extra ...string) error {
	return build(pkg, out, false, nil, extra)
}

// BuildChanged is Build of a source that is not the tree's: changed has, for the path of a file of
// the module, where the text is that takes its place.
func BuildChanged(pkg, out string, changed map[string]string, extra ...string) error {
	return build(pkg, out, true, changed, extra)
}

func build(pkg, out string, strip bool, changed map[string]string, extra []string) error {
	folder, err := os.MkdirTemp("", "imagebuild")
	if err != nil {
		return fmt.Errorf("imagebuild: %w", err)
	}
	defer os.RemoveAll(folder)
	args, err := patched(folder, changed)
	if err != nil {
		return err
	}
	args = slices.Concat([]string{"build", "-trimpath", "-ldflags", LinkerFlags(strip), "-o", out},
		args, extra, []string{pkg})
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), Env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
