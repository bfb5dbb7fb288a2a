//go:build !arm

package caam

import (
	"errors"
	"testing"
	"time"

	"holdfast/board/mmio"
)

const base = 0x02140000

// model is the module: each collection takes some reads of the status and ends with the last word.
type model struct {
	t           *testing.T
	regs        map[uint32]uint32
	left        int
	collections uint32
	dead, bad   bool
	constant    bool
}

func (m *model) ReadRegister(offset uint32, _ int) uint32 {
	switch {
	case offset == rtmctl:
		switch m.left--; {
		case m.bad:
			return rtmctlError
		case !m.dead && m.left <= 0 && m.regs[rtmctl] == rtmctlAccess:
			return m.regs[rtmctl] | rtmctlValid
		}
		return m.regs[rtmctl]
	case offset >= rtent && offset < rtent+4*words:
		if m.left > 0 {
			m.t.Error("a word is read before it is valid")
		}
		if m.constant {
			return 0x55555555
		}
		n := (offset - rtent) / 4
		v := m.collections<<8 | n
		if n == words-1 {
			m.left, m.collections = 4, m.collections+1
		}
		return v
	}
	m.t.Errorf("register %#x is read", offset)
	return 0
}

func (m *model) WriteRegister(offset uint32, _ int, v uint32) {
	if offset != rtmctl && m.regs[rtmctl]&rtmctlProgram == 0 {
		m.t.Errorf("register %#x is written while it runs", offset)
	}
	m.regs[offset] = v
	m.left = 4
}

func open(t *testing.T, m *model) Block {
	m.t, m.regs = t, map[uint32]uint32{}
	t.Cleanup(mmio.Install(base, 0x10000, m))
	now := time.Duration(0)
	b := Block{base, func() time.Duration { now += time.Millisecond; return now }}
	b.Init()
	return b
}

func TestEveryCollectionIsReadOnce(t *testing.T) {
	m := &model{}
	b := open(t, m)
	if m.regs[rtsdctl] != 12_000<<16|512 || m.regs[rtfrqmin] != 3_000 {
		t.Errorf("RTSDCTL %#x, RTFRQMIN %d", m.regs[rtsdctl], m.regs[rtfrqmin])
	}
	got := make([]byte, 4*words+5)
	if err := b.Read(got); err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]byte{0: 0, 4: 1, 1: 0, 60: 15, 64: 0, 65: 1, 68: 1} {
		if got[i] != want {
			t.Errorf("byte %d is %d, want %d: %x", i, got[i], want, got)
		}
	}
	if m.collections != 2 {
		t.Errorf("%d collections", m.collections)
	}
}

func TestABrokenModuleGivesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		model model
		want  error
	}{
		"nothing comes, as in QEMU": {model{dead: true}, ErrTimeout},
		"tests fail":                {model{bad: true}, ErrBroken},
		"always the same":           {model{constant: true}, ErrStuck},
	} {
		t.Run(name, func(t *testing.T) {
			if err := open(t, &c.model).Read(make([]byte, 4)); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}
