// Fuzzall runs every native fuzz target of the module, one after another, and stops at the first
// failure. `go test -fuzz` takes a single target, and links the tests of its package anew for each:
// here they are linked once, and while one package is fuzzed, the next one is built.
//
//	go run ./internal/fuzzall [-time 30s | -count 1000]
//
// With -time each target has so long; with -count each is given so many inputs, which is the same
// work on every machine. What `go test -fuzz` has found interesting before is used and added to.
//
// Exit status: 0 no failure, 1 a target failed or could not be run, 64 wrong usage.
package main

import (
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/usage"
)

func main() {
	each := flag.Duration("time", 30*time.Second, "time for each target")
	count := flag.Int("count", 0, "inputs for each target, in the place of -time")
	usage.Parse("fuzzall [-time DURATION | -count INPUTS]",
		func() bool { return flag.NArg() == 0 && *each > 0 && *count >= 0 })
	length := each.String()
	if *count > 0 {
		length = strconv.Itoa(*count) + "x"
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, length); err != nil {
		fmt.Fprintln(os.Stderr, "fuzzall:", err)
		os.Exit(1)
	}
}

// run gives every target so much, as -fuzztime has it.
func run(ctx context.Context, length string) error {
	ctx, cancel := context.WithCancel(ctx) // nothing is built on when a target has failed
	defer cancel()
	suites, err := list(ctx, "./...")
	if err != nil {
		return err
	}
	corpus, err := goCommand(ctx, "env", "GOCACHE")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fuzzall")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	targets := 0
	built := build(ctx, suites, dir)
	for _, s := range suites {
		if err := <-built; err != nil {
			return fmt.Errorf("%s: %w", s.pkg, err)
		}
		for _, name := range s.targets {
			fmt.Printf("== %s %s for %s\n", s.pkg, name, length)
			cache := filepath.Join(strings.TrimSpace(corpus), "fuzz", filepath.FromSlash(s.pkg))
			if err := s.fuzz(ctx, name, length, cache, dir); err != nil {
				return fmt.Errorf("%s %s: %w", s.pkg, name, err)
			}
			targets++
		}
	}
	fmt.Printf("%d targets, no failure\n", targets)
	return nil
}

// A suite is a package that has fuzz targets.
type suite struct {
	pkg, dir string
	targets  []string
}

// list finds the suites among packages. It reads the tests, which `go test -list` would build.
func list(ctx context.Context, patterns string) ([]suite, error) {
	const format = "{{.ImportPath}}{{range .TestGoFiles}} {{.}}{{end}}" +
		"{{range .XTestGoFiles}} {{.}}{{end}} {{.Dir}}"
	out, err := goCommand(ctx, "list", "-f", format, patterns)
	if err != nil {
		return nil, err
	}
	var suites []suite
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		s := suite{pkg: fields[0], dir: fields[len(fields)-1]}
		for _, file := range fields[1 : len(fields)-1] {
			names, err := targetsIn(filepath.Join(s.dir, file))
			if err != nil {
				return nil, err
			}
			s.targets = append(s.targets, names...)
		}
		if len(s.targets) > 0 {
			suites = append(suites, s)
		}
	}
	return suites, nil
}

// goCommand returns what the go command prints.
func goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(out), nil
}

// targetsIn returns the fuzz targets of a file.
func targetsIn(path string) (names []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}

// build builds the tests of the suites into a folder, in order, no more than one ahead of the
// reader, who receives how each build ended.
func build(ctx context.Context, suites []suite, dir string) <-chan error {
	built := make(chan error)
	go func() {
		for _, s := range suites {
			_, err := goCommand(ctx, "test", "-c", "-ldflags=-s -w", "-fuzz=^Fuzz",
				"-o", s.binary(dir), s.pkg)
			built <- err
		}
	}()
	return built
}

// binary is where a suite's tests are built in a folder.
func (s suite) binary(dir string) string {
	return filepath.Join(dir, strings.ReplaceAll(s.pkg, "/", "-")+".test")
}

// fuzz runs one target, which finds its seeds in the package's folder and leaves there what makes
// it fail.
func (s suite) fuzz(ctx context.Context, name, length, cache, dir string) error {
	// Minimising what is merely interesting would take most of a short run.
	cmd := exec.CommandContext(ctx, s.binary(dir), "-test.run=^$", "-test.fuzz=^"+name+"$",
		"-test.fuzztime="+length, "-test.fuzzminimizetime=20x", "-test.fuzzcachedir="+cache,
		"-test.paniconexit0")
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
