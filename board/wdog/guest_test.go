package wdog_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/board"
	"holdfast/internal/imagebuild/imagetest"
	"holdfast/qemu"
)

// limit ends a guest that is not reset. It is less than the longest time of the watchdog.
const limit = time.Minute

// TestTheBoardIsResetByAWatchdogThatStarvesAndByAPanic runs both guests until the reset, which ends
// QEMU here [QEMU].
func TestTheBoardIsResetByAWatchdogThatStarvesAndByAPanic(t *testing.T) {
	image := imagetest.Build(t, "./internal/guest")
	for _, test := range []struct {
		name, argument, line string
	}{
		{"a watchdog that starves", "\n", "fed for 4 s"},
		{"a panic under a patient watchdog", "-panic\n", "panic: on purpose"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var mu sync.Mutex
			var lines, events []string
			note := func(to *[]string, what string) {
				mu.Lock()
				defer mu.Unlock()
				*to = append(*to, what)
			}
			p, err := qemu.Start(t.Context(), qemu.Machine{
				Image: image, NoReboot: true, Limit: limit, Dir: t.TempDir(),
				Loads:   []qemu.Load{{Addr: board.BootPage, Data: []byte(test.argument)}},
				OnLine:  func(_ time.Time, line string) { note(&lines, line) },
				OnEvent: func(_ time.Time, name string, _ json.RawMessage) { note(&events, name) },
			})
			if err != nil {
				t.Fatal(err)
			}
			exit := p.Wait() // the callbacks end with it
			if exit.Shutdown != "guest-reset" || !slices.Contains(events, "WATCHDOG") {
				t.Errorf("%v with the events %q, want a reset by the watchdog", exit, events)
			}
			if !slices.Contains(lines, test.line) {
				t.Errorf("does not say %q but\n%s", test.line, strings.Join(lines, "\n"))
			}
		})
	}
}
