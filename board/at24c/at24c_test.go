package at24c

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const size = 8192

var (
	errNoAnswer = errors.New("no acknowledge")
	errBus      = errors.New("bus is down")
)

// chip is a simulated 24C64 with its bus. It behaves as the data sheet has it: a write wraps around
// in its page, and the chip is deaf while it stores.
type chip struct {
	cells   []byte
	pointer int
	deaf    int // transactions that it does not answer from now on
	cycle   int // transactions that it does not answer after a write
	breaks  int // this write of a page fails, counted from 1
	writes  int
	log     []string
	clock   time.Duration
}

func newChip() *chip {
	c := &chip{cells: make([]byte, size), cycle: 3}
	for i := range c.cells {
		c.cells[i] = byte(i*7 + i>>8)
	}
	return c
}

// now moves by 100 us with every look.
func (c *chip) now() time.Duration { c.clock += 100 * time.Microsecond; return c.clock }

func (c *chip) Tx(address uint8, w, r []byte) error {
	if address != 0x50 {
		return errNoAnswer
	}
	if c.deaf > 0 {
		c.deaf--
		return errNoAnswer
	}
	c.log = append(c.log, fmt.Sprintf("%d/%d", len(w), len(r)))
	if len(w) >= 2 {
		c.pointer = (int(w[0])<<8 | int(w[1])) % size
		if data := w[2:]; len(data) > 0 {
			if c.writes++; c.writes == c.breaks {
				return errBus
			}
			c.store(data)
		}
	}
	for i := range r {
		r[i] = c.cells[c.pointer]
		c.pointer = (c.pointer + 1) % size
	}
	return nil
}

func (c *chip) store(data []byte) {
	page := c.pointer - c.pointer%32
	for i, v := range data {
		c.cells[page+(c.pointer+i)%32] = v
	}
	c.deaf = c.cycle
}

func openChip(t *testing.T, c *chip) *Device {
	t.Helper()
	d, err := Open(c, 0x50, size, c.now)
	if err != nil {
		t.Fatal(err)
	}
	c.log = nil
	return d
}

func TestAWriteIsSplitAtPagesAndWaitedFor(t *testing.T) {
	for _, test := range []struct {
		off, n int
		want   string // bytes sent and received of every transaction that the chip answers
	}{
		{0, 0, ""},
		{0, 1, "3/0 0/0"},
		{0, 32, "34/0 0/0"},
		{0, 33, "34/0 0/0 3/0 0/0"},
		{31, 1, "3/0 0/0"},
		{31, 2, "3/0 0/0 3/0 0/0"},
		{1, 32, "33/0 0/0 3/0 0/0"},
		{0x1040, 64, "34/0 0/0 34/0 0/0"},
		{size - 1, 1, "3/0 0/0"},
	} {
		c := newChip()
		d := openChip(t, c)
		want := slices.Clone(c.cells)
		data := bytes.Repeat([]byte{0xee}, test.n)
		copy(want[test.off:], data)
		if err := d.WriteAt(data, test.off); err != nil {
			t.Errorf("%d bytes at %#x: %v", test.n, test.off, err)
		}
		if got := strings.Join(c.log, " "); got != test.want {
			t.Errorf("%d bytes at %#x: transactions %s, want %s", test.n, test.off, got, test.want)
		}
		if !bytes.Equal(c.cells, want) {
			t.Errorf("%d bytes at %#x: other cells changed, or these did not", test.n, test.off)
		}
		if c.deaf != 0 {
			t.Errorf("%d bytes at %#x: returned before the chip had stored them", test.n, test.off)
		}
	}
}

func TestAReadIsOneTransaction(t *testing.T) {
	for _, test := range []struct {
		off, n int
		want   string
	}{
		{0, 0, ""}, {5, 1, "2/1"}, {30, 300, "2/300"}, {0, size, "2/8192"}, {size - 1, 1, "2/1"},
	} {
		c := newChip()
		d := openChip(t, c)
		p := make([]byte, test.n)
		err := d.ReadAt(p, test.off)
		if err != nil || !bytes.Equal(p, c.cells[test.off:][:test.n]) {
			t.Errorf("%d bytes at %#x: %v", test.n, test.off, err)
		}
		if got := strings.Join(c.log, " "); got != test.want {
			t.Errorf("%d bytes at %#x: transactions %s, want %s", test.n, test.off, got, test.want)
		}
	}
}

