// Debug boots a package of this module under gdb: QEMU stands still before the first instruction,
// gdb has the symbols and the sources, kernel code included.
//
//	go run ./internal/debug [-image PACKAGE] [-break LOCATION] [-batch COMMANDS]
//
// With a location the program runs to its first breakpoint there. With commands, separated by
// semicolons, gdb carries them out and ends; otherwise it is the user's. The node's console goes to
// a file, because gdb has the terminal. Everything ends with gdb.
//
// Exit status: gdb's; 3 when gdb or QEMU is missing or the build fails, 64 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"holdfast/internal/imagebuild"
	"holdfast/internal/usage"
	"holdfast/qemu"
)

const (
	debugger = "gdb-multiarch"
	install  = "apt-get install -y --no-install-recommends gdb-multiarch"

	limit = 12 * time.Hour // of one session

	exitTrouble = 3
)

func main() {
	image := flag.String("image", "./kernel/image", "the package to debug")
	location := flag.String("break", "", "run to this place first, such as holdfast/kernel.boot")
	batch := flag.String("batch", "", "gdb commands to carry out, separated by semicolons")
	usage.Parse("debug [-image PACKAGE] [-break LOCATION] [-batch COMMANDS]",
		func() bool { return flag.NArg() == 0 })
	code, err := run(session{*image, *location, *batch, os.Stdin, os.Stdout})
	if err != nil {
		fmt.Fprintln(os.Stderr, "debug:", err)
		os.Exit(exitTrouble)
	}
	os.Exit(code)
}

// session is what the command line asks for, and the terminal.
type session struct {
	image, location, batch string
	stdin                  io.Reader
	stdout                 io.Writer
}

// run returns gdb's exit status.
func run(s session) (code int, err error) {
	gdb, err := exec.LookPath(debugger)
	if err != nil {
		return 0, fmt.Errorf("%w; as root: %s", err, install)
	}
	dir, remove, err := qemu.TempDir()
	if err != nil {
		return 0, err
	}
	defer remove()
	image := filepath.Join(dir, "debug.elf")
	if err := imagebuild.BuildWithSymbols(s.image, image, "-tags", "nethttpomithttp2"); err != nil {
		return 0, err
	}
	console, err := os.Create(filepath.Join(dir, "console"))
	if err != nil {
		return 0, err
	}
	defer console.Close()
	p, err := qemu.Start(context.Background(), qemu.Machine{
		Name: "debug", Image: image, GDB: true, NoReboot: true, Limit: limit, Raw: console,
		Net: qemu.UserNet{Forward: []uint16{80}},
	})
	if err != nil {
		return 0, err
	}
	defer p.Kill()
	fmt.Fprintf(os.Stderr, "debug: the console goes to %s, http://%v/ leads to the node\n",
		console.Name(), p.Forwarded(80))
	args, err := s.arguments(image, p.GDB().String())
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(gdb, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.stdin, s.stdout, os.Stderr
	signal.Ignore(os.Interrupt) // ^C is gdb's
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // whose end would be the death of the parent
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// arguments is gdb's command line: symbols, where the sources are (the build trims their paths to
// the module's and to the toolchain's), the machine.
func (s session) arguments(image, address string) ([]string, error) {
	out, err := exec.Command("go", "env", "GOROOT", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	root, mod, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	args := []string{"-q", "-nx"}
	if s.batch != "" {
		args = append(args, "-batch")
	}
	do := func(command string) { args = append(args, "-ex", command) }
	do("set confirm off")
	do("set architecture armv7")
	do("set auto-load safe-path /nonexistent") // Go's own script wants Python and a Linux process
	do("file " + image)
	do("set substitute-path holdfast/ " + filepath.Dir(mod) + "/")
	do("directory " + filepath.Join(root, "src"))
	do("target remote " + address)
	if s.location != "" {
		do("break " + s.location)
		do("continue")
	}
	for command := range strings.SplitSeq(s.batch, ";") {
		if command = strings.TrimSpace(command); command != "" {
			do(command)
		}
	}
	return args, nil
}
