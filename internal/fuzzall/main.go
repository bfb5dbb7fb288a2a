// Fuzzall runs every native fuzz target of the module, one after another, and stops at the first
// failure: `go test -fuzz` takes a single target of a single package.
//
//	go run ./internal/fuzzall [-time 30s | -count 1000]
//
// With -time each target has so long; with -count each is given so many inputs, which is the same
// work on every machine.
//
// Exit status: 0 no failure, 1 a target failed or could not be run, 64 wrong usage.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	exitFailed = 1
	exitUsage  = 64
)

func main() {
	each := flag.Duration("time", 30*time.Second, "time for each target")
	count := flag.Int("count", 0, "inputs for each target, in the place of -time")
	flag.Parse()
	if flag.NArg() > 0 || *each <= 0 || *count < 0 {
		fmt.Fprintln(os.Stderr, "usage: fuzzall [-time DURATION | -count INPUTS]")
		os.Exit(exitUsage)
	}
	length := each.String()
	if *count > 0 {
		length = strconv.Itoa(*count) + "x"
	}
	targets, err := list("./...")
	if err != nil {
		fail(err)
	}
	for _, t := range targets {
		fmt.Printf("== %s %s for %s\n", t.pkg, t.name, length)
		if err := t.fuzz(length); err != nil {
			fail(fmt.Errorf("%s %s: %w", t.pkg, t.name, err))
		}
	}
	fmt.Printf("%d targets, no failure\n", len(targets))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "fuzzall:", err)
	os.Exit(exitFailed)
}

type target struct{ pkg, name string }

// list finds the targets of packages. It reads the tests, which `go test -list` would build.
func list(patterns string) ([]target, error) {
	const format = "{{.ImportPath}}{{range .TestGoFiles}} {{.}}{{end}}" +
		"{{range .XTestGoFiles}} {{.}}{{end}} {{.Dir}}"
	cmd := exec.Command("go", "list", "-f", format, patterns)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var targets []target
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		pkg, files, dir := fields[0], fields[1:len(fields)-1], fields[len(fields)-1]
		for _, file := range files {
			names, err := targetsIn(filepath.Join(dir, file))
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				targets = append(targets, target{pkg, name})
			}
		}
	}
	return targets, nil
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

func (t target) fuzz(length string) error {
	// Minimising what is merely interesting would take most of a short run.
	cmd := exec.Command("go", "test", "-run=^$", "-fuzz=^"+t.name+"$", "-fuzztime="+length,
		"-fuzzminimizetime=20x", t.pkg)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
