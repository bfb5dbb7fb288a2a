package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"holdfast/qemu"
	"holdfast/rig/judge"
	"holdfast/rig/report"
	"holdfast/rig/scenario"
)

// doctorCommand looks at this machine.
type doctorCommand struct {
	Image string `default:"build/holdfast.elf" placeholder:"PATH" help:"Node image."`

	Boot bool `default:"true" negatable:"" help:"Boot a node and stop it, to see QEMU's clock."`
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
	version, noQEMU := qemu.Version(ctx)
	say("qemu", version, noQEMU)
	if noQEMU == nil {
		say("netdev", "dgram, an Ethernet frame a datagram", qemu.Datagrams(ctx))
	}
	sum, noImage := inspect(c.Image)
	say("image", c.Image+" sha256 "+sum, noImage)
	if c.Boot && noQEMU == nil && noImage == nil {
		found, err := c.clocks(ctx, version, sum)
		say("clocks", found, err)
	}
	say("sockets", "unix datagrams in "+os.TempDir(), trySockets())
	memory, err := available()
	say("memory", memory, err)
	disk, err := room(os.TempDir())
	say("disk", disk, err)
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

// roomLeast is what a run's folder, with its capture, may take at the most.
const roomLeast = 200 << 20

// room is what is free in a folder.
func room(folder string) (string, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err != nil {
		return "", err
	}
	free := fs.Bavail * uint64(fs.Bsize)
	if free < roomLeast {
		return "", fmt.Errorf("%d MB free in %s, a run may take %d", free>>20, folder, roomLeast>>20)
	}
	return fmt.Sprintf("%d MB free in %s", free>>20, folder), nil
}

// probe makes a node stand still in both ways. The faults that do so rest on what QEMU's clock does
// meanwhile: it stands still in a freeze (QMP stop), which the node can tell by its second clock
// alone, and goes on in a stall (SIGSTOP).
//
//go:embed probe.scenario
var probe string

// clocks runs the probe and says what it showed.
func (c *doctorCommand) clocks(ctx context.Context, version, sum string) (string, error) {
	f, err := scenario.Parse(probe)
	if err != nil {
		panic("rig: " + err.Error())
	}
	f.Text = probe
	folder, err := os.MkdirTemp("", "rig-doctor-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	var result *report.Result
	s := session{
		sessionFlags: sessionFlags{Image: c.Image, RAM: "128M", Out: folder, Parallel: 1, Slow: 1},
		keep:         "never", qemu: version, sha256: sum,
		show: func(j *judged, _ string) error {
			result = &j.result
			return nil
		},
	}
	s.run(ctx, f, 1)
	if result == nil {
		return "", errors.New("the probe could not be judged")
	}
	if result.Exit == judge.CodeHeld {
		return f.Proof, nil
	}
	why := []string{result.Meaning}
	if result.Reason != "" {
		why = append(why, result.Reason)
	}
	for _, check := range result.Checks {
		if check.Status == judge.Violated {
			why = append(why, check.Name+": "+check.Detail)
		}
	}
	return "", errors.New(strings.Join(why, "; "))
}
