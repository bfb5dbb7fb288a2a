package kernel_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"holdfast/board"
	"holdfast/qemu"
)

const (
	// maskedMax is the longest that interrupts may be masked: 50 us at 528 MHz, an instruction a
	// cycle.
	maskedMax = 26_400

	instructionsPerTick = 16

	// around is what the vectors execute before the counter is first read, and after its last
	// reading, and the tick that a difference of readings can miss.
	around = 120
)

// TestInterruptsAreNeverMaskedForLong has the kernel measure itself while the selftest does what it
// can: hundreds of megabytes through the heap, mappings, faults, threads, floods of signals.
// Instructions are counted by QEMU: the figure is the same on every host.
func TestInterruptsAreNeverMaskedForLong(t *testing.T) {
	t.Parallel()
	m := machine(t, "selftest", "-verbose", "measure=1", "ram=128", "WORD=two words")
	m.RAM, m.ICount = "512M", "shift=0"
	m.Loads = append(m.Loads, qemu.Load{Addr: board.SeedPage, Data: []byte(selftestSeed)})
	lines, shutdown := run(t, m)
	console := strings.Join(lines, "\n")
	found := regexp.MustCompile(`selftest: masked ticks=(\d+) cause=(\d+) call=(\d+)`).
		FindStringSubmatch(console)
	if shutdown != poweredOff || found == nil {
		t.Fatalf("%s; console:\n%s", shutdown, console)
	}
	ticks, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d instructions, cause %s, call %s", ticks*instructionsPerTick, found[2], found[3])
	if ticks*instructionsPerTick+around > maskedMax {
		t.Errorf("masked for %d instructions by cause %s, call %s", ticks*instructionsPerTick, found[2],
			found[3])
	}
}
