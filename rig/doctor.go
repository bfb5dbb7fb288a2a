package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"holdfast/qemu"
	"holdfast/rig/judge"
)

// doctorCommand looks at this machine.
type doctorCommand struct {
	Image string `default:"build/holdfast.elf" placeholder:"PATH" help:"Node image."`
}

// Help is the example of --help.
func (*doctorCommand) Help() string { return "Example: rig doctor --image build/holdfast.elf" }

// Run prints a line for each thing that a run needs.
func (c *doctorCommand) Run(ctx context.Context) error {
	well := true
	say := func(what, found string, err error) {
		state := "ok"
		if err != nil {
			state, found, well = "BAD", err.Error(), false
		}
		fmt.Printf("%-4s %-10s %s\n", state, what, found)
	}
	version, err := qemu.Version(ctx)
	say("qemu", version, err)
	sum, err := inspect(c.Image)
	say("image", c.Image+" sha256 "+sum, err)
	say("sockets", "unix datagrams in "+os.TempDir(), trySockets())
	memory, err := available()
	say("memory", memory, err)
	say("cpus", fmt.Sprintf("%d; a pair of nodes is comfortable on 2", runtime.NumCPU()), nil)
	if !well {
		return verdict(judge.CodeTrouble)
	}
	return nil
}

// trySockets makes what a relay's port is made of, in a folder like a run's.
func trySockets() error {
	folder, remove, err := qemu.TempDir()
	if err != nil {
		return err
	}
	defer remove()
	address := &net.UnixAddr{Name: filepath.Join(folder, "n0.sw"), Net: "unixgram"}
	socket, err := net.ListenUnixgram("unixgram", address)
	if err != nil {
		return err
	}
	return socket.Close()
}

// available is the kernel's estimate of what programs can still get.
func available() (string, error) {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(info)) {
		if value, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			return strings.TrimSpace(value) + " available; a pair of nodes takes about 400 MB", nil
		}
	}
	return "", errors.New("/proc/meminfo has no MemAvailable")
}
