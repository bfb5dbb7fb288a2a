package at24c_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/board"
	"holdfast/internal/imagebuild/imagetest"
	"holdfast/nvram"
	"holdfast/qemu"
)

// limit ends a guest that hangs; each needs about a second.
const limit = time.Minute

// eeprom makes the file of a provisioned EEPROM: no boot counted, entropy that begins with 100.
func eeprom(t *testing.T) (path string) {
	t.Helper()
	environment, err := nvram.NewEnvironment("net.ip=10.7.0.10/24")
	if err != nil {
		t.Fatal(err)
	}
	image, err := nvram.Provision{
		Environment: environment,
		Identity:    &nvram.Identity{Seed: nvram.Secret{1}},
		Entropy:     &nvram.Secret{100},
	}.Image()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "eeprom")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read opens the store in an EEPROM file.
func read(t *testing.T, path string) *nvram.Store {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	store, err := nvram.Open(nvram.Memory(content))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestEveryBootFindsWhatTheOneBeforeItStored boots the guest three times on one EEPROM [QEMU].
func TestEveryBootFindsWhatTheOneBeforeItStored(t *testing.T) {
	image, path := imagetest.Build(t, "./internal/guest"), eeprom(t)
	for boot, want := range [][]string{
		{"last byte: 0xff", "environment: copy=a seq=1 bytes=21", "boots: 1", "entropy: 100"},
		{"last byte: 0x00", "environment: copy=b seq=2 bytes=29", "environment: boots=1",
			"boots: 2", "entropy: 101"},
		{"last byte: 0x01", "environment: copy=a seq=3 bytes=29", "environment: boots=2",
			"boots: 3", "entropy: 102"},
	} {
		want = append(want, "absent: no acknowledge", "pages: read back",
			"environment: net.ip=10.7.0.10/24")
		machine := qemu.Machine{Image: image, NVRAM: path, Limit: limit}
		lines, err := qemu.Run(t.Context(), machine, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range want {
			if !slices.Contains(lines, line) {
				t.Errorf("boot %d does not say %q but\n%s", boot+1, line, strings.Join(lines, "\n"))
			}
		}
		for _, line := range lines {
			if strings.HasPrefix(line, "figure: ") {
				t.Log(line)
			}
		}
	}
	store := read(t, path)
	want := nvram.Identity{Seed: nvram.Secret{1}, Boots: 3}
	if id, err := store.LoadIdentity(); err != nil || id != want {
		t.Errorf("the host reads boot %d, %v", id.Boots, err)
	}
	if seed, err := store.LoadEntropy(); err != nil || seed[0] != 103 {
		t.Errorf("the host reads entropy %d, %v", seed[0], err)
	}
}

// TestWhatTheGuestCallsStoredSurvivesTheKill kills QEMU while the guest writes record after record
// [QEMU]: on the chip are then the last count that the guest printed, or the one that it was about
// to print.
func TestWhatTheGuestCallsStoredSurvivesTheKill(t *testing.T) {
	image, path := imagetest.Build(t, "./internal/guest"), eeprom(t)
	stored := uint64(0)
	for _, more := range []uint64{1, 2, 7, 40} {
		printed, reached := stored, make(chan struct{})
		reach := sync.OnceFunc(func() { close(reached) })
		p, err := qemu.Start(t.Context(), qemu.Machine{
			Image: image, NVRAM: path, Limit: limit, Dir: t.TempDir(),
			Loads: []qemu.Load{{Addr: board.BootPage, Data: []byte("-count\n")}},
			OnLine: func(_ time.Time, line string) {
				var n uint64
				if _, err := fmt.Sscanf(line, "counted: %d", &n); err != nil {
					return
				}
				if n != printed+1 {
					t.Errorf("counts %d after %d", n, printed)
				}
				if printed = n; n >= stored+more {
					reach()
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-reached:
			p.Kill()
		case <-p.Done():
			t.Fatalf("the guest ended by itself: %v", p.Wait())
		}
		// The callback has ended with the process, so that printed is the last count.
		id, err := read(t, path).LoadIdentity()
		if err != nil || id.Boots != printed && id.Boots != printed+1 {
			t.Fatalf("%d printed, %d stored, %v", printed, id.Boots, err)
		}
		stored = id.Boots
	}
}
