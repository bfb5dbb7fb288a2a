package ds1338_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/board"
	"holdfast/internal/imagebuild/imagetest"
	"holdfast/qemu"
)

// limit ends a guest that hangs; each needs a few seconds.
const limit = time.Minute

// base is what the clock shows when the machine starts.
var base = time.Date(2026, time.November, 30, 2, 52, 0, 0, time.UTC)

func TestTheDriverReadsAndSetsTheClockOfTheMachine(t *testing.T) {
	image := imagetest.Build(t, "./internal/guest")
	for _, icount := range []string{"", "shift=0"} {
		lines, err := qemu.Run(t.Context(), qemu.Machine{
			Image: image, Clock: &qemu.Clock{Base: base}, ICount: icount, Limit: limit,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"carried: 2032-01-01T00:00:00Z", "noon: 0x12"} {
			if !slices.Contains(lines, want) {
				t.Errorf("does not say %q but\n%s", want, strings.Join(lines, "\n"))
			}
		}
		for _, line := range lines {
			if text, ok := strings.CutPrefix(line, "time: "); ok {
				at, err := time.Parse(time.RFC3339, text)
				if err != nil || at.Before(base) || at.After(base.Add(limit)) {
					t.Errorf("%q, the machine started at %v", line, base)
				}
			}
			if strings.HasPrefix(line, "figure: ") {
				t.Logf("icount %q: %s", icount, line)
			}
		}
	}
}

func TestAMachineWithoutTheClockSaysSo(t *testing.T) {
	image := imagetest.Build(t, "./internal/guest")
	lines, err := qemu.Run(t.Context(), qemu.Machine{Image: image, Limit: limit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "no clock: ds1338: reading the time: i2c: address 0x68: " +
		"no acknowledge from the address"
	if !slices.Contains(lines, want) {
		t.Errorf("does not say %q but\n%s", want, strings.Join(lines, "\n"))
	}
}

// TestTheClockGoesOnWhileTheMachineIsStopped is what a second clock is for: QEMU's monitor stops
// the machine, and its counter stands still.
func TestTheClockGoesOnWhileTheMachineIsStopped(t *testing.T) {
	const stopped = 4 * time.Second
	ticks := make(chan reading, 64)
	p, err := qemu.Start(t.Context(), qemu.Machine{
		Image: imagetest.Build(t, "./internal/guest"),
		Clock: new(qemu.Clock), Limit: limit, Dir: t.TempDir(),
		Loads: []qemu.Load{{Addr: board.BootPage, Data: []byte("-tick\n")}},
		OnLine: func(_ time.Time, line string) {
			var r reading
			if n, _ := fmt.Sscanf(line, "second: %d counter_ms: %d", &r.second, &r.ms); n == 2 {
				ticks <- r
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	next := func() reading {
		select {
		case r := <-ticks:
			return r
		case <-p.Done():
			t.Fatalf("QEMU ended: %v", p.Wait())
		case <-ctx.Done():
			t.Fatal("the clock does not tick")
		}
		panic("unreachable")
	}
	before := next()
	if err := p.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	<-time.After(stopped) // the fault itself, not a wait for something
	if err := p.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	after := next()
	for after.second < before.second+int64(stopped/time.Second) {
		after = next() // printed before the stop, and only read now
	}
	byClock := time.Duration(after.second-before.second) * time.Second
	byCounter := time.Duration(after.ms-before.ms) * time.Millisecond
	if apart := byClock - byCounter; apart < stopped-time.Second || apart > stopped+time.Minute {
		t.Errorf("stopped for %v: the clock moved by %v, the counter by %v", stopped, byClock, byCounter)
	}
	t.Logf("stopped for %v: the clock moved by %v, the counter by %v", stopped, byClock, byCounter)
}

// reading is both clocks of the guest.
type reading struct{ second, ms int64 }
