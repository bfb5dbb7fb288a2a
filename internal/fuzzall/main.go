// Fuzzall runs every native fuzz target of the module for a given time each, one after another, and
// stops at the first failure: `go test -fuzz` takes a single target of a single package.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	each := flag.Duration("time", 30*time.Second, "time for each target")
	flag.Parse()
	if flag.NArg() > 0 || *each <= 0 {
		fmt.Fprintln(os.Stderr, "usage: fuzzall [-time DURATION]")
		os.Exit(64)
	}
	targets, err := list()
	if err != nil {
		fail(err)
	}
	for _, t := range targets {
		fmt.Printf("== %s %s for %v\n", t.pkg, t.name, *each)
		if err := t.fuzz(*each); err != nil {
			fail(fmt.Errorf("%s %s: %w", t.pkg, t.name, err))
		}
	}
	fmt.Printf("%d targets, no failure\n", len(targets))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "fuzzall:", err)
	os.Exit(1)
}

type target struct{ pkg, name string }

// list asks go test for the targets: lines with a target's name, then one with the package they are
// in.
func list() ([]target, error) {
	cmd := exec.Command("go", "test", "-list", "^Fuzz", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go test -list: %w", err)
	}
	var targets []target
	var names []string
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		fields := strings.Fields(s.Text())
		switch {
		case len(fields) == 1 && strings.HasPrefix(fields[0], "Fuzz"):
			names = append(names, fields[0])
		case len(fields) > 1 && fields[0] == "ok":
			for _, name := range names {
				targets = append(targets, target{fields[1], name})
			}
			names = nil
		}
	}
	return targets, nil
}

func (t target) fuzz(d time.Duration) error {
	// Minimising what is merely interesting would take most of a short run.
	cmd := exec.Command("go", "test", "-run=^$", "-fuzz=^"+t.name+"$", "-fuzztime="+d.String(),
		"-fuzzminimizetime=20x", t.pkg)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
