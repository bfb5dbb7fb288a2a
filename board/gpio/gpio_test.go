//go:build !arm

package gpio

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/board/mmio"
)

type recorder struct {
	regs map[uint32]uint32
	log  []string
}

func (r *recorder) ReadRegister(offset uint32, _ int) uint32 { return r.regs[offset] }

func (r *recorder) WriteRegister(offset uint32, _ int, v uint32) {
	r.regs[offset] = v
	r.log = append(r.log, fmt.Sprintf("%x=%x", offset, v))
}

func TestTheLevelStandsBeforeTheLineIsAnOutput(t *testing.T) {
	const base = 0x020ac000
	r := &recorder{regs: map[uint32]uint32{dr: 0x101, gdir: 1}}
	defer mmio.Install(base, 0x4000, r)()
	Port(base).Drive(31, true)
	Port(base).Drive(8, false)
	want := "0=80000101 4=80000001 0=80000001 4=80000101"
	if got := strings.Join(r.log, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAReleasedLineIsRead(t *testing.T) {
	const base = 0x0209c000
	r := &recorder{regs: map[uint32]uint32{gdir: 3 << 28, psr: 1 << 29}}
	defer mmio.Install(base, 0x4000, r)()
	Port(base).Release(29)
	if r.regs[gdir] != 1<<28 {
		t.Errorf("GDIR = %#x", r.regs[gdir])
	}
	if Port(base).Level(28) || !Port(base).Level(29) {
		t.Error("another level was read")
	}
}

func TestALineThatThereIsNotPanics(t *testing.T) {
	for _, line := range []int{-1, 32} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("line %d is driven", line)
				}
			}()
			Port(0).Release(line)
		}()
	}
}
