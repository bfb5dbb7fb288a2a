// Mutants breaks the rules of the protocol on purpose, one at a time, and shows which level of the
// tests notices. A rule without a mutant that is caught is a rule that nothing holds us to.
//
//	go run ./internal/mutants                    each mutant, up to the first level that catches it
//	go run ./internal/mutants -all               each mutant at every level
//	go run ./internal/mutants -run lease -level unit,search
//	go run ./internal/mutants -list              the mutants, and the levels with their commands
//	go run ./internal/mutants -run quarantine -images build/broken
//	                                             a kernel of each, for rig selftest --broken
//
// A mutant is a patch of the product's source that switches one rule off. It is applied by the
// toolchain's -overlay: no file is changed, and the product has no switch, hook or build tag for
// it. mutants.txt has them all, each like this:
//
//	mutant no-quarantine
//	rule   L7
//	says   an authority that is started again takes a view as soon as somebody proves one
//	with   another-mutant         (optional: that one's patch is applied too)
//	file   mesh/marks.go
//	-	return max(0, n.c.Timing.Fail-n.now.Sub(n.started))
//	+	return 0
//
// What is behind the signs is text, tabs included: of the lines with - and with a space is made
// what must stand in the file exactly once, of those with + and with a space what stands there
// instead. The last line of the old text may be the beginning of a line. There can be several file
// parts, also of one file. To add a mutant is to write such a paragraph: nothing else knows of it.
// One that no longer applies fails this package's test, so that whoever changes the code of a rule
// looks at its mutant.
//
// Where another guard stands behind a rule and hides that it is off, with names the mutant that
// takes that guard away: the pair shows that the rule is worth having.
//
// A level is one command that must succeed on the tree as it is, which is tried first. It has
// caught a mutant when it fails; it stops at its first failure. A level that does not have the
// mutant's files in it is not run, one that takes longer than its limit has shown nothing.
//
// Exit status: 0 when every mutant was caught, 1 when one was not, or does not apply or build, or
// the tree itself fails a level; 64 for a wrong command line.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

const usage = "usage: mutants [-run REGEXP] [-level NAME,...] [-all] [-list] [-images FOLDER] " +
	"[-workers N] [-limit DURATION] [-quiet]"

// options are what the command line asks for.
type options struct {
	mutants []mutant
	levels  []level
	all     bool // every level, also behind the first that catches
	list    bool
	quiet   bool
	images  string // where kernels are built, in place of trying levels; "" for none
	workers int
	limit   time.Duration // of one level for one mutant
}

func main() {
	o, err := parseFlags(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "mutants: %v\n%s\n", err, usage)
		os.Exit(64)
	}
	if o.list {
		list(os.Stdout, o)
		return
	}
	ok, err := run(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func parseFlags(args []string) (options, error) {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	only := flags.String("run", "", "the mutants whose name or rule matches")
	at := flags.String("level", "", "these levels only")
	o := options{}
	flags.BoolVar(&o.all, "all", false, "every level for every mutant")
	flags.BoolVar(&o.list, "list", false, "list mutants and levels")
	flags.BoolVar(&o.quiet, "quiet", false, "no progress")
	flags.StringVar(&o.images, "images", "", "build a kernel of each mutant into this folder")
	flags.IntVar(&o.workers, "workers", runtime.NumCPU(), "mutants at a time")
	flags.DurationVar(&o.limit, "limit", 2*time.Minute, "the longest that a level may take")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("what is %q?", flags.Arg(0))
	case o.workers < 1 || o.limit <= 0:
		return o, fmt.Errorf("-workers and -limit have to be above zero")
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return o, fmt.Errorf("-run: %w", err)
	}
	table, err := parse(mutantsText)
	if err != nil {
		return o, err
	}
	for _, m := range table {
		if pattern.MatchString(m.name) || pattern.MatchString(m.rule) {
			o.mutants = append(o.mutants, m)
		}
	}
	if len(o.mutants) == 0 {
		return o, fmt.Errorf("-run: no mutant matches %q", *only)
	}
	o.levels, err = levelsNamed(*at)
	return o, err
}

// levelsNamed returns the levels of a list of names, in their own order; all of them for "".
func levelsNamed(names string) ([]level, error) {
	if names == "" {
		return levels, nil
	}
	var chosen []level
	wanted := strings.Split(names, ",")
	for _, l := range levels {
		if i := slices.Index(wanted, l.name); i >= 0 {
			wanted = slices.Delete(wanted, i, i+1)
			chosen = append(chosen, l)
		}
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("-level: there is no level %q", wanted[0])
	}
	return chosen, nil
}

// list tells what there is.
func list(to io.Writer, o options) {
	for _, l := range o.levels {
		fmt.Fprintf(to, "%-8s %s\n         go %s\n", l.name, l.what, strings.Join(l.args, " "))
	}
	fmt.Fprintln(to)
	for _, m := range o.mutants {
		fmt.Fprintf(to, "%-*s %-*s %s\n", widest(o.mutants, (*mutant).title), m.title(),
			widest(o.mutants, (*mutant).label), m.label(), m.says)
	}
}

// run tries the tree, then every mutant, and prints the table. It reports whether all were caught.
// When kernels are asked for it builds these, and tries nothing.
func run(ctx context.Context, o options) (bool, error) {
	root, err := moduleRoot()
	if err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	b := &bench{options: o, root: root, scratch: scratch, began: time.Now(), say: os.Stderr}
	if o.quiet {
		b.say = io.Discard
	}
	if o.images != "" {
		return true, b.build()
	}
	if err := b.tryTree(ctx); err != nil {
		return false, err
	}
	rows := b.tryMutants(ctx)
	report(os.Stdout, o.levels, rows, time.Since(b.began))
	return allCaught(rows), nil
}

// moduleRoot is where the tree is.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}
