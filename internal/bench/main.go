// Bench prints the figures of docs/speed.md: those of the peer, TamaGo with
// imx-enet and gVisor, measured in the same way on the same kind of machine; the targets; what was
// recorded before; and what is measured now.
//
// Instructions are exact and repeatable: QEMU's -icount shift=0 makes one instruction one
// nanosecond of guest time, whatever the host does. They are counted from the kernel's first
// instruction, less the time that the guest waited for an interrupt. Wall-clock figures depend on
// the host; they are for orientation.
//
// It measures in parts, each with machines of its own:
//
//	machine  one image with net/http and nothing of Holdfast's own, in instructions
//	relay    the same over the rig's relay, which has a frame in its hands at a time (relay.go)
//	latency  how soon a goroutine has an interrupt
//	mesh     two nodes on the rig's relay, in instructions of both together (pair.go, commits.go)
//	wall     both once more, by the host's clock
//	size     bytes of the images
//
// history.txt keeps what was recorded, and by which commit of the tree.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/internal/imagebuild"
	"holdfast/internal/usage"
	"holdfast/qemu"
)

const (
	ram      = "128M"
	limit    = 4 * time.Minute // for one machine
	transfer = 8 << 20         // bytes each way
	// requests are so many that the garbage collector's share is in what one costs.
	requests = 2000
	// The HTTP clients of the row about memory under load, and what each asks for.
	loadClients  = 8
	loadRequests = 400
	firstRuns    = 5
	idleTime     = 10 * time.Second
)

// images are the files to boot.
type images struct{ guest, node string }

// part is what is measured together.
type part struct {
	name    string
	measure func(context.Context, *table, images) error
}

var parts = []part{
	{"machine", counted},
	{"relay", relayed},
	{"latency", latency},
	{"mesh", meshCounted},
	{"wall", wall},
	{"size", sizes},
}

func main() {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	record := flag.Bool("record", false, "append what was measured to "+historyFile)
	only := flag.String("part", strings.Join(names, ","), "what to measure")
	var wanted []string
	usage.Parse("bench [-record] [-part NAME,...]", func() bool {
		wanted = strings.Split(*only, ",")
		return flag.NArg() == 0 &&
			!slices.ContainsFunc(wanted, func(s string) bool { return !slices.Contains(names, s) })
	})
	if err := run(context.Background(), wanted, *record); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		if errors.Is(err, qemu.ErrNoQEMU) {
			os.Exit(3)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, wanted []string, record bool) error {
	before, err := readHistory(historyFile)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	built := images{guest: filepath.Join(dir, "guest.elf"), node: filepath.Join(dir, "node.elf")}
	for out, pkg := range map[string]string{
		built.guest: "./internal/bench/guest", built.node: "./kernel/image",
	} {
		if err := imagebuild.Build(pkg, out, "-tags", "nethttpomithttp2"); err != nil {
			return err
		}
	}
	t := newTable()
	for _, p := range parts {
		if !slices.Contains(wanted, p.name) {
			continue
		}
		if err := p.measure(ctx, t, built); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	t.print(os.Stdout, before)
	if !record {
		return nil
	}
	commit, err := currentCommit(ctx)
	if err != nil {
		return err
	}
	return appendHistory(historyFile, t.entries(time.Now(), commit))
}

func sizes(_ context.Context, t *table, built images) error {
	for row, file := range map[string]string{sizeGuest: built.guest, sizeNode: built.node} {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		t.set(row, float64(info.Size())/1e6)
	}
	return nil
}

// wall fills the rows that depend on the host.
func wall(ctx context.Context, t *table, built images) error {
	if err := timed(ctx, t, built); err != nil {
		return err
	}
	return meshTimed(ctx, t, built)
}
