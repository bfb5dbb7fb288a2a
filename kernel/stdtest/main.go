// Stdtest runs the standard library's own tests on the bare machine:
//
//	go run ./kernel/stdtest [-timeout 20m] [-v] [PACKAGE...]
//
// It builds each package's test binary with the kernel in it, boots it in QEMU, and judges what the
// console shows against expected.txt, the list of the tests that can not pass here and why. A
// failure that is not in the list, and a listed test that passes, fail the run: the list is exact.
//
// It runs offline and needs nothing but the Go toolchain and QEMU. Packages run one after another.
// Exit status: 0 as expected, 1 not as expected, 3 a build or QEMU went wrong, 64 wrong usage.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"holdfast/board"
	"holdfast/internal/usage"
	"holdfast/qemu"
)

// defaultPackages are the ones closest to the kernel, and those whose results depend on every
// register and instruction of the processor.
var defaultPackages = []string{
	"sync", "sync/atomic", "context", "time", "runtime",
	"hash/crc32", "crypto/ed25519", "crypto/sha256", "encoding/binary", "strconv", "math",
	"net/netip", "bytes", "sort",
}

// testFlags go to every test binary. Examples are left out because they need a pipe.
var testFlags = []string{"-test.v", "-test.short", "-test.run=^Test"}

const (
	ram = "512M" // what the EVK has

	exitUnexpected = 1
	exitTrouble    = 3
)

//go:embed expected.txt
var expectedText string

func main() {
	timeout := flag.Duration("timeout", 20*time.Minute, "time limit for each package's run")
	verbose := flag.Bool("v", false, "show the console")
	usage.Parse("stdtest [-timeout DURATION] [-v] [PACKAGE...]; without a package: "+
		strings.Join(defaultPackages, " "), func() bool { return *timeout > 0 })
	packages := flag.Args()
	if len(packages) == 0 {
		packages = defaultPackages
	}
	expected, err := parseExpected(expectedText)
	if err != nil {
		fail(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "holdfast-stdtest-")
	if err != nil {
		fail(err)
	}
	ok, err := runAll(ctx, dir, packages, expected, *timeout, *verbose)
	os.RemoveAll(dir)
	switch {
	case err != nil:
		fail(err)
	case !ok:
		os.Exit(exitUnexpected)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "stdtest:", err)
	os.Exit(exitTrouble)
}

// runAll reports whether all packages did as expected.
func runAll(ctx context.Context, dir string, packages []string, expected expectations,
	timeout time.Duration, verbose bool) (ok bool, err error) {
	if _, err := qemu.Find(); err != nil {
		return false, err
	}
	root, err := newShadow(dir)
	if err != nil {
		return false, err
	}
	ok = true
	for _, pkg := range packages {
		start := time.Now()
		image := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "-")+".elf")
		if err := root.build(ctx, pkg, image); err != nil {
			return false, err
		}
		lines, err := boot(ctx, dir, image, timeout, verbose)
		if err != nil {
			return false, fmt.Errorf("%s: %w", pkg, err)
		}
		v := judge(pkg, lines, expected)
		fmt.Printf("%s, %v\n", v, time.Since(start).Round(time.Second))
		for _, problem := range v.problems {
			fmt.Printf("    %s\n", problem)
		}
		if len(v.problems) != 0 {
			ok = false
			saved, err := save(pkg, lines)
			if err != nil {
				return false, err
			}
			fmt.Printf("    console: %s\n", saved)
		}
	}
	return ok, nil
}

// boot runs a test binary to its end and returns its console.
func boot(ctx context.Context, dir, image string, timeout time.Duration, verbose bool) (
	lines []string, err error) {
	page := strings.Join(testFlags, "\n") + "\n\x00"
	p, err := qemu.Start(ctx, qemu.Machine{
		Name: "stdtest", Image: image, RAM: ram, Dir: dir, NoReboot: true, Limit: timeout,
		Loads: []qemu.Load{{Addr: board.BootPage, Data: []byte(page)}},
		OnLine: func(_ time.Time, line string) {
			lines = append(lines, line)
			if verbose {
				fmt.Println(line)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	exit := p.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case exit.Lost != 0:
		return nil, fmt.Errorf("%d bytes of the console were lost", exit.Lost)
	case exit.Cause != nil: // the time limit; what the console shows by then is judged
		lines = append(lines, "stdtest: "+exit.String())
	}
	return lines, nil
}

// save keeps a console that has to be looked at.
func save(pkg string, lines []string) (path string, err error) {
	f, err := os.CreateTemp("", "holdfast-stdtest-"+strings.ReplaceAll(pkg, "/", "-")+"-*.log")
	if err != nil {
		return "", err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, strings.Join(lines, "\n"))
	return f.Name(), err
}
