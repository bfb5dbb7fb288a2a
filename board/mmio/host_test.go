//go:build !arm

package mmio

import (
	"fmt"
	"strings"
	"testing"
)

// recorder is a device that remembers the accesses made to it.
type recorder struct{ log []string }

func (r *recorder) ReadRegister(offset uint32, width int) uint32 {
	r.log = append(r.log, fmt.Sprintf("r%d %#x", width*8, offset))
	return 0xa5a5f00d
}

func (r *recorder) WriteRegister(offset uint32, width int, v uint32) {
	r.log = append(r.log, fmt.Sprintf("w%d %#x %#x", width*8, offset, v))
}

func TestAccessesReachTheDeviceWithTheirOffsetAndWidth(t *testing.T) {
	r := new(recorder)
	defer Install(0x1000, 0x100, r)()
	if v := R32(0x1000); v != 0xa5a5f00d {
		t.Errorf("R32 = %#x", v)
	}
	if v := R16(0x10fe); v != 0xf00d {
		t.Errorf("R16 = %#x", v)
	}
	W32(0x10fc, 7)
	W16(0x1002, 0xffff)
	SetBits32(0x1010, 2)
	ClearBits32(0x1010, 0x0d)
	want := "r32 0x0, r16 0xfe, w32 0xfc 0x7, w16 0x2 0xffff, " +
		"r32 0x10, w32 0x10 0xa5a5f00f, r32 0x10, w32 0x10 0xa5a5f000"
	if got := strings.Join(r.log, ", "); got != want {
		t.Errorf("accesses\n got %s\nwant %s", got, want)
	}
}

func TestMemoryIsLittleEndianAndSharedWithItsViews(t *testing.T) {
	defer InstallMemory(0x80100000, make([]byte, 64))()
	W32(0x80100004, 0x04030201)
	b := Bytes(0x80100004, 4)
	if string(b) != "\x01\x02\x03\x04" {
		t.Errorf("bytes %x", b)
	}
	b[3] = 0xff
	if v := R16(0x80100006); v != 0xff03 {
		t.Errorf("R16 = %#x", v)
	}
	if cap(b) != 4 {
		t.Errorf("the view reaches beyond itself: cap %d", cap(b))
	}
}

func TestABadAccessPanics(t *testing.T) {
	defer Install(0x1000, 0x100, new(recorder))()
	defer InstallMemory(0x2000, make([]byte, 16))()
	for name, access := range map[string]func(){
		"below":            func() { R32(0xffc) },
		"behind":           func() { W32(0x1100, 0) },
		"unaligned word":   func() { R32(0x1002) },
		"unaligned half":   func() { W16(0x1001, 0) },
		"bytes too long":   func() { Bytes(0x2008, 9) },
		"bytes of devices": func() { Bytes(0x1000, 4) },
		"overlap":          func() { Install(0x10ff, 4, new(recorder)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if s, _ := recover().(string); !strings.HasPrefix(s, "mmio: ") {
					t.Errorf("panic %q", s)
				}
			}()
			access()
		})
	}
}

func TestARemovedDeviceIsGone(t *testing.T) {
	remove := Install(0x1000, 0x100, new(recorder))
	R32(0x1000)
	remove()
	defer func() {
		if recover() == nil {
			t.Error("the device still answers")
		}
	}()
	R32(0x1000)
}
