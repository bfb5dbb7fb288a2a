package i2c

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// models are the two kinds of block that the driver must serve.
func models(t *testing.T, f func(t *testing.T, k *block, b *Bus)) {
	for name, qemu := range map[string]bool{"silicon": false, "QEMU": true} {
		t.Run(name, func(t *testing.T) {
			k, b := newBlock(t)
			k.qemu = qemu
			f(t, k, b)
		})
	}
}

// check compares what happened on the wires.
func (k *block) check(want string) {
	k.t.Helper()
	if got := strings.Join(k.wires, " "); got != want {
		k.t.Errorf("on the wires: %s\nwant:         %s", got, want)
	}
	k.wires = nil
}

func TestATransactionIsExactlyThisOnTheWires(t *testing.T) {
	for _, test := range []struct {
		name string
		w    []byte
		r    int
		want string
	}{
		{"probe", nil, 0, "S >a0+ P"},
		{"write of one byte", []byte{1}, 0, "S >a0+ >01+ P"},
		{"write of three bytes", []byte{1, 2, 3}, 0, "S >a0+ >01+ >02+ >03+ P"},
		{"read of one byte", nil, 1, "S >a1+ <d0- P"},
		{"read of two bytes", nil, 2, "S >a1+ <d0+ <d1- P"},
		{"read of three bytes", nil, 3, "S >a1+ <d0+ <d1+ <d2- P"},
		{"write and read", []byte{0x1f, 0xfe}, 2, "S >a0+ >1f+ >fe+ Sr >a1+ <d0+ <d1- P"},
	} {
		t.Run(test.name, func(t *testing.T) {
			models(t, func(t *testing.T, k *block, b *Bus) {
				for range 2 { // the second one finds the block as the first one left it
					k.device.contents = []byte{0xd0, 0xd1, 0xd2}[:test.r]
					r := make([]byte, test.r)
					if err := b.Tx(0x50, test.w, r); err != nil {
						t.Fatal(err)
					}
					k.check(test.want)
					if string(r) != "\xd0\xd1\xd2"[:test.r] {
						t.Errorf("received % x", r)
					}
				}
			})
		})
	}
}

func TestAMissingAcknowledgeIsNamedAndTheBusReleased(t *testing.T) {
	for _, test := range []struct {
		name    string
		address uint8
		refuses int
		w       []byte
		r       int
		wires   string
		want    error
	}{
		{"no device to write to", 0x51, 0, []byte{1}, 0, "S >a2- P", ErrNoDevice},
		{"no device to read from", 0x51, 0, nil, 1, "S >a3- P", ErrNoDevice},
		{"first byte refused", 0x50, 1, []byte{1, 2}, 0, "S >a0+ >01- P", ErrRefused},
		{"last byte refused", 0x50, 2, []byte{1, 2}, 1, "S >a0+ >01+ >02- P", ErrRefused},
	} {
		t.Run(test.name, func(t *testing.T) {
			models(t, func(t *testing.T, k *block, b *Bus) {
				k.device.refuses = test.refuses
				err := b.Tx(test.address, test.w, make([]byte, test.r))
				if !errors.Is(err, test.want) {
					t.Errorf("error is %v, want %v", err, test.want)
				}
				k.check(test.wires)
				if err := b.Tx(0x50, nil, nil); err != nil {
					t.Errorf("the next transaction: %v", err)
				}
			})
		})
	}
}

func TestAByteThatNeverCompletesIsATimeout(t *testing.T) {
	for hangs := 1; hangs <= 6; hangs++ { // address, two bytes, address, two bytes
		k, b := newBlock(t)
		k.hangs = hangs
		k.device.contents = []byte{1, 2, 3}
		before := b.now()
		err := b.Tx(0x50, []byte{1, 2}, make([]byte, 2))
		if !errors.Is(err, ErrTimeout) {
			t.Errorf("byte %d hangs: %v", hangs, err)
		}
		if took := b.now() - before; took < limit || took > 2*limit {
			t.Errorf("byte %d hangs: took %v", hangs, took)
		}
		if last := k.wires[len(k.wires)-1]; last != "P" {
			t.Errorf("byte %d hangs: the transaction ends with %s", hangs, last)
		}
		k.remove()
	}
}

