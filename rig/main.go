// Rig boots nodes in QEMU, breaks them on purpose and proves from what they print and answer that
// the rules held. This package is its command line: it owns the flags, the folders under runs/ and
// the exit codes. What a run does stands in rig/scenario, what it proves in rig/judge, what it runs
// in in rig/world; none of them imports the node, whose work they judge.
//
// Standard output is the result, standard error is progress. Exit codes (spec section 8): 0 every
// check held, 1 a property was violated (wins over everything), 2 inconclusive, 3 trouble with the
// rig or QEMU, 64 wrong usage.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"holdfast/rig/judge"
	"holdfast/rig/report"
	"holdfast/rig/scenario"
)

// codeUsage is EX_USAGE of sysexits.h: the command line is wrong.
const codeUsage = 64

// errInterrupted is the cause for which a run ends when the user wants it to.
var errInterrupted = errors.New("interrupted by the user")

// commandLine is the grammar of the command line.
type commandLine struct {
	Run       runCommand       `cmd:"" help:"Run faults and judge them."`
	List      listCommand      `cmd:"" help:"List the faults; --plan: their steps and checks."`
	Check     checkCommand     `cmd:"" help:"Judge stored runs again, from their journals."`
	Report    reportCommand    `cmd:"" help:"Write the artefacts of stored runs again."`
	Soak      soakCommand      `cmd:"" help:"Run faults again and again: pass rate and times."`
	Compare   compareCommand   `cmd:"" help:"Compare the results of two sets of runs."`
	Replay    replayCommand    `cmd:"" help:"Do the steps of a run's nodes again on this host."`
	Selftest  selftestCommand  `cmd:"" help:"Show that the verdict can fail: damage good runs."`
	Cap       capCommand       `cmd:"" help:"Mint a capability for the nodes of a run."`
	Boot      bootCommand      `cmd:"" help:"Boot one node by itself, with its console here."`
	Provision provisionCommand `cmd:"" help:"Write the EEPROM image of one node."`
	Lab       labCommand       `cmd:"" help:"Compare failure detectors; --suggest: timing constants."`
	Doctor    doctorCommand    `cmd:"" help:"Say whether this machine has what a run needs."`
}

// failure is an error with the exit code that it means.
type failure struct {
	code judge.Code
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// verdict is the failure of a command that has printed its result already.
type verdict judge.Code

func (v verdict) Error() string { return judge.Code(v).String() }

func main() { os.Exit(command(os.Args[1:])) }

// command runs one command line and returns the exit code.
func command(args []string) int {
	var line commandLine
	parser := kong.Must(&line,
		kong.Name("rig"),
		kong.Description("Boot Holdfast nodes in QEMU, break them on purpose, prove what held."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{
			"faults":   strings.Join(faultNames(), ", "),
			"kinds":    kindNames(),
			"policies": policyNames(),
			"groups":   strings.Join(groups(), "; "),
		},
	)
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "rig: %v\n", err)
		fmt.Fprintln(os.Stderr, "rig: see rig --help")
		return codeUsage
	}
	ctx, stop := interruptible()
	defer stop()
	parsed.BindTo(ctx, (*context.Context)(nil))
	err = parsed.Run()

	var done verdict
	var failed *failure
	switch {
	case err == nil:
		return int(judge.CodeHeld)
	case errors.As(err, &done):
		return int(done)
	}
	fmt.Fprintf(os.Stderr, "rig: %v\n", err)
	if errors.As(err, &failed) {
		return int(failed.code)
	}
	return int(judge.CodeTrouble)
}

// interruptible returns a context that ends with errInterrupted on the first SIGINT, SIGTERM or
// SIGHUP. The second one ends the program at once; QEMU dies with it.
func interruptible() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-signals:
			signal.Stop(signals)
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

func faultNames() []string {
	var names []string
	for _, f := range scenario.All() {
		names = append(names, f.Name)
	}
	return names
}

// groups says of each group what it is.
func groups() []string {
	var all []string
	for _, g := range scenario.Groups() {
		all = append(all, g.Name+" ("+g.About+")")
	}
	return all
}

// findFault is scenario.Find with an error that helps.
func findFault(name string) (*scenario.Fault, error) {
	f, ok := scenario.Find(name)
	if !ok {
		return nil, fmt.Errorf("no fault %q; there are %s", name, strings.Join(faultNames(), ", "))
	}
	return f, nil
}

// style is how text is set on a file: in colour on a terminal, unless NO_COLOR is set.
func style(f *os.File) report.Style {
	return report.Style{Color: columns(f) > 0 && os.Getenv("NO_COLOR") == "" &&
		os.Getenv("TERM") != "dumb"}
}

// columns is the width of the terminal that a file is, 0 when it is none.
func columns(f *os.File) int {
	const usual = 80
	if !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return usual
	}
	return width
}
