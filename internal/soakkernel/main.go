// Soakkernel loads a kernel from all sides for a while: garbage collection, floods of preemption
// signals, faults that are recovered, floating point, random system calls (package check, inside
// the guest), and TCP and HTTP from this side, whose every byte is compared.
//
//	go run ./internal/soakkernel [-time 10m] [-ram 128M]
//
// Exit status: 0 nothing failed and every check came round, 1 something did not, 3 QEMU or the
// build went wrong, 64 wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"holdfast/internal/usage"
	"holdfast/qemu"
)

const (
	exitFailed  = 1
	exitTrouble = 3
)

func main() {
	length := flag.Duration("time", 10*time.Minute, "how long")
	ram := flag.String("ram", qemu.DefaultRAM, "the machine's memory")
	usage.Parse("soakkernel [-time DURATION] [-ram SIZE]",
		func() bool { return flag.NArg() == 0 && *length > 0 })
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Stdout, *ram, *length)
	var failed *failure
	switch {
	case errors.As(err, &failed):
		fmt.Fprintln(os.Stderr, "soakkernel:", err)
		os.Exit(exitFailed)
	case err != nil:
		fmt.Fprintln(os.Stderr, "soakkernel:", err)
		os.Exit(exitTrouble)
	}
}

// failure is something that the kernel did wrong.
type failure struct{ what string }

func (f *failure) Error() string { return f.what }

// run soaks for so long, and prints what came of it.
func run(ctx context.Context, out io.Writer, ram string, length time.Duration) error {
	dir, remove, err := qemu.TempDir()
	if err != nil {
		return err
	}
	defer remove()
	s, err := boot(ctx, dir, ram, length+startTime)
	if err != nil {
		return err
	}
	defer s.end()
	timed, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	s.load(timed)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.report(out)
}
