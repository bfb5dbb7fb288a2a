// Bench prints the figures that the README quotes, beside those of the peer: TamaGo with imx-enet
// and gVisor, measured in the same way on the same kind of machine.
//
// Instructions are exact and repeatable: QEMU's -icount shift=0 makes one instruction one
// nanosecond of guest time, whatever the host does. They are counted from the kernel's first
// instruction, less the time that the guest waited for an interrupt. Wall-clock figures depend on
// the host; they are for orientation.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"holdfast/internal/imagebuild"
	"holdfast/qemu"
)

const (
	ram       = "128M"
	limit     = 2 * time.Minute // for one machine
	requests  = 400
	transfer  = 8 << 20 // bytes each way
	firstRuns = 5
	idleTime  = 10 * time.Second
)

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "usage: bench")
		os.Exit(64)
	}
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		if errors.Is(err, qemu.ErrNoQEMU) {
			os.Exit(3)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	guest, node := filepath.Join(dir, "guest.elf"), filepath.Join(dir, "node.elf")
	for out, pkg := range map[string]string{guest: "./internal/bench/guest", node: "./kernel/image"} {
		if err := imagebuild.Build(pkg, out, "-tags", "nethttpomithttp2"); err != nil {
			return err
		}
	}
	t := newTable()
	if err := counted(ctx, t, guest); err != nil {
		return fmt.Errorf("counted: %w", err)
	}
	if err := timed(ctx, t, guest); err != nil {
		return fmt.Errorf("timed: %w", err)
	}
	if err := sizes(t, guest, node); err != nil {
		return err
	}
	t.print(os.Stdout)
	return nil
}

func sizes(t *table, guest, node string) error {
	for row, file := range map[string]string{sizeGuest: guest, sizeNode: node} {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		t.set(row, float64(info.Size())/1e6)
	}
	return nil
}
