//go:build !arm

package wdog

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/board/mmio"
)

type recorder struct{ log []string }

func (r *recorder) ReadRegister(uint32, int) uint32 { panic("wdog: nothing needs reading") }

func (r *recorder) WriteRegister(offset uint32, width int, v uint32) {
	if width != 2 {
		panic("wdog: the registers are 16 bits wide")
	}
	r.log = append(r.log, fmt.Sprintf("%x=%04x", offset, v))
}

func install(t *testing.T) (*recorder, Watchdog) {
	r := new(recorder)
	t.Cleanup(mmio.Install(0x020bc000, 0x4000, r))
	return r, 0x020bc000
}

func TestStartWritesTheControlRegisterOnce(t *testing.T) {
	for _, tt := range []struct {
		halfSeconds int
		want        string
	}{
		{1, "8=0000 0=0037 2=5555 2=aaaa"},
		{4, "8=0000 0=0337 2=5555 2=aaaa"},
		{TimeoutMax, "8=0000 0=ff37 2=5555 2=aaaa"},
	} {
		t.Run(fmt.Sprint(tt.halfSeconds), func(t *testing.T) {
			r, w := install(t)
			w.Start(tt.halfSeconds)
			if got := strings.Join(r.log, " "); got != tt.want {
				t.Errorf("writes %s, want %s", got, tt.want)
			}
		})
	}
}

func TestStartRefusesATimeoutThatDoesNotFit(t *testing.T) {
	for _, n := range []int{0, -1, TimeoutMax + 1} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r, w := install(t)
			defer func() {
				if recover() == nil || len(r.log) != 0 {
					t.Errorf("accepted, writes %s", r.log)
				}
			}()
			w.Start(n)
		})
	}
}

func TestTheStatusTellsATimeoutFromAReset(t *testing.T) {
	const base = 0x020bc000
	for status, want := range map[uint16][2]bool{
		0: {}, 0x10: {}, 1: {false, true}, 2: {true, false}, 0x12: {true, false},
	} {
		remove := mmio.InstallMemory(base, make([]byte, 16))
		mmio.W16(base+wrsr, status)
		timeout, software := Watchdog(base).LastReset()
		if got := [2]bool{timeout, software}; got != want {
			t.Errorf("WRSR %#x: timeout and software %v, want %v", status, got, want)
		}
		remove()
	}
}

func TestResetClearsTheSoftwareResetBit(t *testing.T) {
	r, w := install(t)
	w.Reset()
	if got := strings.Join(r.log, " "); got != "0=0004 0=0004 0=0004" {
		t.Errorf("writes %s", got)
	}
}
