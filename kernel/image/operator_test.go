package main_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/qemu"
)

// types types on the console.
func (b *booted) types(keys string) {
	b.t.Helper()
	if _, err := b.p.Write([]byte(keys)); err != nil {
		b.t.Fatal(err)
	}
}

// awaitText waits for a line of the console that begins in this way and returns it.
func (b *booted) awaitText(beginning string) string {
	b.t.Helper()
	deadline := time.After(limit)
	for {
		for _, line := range b.said() {
			if strings.HasPrefix(line, beginning) {
				return line
			}
		}
		select {
		case <-b.more:
		case <-deadline:
			b.t.Fatalf("no line %q:\n%s", beginning, strings.Join(b.said(), "\n"))
		case <-b.p.Done():
			b.t.Fatalf("QEMU ended (%v) before a line %q:\n%s", b.p.Wait(), beginning,
				strings.Join(b.said(), "\n"))
		}
	}
}

// hasSaid reports whether a line begins in this way.
func (b *booted) hasSaid(beginning string) bool {
	return slices.ContainsFunc(b.said(), func(line string) bool {
		return strings.HasPrefix(line, beginning)
	})
}

func TestAnOperatorTypesCommands(t *testing.T) {
	file, _ := rootChip(t)
	n := boot(t, qemu.Machine{Image: build(t), NVRAM: file})
	n.await("mesh-view", "installed")
	n.types("mesg\x08h\r")
	n.awaitText("> mesh")
	n.awaitText("  node id=")
	n.types("threads\r")
	n.awaitText("  thread 1 ")
	n.types("env set mesh.lab=1\r")
	n.awaitText("  env: stored in copy ")
	n.types("reboot\r")
	n.awaitText("  rebooting")
	n.awaitNth(2, "mesh-node", "start")
	n.types("env get mesh.lab\r")
	n.awaitText("  mesh.lab=1")
	n.types("poweroff\r")
	if exit := n.p.Wait(); exit.Shutdown != "guest-shutdown" || exit.Lost != 0 {
		t.Error(exit)
	}
}

// A flood of keys comes as fast as QEMU lets it while the node serves: no line of evidence breaks,
// no request fails, and the loop is not held up.
func TestAFloodOfKeysBreaksNothing(t *testing.T) {
	const flood = 24 << 10 // more than the kernel holds, less than the socket to QEMU does
	file, _ := rootChip(t)
	n := boot(t, qemu.Machine{Image: build(t), NVRAM: file})
	n.await("mesh-view", "installed")
	n.get("/mesh")
	typing := make(chan error, 1)
	go func() {
		_, err := n.p.Write([]byte(strings.Repeat(
			strings.Repeat("x\x7f", 500)+"nonsense\rlog 5\rmem\r", flood/1024)))
		typing <- err
	}()
	if err := <-typing; err != nil {
		t.Fatal(err)
	}
	n.types("end\r")
	for !n.hasSaid("> end") {
		n.get("/mesh")
		n.get("/mesh/log")
	}
	if n.p.Lost() != 0 {
		t.Errorf("%d bytes of the console were lost", n.p.Lost())
	}
	rows := 0
	for _, text := range n.said() {
		switch _, err := evidence.Parse(text); {
		case err == nil:
			rows++
		case strings.HasPrefix(text, "mesh-") || strings.Contains(text, "> mesh-"):
			t.Errorf("broken: %q: %v", text, err)
		}
	}
	if all := n.get("/mesh/log"); strings.Count(all, "\n") != rows {
		t.Errorf("%d lines of evidence on the console, %d in the log", rows, strings.Count(all, "\n"))
	}
}
