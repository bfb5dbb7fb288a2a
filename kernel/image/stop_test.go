package main_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/nvram"
	"holdfast/qemu"
)

// Two ways to stop a machine [QEMU]. To its monitor's stop the counter stands still, which the
// second clock unmasks; a stopped process is a machine whose counter jumps when it goes on, and
// whose watchdog then is hungry.

// memberChip is a file with the NVRAM of a member whose authority is out of reach.
func memberChip(t *testing.T) string {
	t.Helper()
	root := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	env, err := nvram.NewEnvironment("mesh.peer=10.0.2.99:7070",
		"mesh.root="+base64.RawURLEncoding.EncodeToString(root))
	if err != nil {
		t.Fatal(err)
	}
	chip, err := nvram.Provision{
		Environment: env, Identity: &nvram.Identity{Seed: nvram.Secret{3}}, Entropy: &nvram.Secret{4},
	}.Image()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "member")
	if err := os.WriteFile(file, chip, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// uptime is the node's own, in milliseconds.
func (b *booted) uptime() int {
	b.t.Helper()
	for line := range strings.Lines(b.get("/mesh/stats")) {
		if text, ok := strings.CutPrefix(line, "now_ms="); ok {
			ms, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				b.t.Fatal(err)
			}
			return ms
		}
	}
	b.t.Fatal("no now_ms")
	return 0
}

func TestTheSecondClockUnmasksAMachineThatItsMonitorStopped(t *testing.T) {
	file, _ := rootChip(t)
	n := boot(t, qemu.Machine{Image: build(t), NVRAM: file, Clock: new(qemu.Clock)})
	n.await("mesh-view", "installed")
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := n.p.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	<-time.After(4 * time.Second) // the fault itself
	if err := n.p.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	row := n.await("mesh-fail", "paused")
	if ms, ok := row.GetSpan("ms"); !hasField(row, "kind", "rtc") || !ok || ms < 3000 {
		t.Errorf("%q", row)
	}
}

func TestAMemberThatWasStalledIsResetByItsWatchdog(t *testing.T) {
	const dog = 3 * time.Second
	resets := make(chan struct{}, 8)
	n := boot(t, qemu.Machine{
		Image: build(t), NVRAM: memberChip(t), Clock: new(qemu.Clock),
		OnEvent: func(_ time.Time, name string, _ json.RawMessage) {
			if name == "WATCHDOG" {
				resets <- struct{}{}
			}
		},
	})
	n.await("mesh-node", "start")
	for n.uptime() < 3*int(dog.Milliseconds()) { // it is fed
		<-time.After(100 * time.Millisecond)
	}
	if len(resets) != 0 {
		t.Fatal("reset without a reason")
	}
	if err := n.p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-time.After(dog + time.Second) // the fault itself
	if err := n.p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-resets:
	case <-n.p.Done():
		t.Fatalf("QEMU ended: %v", n.p.Wait())
	}
	n.awaitNth(2, "mesh-node", "start")
}
