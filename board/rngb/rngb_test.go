//go:build !arm

package rngb

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"holdfast/board/mmio"
)

const base = 0x02284000

// model is the generator: it takes some reads of its status for each step, and hands out words that
// count up.
type model struct {
	t        *testing.T
	commands []uint32
	control  uint32
	status   uint32
	done     uint32 // what a step ends with
	left     int    // reads until then
	failed   uint32 // self-tests
	stuck    uint32 // the step, by its command, that never ends
	broken   uint32 // the step that ends with an error
	word     byte
}

func (m *model) ReadRegister(offset uint32, _ int) uint32 {
	switch offset {
	case sr:
		if m.left--; m.left == 0 {
			m.status |= m.done
		}
		return m.status
	case out:
		if m.status&srLevel == 0 {
			m.t.Error("the FIFO is read while it is empty")
		}
		m.status &^= srLevel
		m.done, m.left = 1<<8, 3
		m.word += 4
		w := uint32(m.word)
		return w - 4 | (w-3)<<8 | (w-2)<<16 | (w-1)<<24
	}
	m.t.Errorf("register %#x is read", offset)
	return 0
}

func (m *model) WriteRegister(offset uint32, _ int, v uint32) {
	if offset == cr {
		m.control = v
		return
	}
	m.commands = append(m.commands, v)
	steps := map[uint32]uint32{cmdSelfTest: srSelfTest | m.failed, cmdSeed: srSeeded | 1<<8}
	if end, ok := steps[v]; ok && v != m.stuck {
		m.done, m.left = end, 5
		if v == m.broken {
			m.done = srError
		}
	}
}

// open is the generator with a clock of a millisecond a look.
func open(t *testing.T, m *model) Block {
	m.t = t
	t.Cleanup(mmio.Install(base, 0x4000, m))
	now := time.Duration(0)
	return Block{base, func() time.Duration { now += time.Millisecond; return now }}
}

func TestItIsTestedSeededAndRead(t *testing.T) {
	m := &model{}
	b := open(t, m)
	if err := b.Init(); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 11)
	if err := b.Read(got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
		t.Errorf("%x", got)
	}
	want := []uint32{cmdReset, cmdClearError, cmdSelfTest, cmdClearInterrupt, cmdSeed,
		cmdClearInterrupt}
	if len(m.commands) != len(want) {
		t.Fatalf("commands %x, want %x", m.commands, want)
	}
	for i := range want {
		if m.commands[i] != want[i] {
			t.Errorf("commands %x, want %x", m.commands, want)
		}
	}
	if m.control&crAutoSeed == 0 {
		t.Errorf("it will not be seeded again: CR %#x", m.control)
	}
}

func TestABrokenGeneratorGivesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		model model
		want  error
	}{
		"self-test fails":      {model{failed: 1 << 21}, ErrSelfTest},
		"last self-test fails": {model{failed: 1 << 30}, ErrSelfTest},
		"self-test hangs":      {model{stuck: cmdSelfTest}, ErrTimeout},
		"seeding hangs":        {model{stuck: cmdSeed}, ErrTimeout},
		"seeding breaks":       {model{broken: cmdSeed}, ErrBroken},
	} {
		t.Run(name, func(t *testing.T) {
			if err := open(t, &c.model).Init(); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
	t.Run("the FIFO stays empty", func(t *testing.T) {
		if err := open(t, &model{}).Read(make([]byte, 4)); !errors.Is(err, ErrTimeout) {
			t.Errorf("%v", err)
		}
	})
}