func TestNoAccessGoesAcrossTheEnd(t *testing.T) {
	const huge = int(^uint(0) >> 1)
	for _, test := range []struct {
		off, n int
		ok     bool
	}{
		{size - 2, 2, true}, {size - 1, 2, false}, {size, 0, true}, {size, 1, false},
		{size + 1, 0, false}, {0, size + 1, false}, {-1, 1, false}, {huge, 1, false},
	} {
		c := newChip()
		d, p := openChip(t, c), make([]byte, test.n)
		for _, err := range []error{d.ReadAt(p, test.off), d.WriteAt(p, test.off)} {
			if test.ok != (err == nil) || err != nil && !errors.Is(err, ErrRange) {
				t.Errorf("%d bytes at %d: %v", test.n, test.off, err)
			}
		}
		if !test.ok && len(c.log) != 0 {
			t.Errorf("%d bytes at %d: reached the chip: %v", test.n, test.off, c.log)
		}
	}
}

func TestAChipThatIsStillWritingIsWaitedForAtOpen(t *testing.T) {
	c := newChip()
	c.deaf = 20
	openChip(t, c)
	c.deaf = 1 << 30
	_, err := Open(c, 0x50, size, c.now)
	if !errors.Is(err, errNoAnswer) || !strings.Contains(err.Error(), "no answer for 20ms") {
		t.Errorf("a chip that never answers: %v", err)
	}
	if _, err := Open(c, 0x51, size, c.now); !errors.Is(err, errNoAnswer) {
		t.Errorf("no chip: %v", err)
	}
}

func TestAFailedPageEndsTheWrite(t *testing.T) {
	c := newChip()
	d := openChip(t, c)
	c.breaks = 2
	before := slices.Clone(c.cells)
	err := d.WriteAt(bytes.Repeat([]byte{0xee}, 96), 0)
	if !errors.Is(err, errBus) || !strings.Contains(err.Error(), "32 bytes at 0x20") {
		t.Errorf("error is %v", err)
	}
	if !bytes.Equal(c.cells[32:], before[32:]) || bytes.Equal(c.cells[:32], before[:32]) {
		t.Error("the pages before the failure are not exactly what was written")
	}
	c.cycle = 1 << 30
	if err := d.WriteAt([]byte{1}, 0); !errors.Is(err, errNoAnswer) {
		t.Errorf("a chip that stays deaf: %v", err)
	}
}

// stopped is a chip on a machine that is stopped for an hour during the first transaction.
type stopped struct{ *chip }

func (s stopped) Tx(address uint8, w, r []byte) error {
	err := s.chip.Tx(address, w, r)
	if s.clock < time.Hour {
		s.clock += time.Hour
	}
	return err
}

func TestAStoppedMachineGivesTheChipOneMoreChance(t *testing.T) {
	for deaf := range 2 {
		c := newChip()
		c.deaf = deaf
		if _, err := Open(stopped{c}, 0x50, size, c.now); err != nil {
			t.Errorf("deaf for %d tries: %v", deaf, err)
		}
	}
}

func TestReadsSeeWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChip()
		d, err := Open(c, 0x50, size, c.now)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(c.cells)
		for range rapid.IntRange(1, 5).Draw(t, "accesses") {
			off := rapid.IntRange(0, size).Draw(t, "off")
			data := rapid.SliceOfN(rapid.Byte(), 0, min(100, size-off)).Draw(t, "data")
			if err := d.WriteAt(data, off); err != nil {
				t.Fatal(err)
			}
			copy(want[off:], data)
		}
		got := make([]byte, size)
		if err := d.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("the chip is not what was written, %v", err)
		}
	})
}

func TestASizeThatNoChipHasIsABug(t *testing.T) {
	for _, n := range []int{0, 31, 33, 65536 + 32} {
		func() {
			defer func() {
				if message, _ := recover().(string); !strings.HasPrefix(message, "at24c: ") {
					t.Errorf("a chip of %d bytes is taken", n)
				}
			}()
			_, _ = Open(newChip(), 0x50, n, nil)
		}()
	}
}