func TestLostArbitrationIsNamed(t *testing.T) {
	for _, loses := range []int{-1, 1, 3, 4, 5} {
		k, b := newBlock(t)
		k.loses = loses
		k.device.contents = []byte{1, 2, 3}
		if err := b.Tx(0x50, []byte{1, 2}, make([]byte, 2)); !errors.Is(err, ErrArbitration) {
			t.Errorf("lost at %d: %v", loses, err)
		}
		k.remove()
	}
}

func TestABusyBusIsWaitedForAndThenReported(t *testing.T) {
	k, b := newBlock(t)
	k.holds = 10
	if err := b.Tx(0x50, nil, nil); err != nil {
		t.Errorf("busy for ten polls: %v", err)
	}
	k.holds = -1
	if err := b.Tx(0x50, nil, nil); !errors.Is(err, ErrBusy) {
		t.Errorf("busy for ever: %v", err)
	}
	k.check("S >a0+ P")
}

func TestABusThatStaysBusyAfterAStopIsReported(t *testing.T) {
	k, b := newBlock(t)
	k.stays = true
	if err := b.Tx(0x50, []byte{1}, nil); !errors.Is(err, ErrBusy) {
		t.Errorf("write: %v", err)
	}
}

func TestABusyBusIsRecoveredWhenThereIsAWay(t *testing.T) {
	k, b := newBlock(t)
	k.holds = -1
	b.Recover = func() error {
		k.holds = 0
		k.status |= busy // the block saw no stop, and forgets that only when it is reset
		return nil
	}
	if err := b.Tx(0x50, nil, nil); err != nil {
		t.Errorf("recovered: %v", err)
	}
	b.Recover = func() error { return nil }
	if k.holds = -1; !errors.Is(b.Tx(0x50, nil, nil), ErrBusy) {
		t.Error("in vain, and not reported")
	}
	b.Recover = func() error { return ErrStuck }
	if err := b.Tx(0x50, nil, nil); !errors.Is(err, ErrBusy) || !errors.Is(err, ErrStuck) {
		t.Errorf("stuck: %v", err)
	}
}

// TestAStoppedMachineIsNoTimeout lets the clock jump by an hour at each look at it in turn: what
// has arrived when the machine goes on counts.
func TestAStoppedMachineIsNoTimeout(t *testing.T) {
	for jump := range 40 {
		k, b := newBlock(t)
		clock, looks := b.now, 0
		var stopped time.Duration
		b.now = func() time.Duration {
			if looks++; looks == jump {
				stopped = time.Hour
				k.pending = min(k.pending, 1)
			}
			return clock() + stopped
		}
		k.device.contents = []byte{7}
		if err := b.Tx(0x50, []byte{1, 2}, make([]byte, 1)); err != nil {
			t.Errorf("stopped at look %d: %v", jump, err)
		}
		k.remove()
	}
}

func TestAnAddressHasSevenBits(t *testing.T) {
	_, b := newBlock(t)
	defer func() {
		if recover() == nil {
			t.Error("address 0x80 is taken")
		}
	}()
	_ = b.Tx(0x80, nil, nil)
}

// wires is a bus on pins, with a device that holds the data line down for some clocks.
type wires struct {
	clock, data bool
	held        int // clocks until the device lets go
	log         []string
}

func (w *wires) SetClock(high bool) {
	if w.clock && !high && w.held > 0 {
		w.held--
	}
	w.clock = high
	w.note("C", high)
}

func (w *wires) SetData(high bool) { w.data = high; w.note("D", high) }
func (w *wires) Data() bool        { return w.data && w.held == 0 }

func (w *wires) note(line string, high bool) {
	if high {
		w.log = append(w.log, line+"1")
	} else {
		w.log = append(w.log, line+"0")
	}
}

func TestAStuckDeviceIsClockedUntilItLetsGo(t *testing.T) {
	for _, test := range []struct {
		held, clocks int
		want         error
	}{{0, 0, nil}, {1, 1, nil}, {9, 9, nil}, {10, 9, ErrStuck}} {
		w := &wires{clock: true, data: true, held: test.held}
		if err := Unstick(w); err != test.want {
			t.Errorf("held for %d clocks: %v", test.held, err)
		}
		want := "D1 C1" + strings.Repeat(" C0 C1", test.clocks)
		if test.want == nil {
			want += " C0 D0 C1 D1" // the stop
		}
		if got := strings.Join(w.log, " "); got != want {
			t.Errorf("held for %d clocks: lines go %s, want %s", test.held, got, want)
		}
	}
}
