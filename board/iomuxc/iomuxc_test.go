//go:build !arm

package iomuxc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/board/mmio"
)

// recorder notes what is written.
type recorder struct{ log []string }

func (r *recorder) ReadRegister(uint32, int) uint32 { panic("iomuxc: nothing needs reading") }

func (r *recorder) WriteRegister(offset uint32, width int, v uint32) {
	if width != 4 {
		panic("iomuxc: the registers are 32 bits wide")
	}
	r.log = append(r.log, fmt.Sprintf("%03x=%x", offset, v))
}

func written(f func(base uint32)) []string {
	const base = 0x020e0000
	r := new(recorder)
	defer mmio.Install(base, 0x4000, r)()
	f(base)
	return r.log
}

func TestThePadsGetTheFunctionsOfTheBoard(t *testing.T) {
	for name, c := range map[string]struct {
		connect func(base uint32)
		want    string
	}{
		"UART1": {func(b uint32) { Block(b).ConnectUART1() },
			"084=0 310=1b0b1 088=0 624=3 314=1b0b1"},
		"I2C1": {func(b uint32) { Block(b).ConnectI2C1() },
			"0b4=12 5a4=1 340=1b8b0 0b8=12 5a8=2 344=1b8b0"},
		"I2C2": {func(b uint32) { Block(b).ConnectI2C2() },
			"0bc=12 5ac=2 348=1b8b0 0c0=12 5b0=2 34c=1b8b0"},
		"I2C1, lent": {func(b uint32) { Block(b).LendI2C1() },
			"0b4=15 340=1b8b0 0b8=15 344=1b8b0"},
		"I2C2, lent": {func(b uint32) { Block(b).LendI2C2() },
			"0bc=15 348=1b8b0 0c0=15 34c=1b8b0"},
		"expander of the 6ULL": {func(b uint32) { SNVS(b).ConnectExpander() },
			"000=5 044=70a1 004=5 048=70a1 024=5 068=70a1 028=5 06c=70a1"},
		"expander of the 6UL": {func(b uint32) { Block(b).ConnectExpander() },
			"014=5 2a0=70a1 018=5 2a4=70a1 038=5 2c4=70a1 03c=5 2c8=70a1"},
	} {
		if got := strings.Join(written(c.connect), " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestRMIIHasItsTenPads relies on what the manual's tables have in common: the control register of
// a pad stands at the same distance from the first one as its function's.
func TestRMIIHasItsTenPads(t *testing.T) {
	got := written(func(b uint32) { Block(b).ConnectENET1() })
	for _, want := range []string{"0dc=14", "574=2", "368=1b031", "578=0"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	pads := 0
	for mux := 0x44; mux < 0x2d0; mux += 4 {
		has := func(offset int) bool {
			return slices.ContainsFunc(got, func(w string) bool {
				return strings.HasPrefix(w, fmt.Sprintf("%03x=", offset))
			})
		}
		if has(mux) != has(mux+0x28c) {
			t.Errorf("pad %#x has a function or a control value, and not both", mux)
		}
		if has(mux) {
			pads++
		}
	}
	if pads != 10 {
		t.Errorf("%d pads, want 10", pads)
	}
}

func TestTheReferenceClockGoesOut(t *testing.T) {
	const base = 0x020e4000
	defer mmio.InstallMemory(base, make([]byte, 0x4000))()
	mmio.W32(base+gpr1, 1<<13|1<<14|0xf)
	GPR(base).DriveENET1Clock()
	if v := mmio.R32(base + gpr1); v != 1<<17|1<<14|0xf {
		t.Errorf("GPR1 = %#x", v)
	}
}
