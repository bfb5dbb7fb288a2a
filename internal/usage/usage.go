// Package usage reads the command lines of the module's host commands, so that all of them end in
// the same way on a wrong one: how to call it on standard error, and exit status 64, also for a
// flag that does not exist. -h prints the same with every flag, and ends with 0. It decides nothing
// else; bin/rig, which has commands of its own, does not use it.
package usage

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// Exit is the exit status of a program that was called wrongly (EX_USAGE of sysexits.h).
const Exit = 64

// Parse reads the flags that have been declared. line is how to call the program; right says
// whether what was read, arguments included, makes sense. It does not return when it does not.
func Parse(line string, right func() bool) {
	if code, over := parse(flag.CommandLine, os.Args[1:], os.Stderr, line, right); over {
		os.Exit(code)
	}
}

// parse is Parse, and says whether the program is over, and with what status.
func parse(
	flags *flag.FlagSet, args []string, to io.Writer, line string, right func() bool,
) (code int, over bool) {
	flags.Init(flags.Name(), flag.ContinueOnError)
	flags.SetOutput(to)
	flags.Usage = func() {}
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(to, "usage:", line)
		flags.PrintDefaults()
		return 0, true
	case err != nil || !right(): // the flag package has said what is wrong with a flag
		fmt.Fprintln(to, "usage:", line)
		return Exit, true
	}
	return 0, false
}
