package main

import (
	"regexp"
	"slices"
	"strings"
)

// level is one way of finding out that a rule is off.
type level struct {
	name string
	what string
	args []string // of the go command
	in   []string // the folders whose code it runs
}

// protocol is what every level of package mesh runs.
var protocol = []string{"mesh"}

// levels are all of them, each built on the one before: single steps, whole conversations, random
// histories, every small schedule, whole worlds, real TCP, whole nodes.
var levels = []level{
	{"unit", "the tests of the protocol's packages, one step or one rule each",
		append(test, "-skip", "^TestWalks|^TestConversations$", protocolPackages), protocol},
	{"golden", "recorded conversations of two and three nodes, to the letter",
		append(test, "-run", "^TestConversations$", "./mesh"), protocol},
	{"walks", "random histories of a small mesh, each step judged",
		append(test, "-run", "^TestWalksKeep", "./mesh", "-walk.runs=400"), protocol},
	{"search", "every schedule of few troubles, past the second of a removal",
		append(test, "-run", "^TestNoNarrow", "./mesh/search"), protocol},
	{"sim", "whole simulated worlds of minutes, seeds 1 to 200",
		[]string{"run", "./internal/soak", "-from", "1", "-worlds", "200", "-dense", "-failures", "1"},
		protocol},
	{"sweep", "whole nodes, TLS over real TCP in virtual time: cuts by phase and length",
		append(test, "-run", "TwoHomes", "./kernel/node"),
		[]string{"mesh", "kernel/node", "nvram", "netstack"}},
	{"node", "the tests of the node around the protocol, its links, its NVRAM",
		append(test, "-skip", "TwoHomes", "./kernel/node", "./kernel/node/link", "./nvram"),
		[]string{"mesh", "kernel/node", "nvram"}},
}

// test is how every test level begins. Vetting a mutant would only cost time.
var test = slices.Clip([]string{"test", "-vet=off", "-failfast"})

// protocolPackages stands for the packages below mesh but the two that are levels of their own.
const protocolPackages = "MESH"

// command is the level's with an overlay, "" for none, and with the packages of the protocol.
func (l *level) command(overlay string, packages []string) []string {
	args := []string{l.args[0]}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	for _, a := range l.args[1:] {
		if a == protocolPackages {
			args = append(args, packages...)
			continue
		}
		args = append(args, a)
	}
	return args
}

// sees reports whether a mutant of these files is in what the level runs.
func (l *level) sees(files []string) bool {
	return slices.ContainsFunc(files, func(f string) bool {
		return slices.ContainsFunc(l.in, func(in string) bool { return strings.HasPrefix(f, in+"/") })
	})
}

// result is what a level has shown of a mutant.
type result struct {
	verdict verdict
	by      string // the first thing that failed
}

type verdict int

const (
	notRun   verdict = iota
	caught           // the level fails
	survived         // it succeeds
	late             // it did not end in time, and has shown nothing
	broken           // it could not be built or run, and has shown nothing
)

func (v verdict) String() string { return [...]string{"-", "caught", "lived", "late", "broken"}[v] }

var (
	// unbuilt are the words of a go command that did not get as far as running something.
	unbuilt = regexp.MustCompile(`\[(build|setup) failed\]|signal: killed|no required module|` +
		`no space left`)
	// failures are what tests and worlds say when they fail.
	failures = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^(panic: .*)|^soak: (seed .*)$`)
)

// judge tells what a command's end means.
func judge(succeeded bool, output string) result {
	switch {
	case succeeded:
		return result{verdict: survived}
	case unbuilt.MatchString(output):
		return result{broken, lastLines(output)}
	}
	for _, m := range failures.FindAllStringSubmatch(output, -1) {
		return result{caught, strings.Join(m[1:], "")}
	}
	return result{broken, lastLines(output)}
}

// lastLines are the end of an output that nobody can make sense of.
func lastLines(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}
