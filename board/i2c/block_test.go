package i2c

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/board/mmio"
)

const base = 0x021a4000

// block is a simulated I2C block with one device behind it. It writes down what happens on the
// wires: "S" a start, "Sr" a repeated one, "P" a stop, ">50" a byte sent, "<50" a byte received,
// each byte followed by "+" for an acknowledge and "-" for none.
type block struct {
	t      *testing.T
	wires  []string
	device device
	remove func() // takes the block off the address before the test ends

	// What the block does unlike an ordinary one.
	qemu  bool // as QEMU's model: everything at once, no interrupt flag without acknowledge
	holds int  // the bus stays busy for so many polls of the status; a negative number for ever
	hangs int  // this byte, counted from 1, never completes
	loses int  // arbitration is lost at this byte, counted from 1; -1 at the start
	stays bool // the bus never becomes free after a stop

	control, divider uint16
	status           uint16
	data             uint16 // received last
	pending          int    // polls until the byte on its way completes
	after            uint16 // the status bits that it brings
	addressed        bool   // a byte was sent since the start
	read             bool   // the device sends
	bytes            int    // sent or received so far
}

// device is what answers on the bus.
type device struct {
	address  uint8
	refuses  int     // does not acknowledge this written byte, counted from 1
	contents []uint8 // what it sends, in order
	written  int
}

// pollsAByte is how often the status is polled until a byte completes; it is not known to the
// driver.
const pollsAByte = 3

// newBlock installs a block with a device at address 0x50, and a bus whose clock moves by 10 us
// with every look at it.
func newBlock(t *testing.T) (*block, *Bus) {
	k := &block{t: t, status: complete | notAcknowledged}
	k.device.address = 0x50
	k.remove = sync.OnceFunc(mmio.Install(base, 0x4000, k))
	t.Cleanup(k.remove)
	var now time.Duration
	b := New(base, func() time.Duration { now += 10 * time.Microsecond; return now })
	b.Init()
	if k.divider != divider768 || k.control != idle {
		t.Fatalf("after Init the divider is %#x, the control register %#x", k.divider, k.control)
	}
	return k, b
}

func (k *block) ReadRegister(offset uint32, width int) uint32 {
	k.checkAccess(offset, width)
	switch offset {
	case i2cr:
		return uint32(k.control &^ repeatStart)
	case i2sr:
		return uint32(k.poll())
	case i2dr:
		return uint32(k.take())
	}
	k.t.Errorf("read of register %#x", offset)
	return 0
}

func (k *block) WriteRegister(offset uint32, width int, v uint32) {
	k.checkAccess(offset, width)
	switch offset {
	case ifdr:
		k.divider = uint16(v)
	case i2cr:
		k.command(uint16(v))
	case i2sr:
		k.status &= uint16(v) | ^uint16(arbitrationLost|interrupt)
	case i2dr:
		k.put(uint8(v))
	default:
		k.t.Errorf("write of register %#x", offset)
	}
}

func (k *block) checkAccess(offset uint32, width int) {
	if width != 2 {
		k.t.Errorf("access of %d bytes to register %#x", width, offset)
	}
}

func (k *block) wire(format string, v ...any) {
	k.wires = append(k.wires, fmt.Sprintf(format, v...))
}

// poll is a look at the status, which is what makes time pass.
func (k *block) poll() uint16 {
	if k.pending > 0 {
		if k.pending--; k.pending == 0 {
			k.status |= k.after
		}
	}
	status := k.status
	if k.holds != 0 {
		k.holds--
		status |= busy
	}
	return status
}

func (k *block) command(v uint16) {
	was := k.control
	k.control = v
	switch {
	case v&enable == 0:
		k.status = complete | notAcknowledged
	case v&master != 0 && was&master == 0:
		k.wire("S")
		k.addressed = false
		if k.loses == -1 {
			k.status |= arbitrationLost | interrupt
			k.control &^= master
			return
		}
		k.status |= busy
	case v&master != 0 && v&repeatStart != 0:
		k.wire("Sr")
		k.addressed = false
	case v&master == 0 && was&master != 0:
		k.wire("P")
		if !k.stays {
			k.status &^= busy
		}
	}
}

// put is a byte that the driver sends.
func (k *block) put(v uint8) {
	if k.control&(master|transmit) != master|transmit || k.status&busy == 0 {
		k.t.Errorf("byte %#02x sent with control %#x, status %#x", v, k.control, k.status)
	}
	acknowledged := true
	if !k.addressed {
		k.addressed, k.read = true, v&1 != 0
		acknowledged = v>>1 == k.device.address
	} else {
		k.device.written++
		acknowledged = k.device.written != k.device.refuses
	}
	mark := "+"
	k.status &^= notAcknowledged
	var bits uint16
	if !acknowledged {
		mark, bits = "-", notAcknowledged
	}
	k.wire(">%02x%s", v, mark)
	k.begin(bits, acknowledged)
}

// take is a look at the data register. While the block is a receiving master it starts a byte.
func (k *block) take() uint16 {
	v := k.data
	if k.control&master == 0 {
		return v
	}
	if k.control&transmit != 0 || !k.read {
		k.t.Errorf("data read with control %#x", k.control)
		return v
	}
	if len(k.device.contents) == 0 {
		k.t.Error("one byte too many is received")
		return v
	}
	k.data, k.device.contents = uint16(k.device.contents[0]), k.device.contents[1:]
	mark := "+"
	if k.control&noAcknowledge != 0 {
		mark = "-"
	}
	k.wire("<%02x%s", k.data, mark)
	k.begin(0, true)
	return v
}

// begin puts a byte on its way.
func (k *block) begin(bits uint16, acknowledged bool) {
	if k.status&interrupt != 0 {
		k.t.Error("a byte begins before the flag of the one before was cleared")
	}
	k.bytes++
	switch {
	case k.bytes == k.hangs:
		k.status &^= complete
	case k.bytes == k.loses:
		k.status |= arbitrationLost | interrupt
	case k.qemu && acknowledged && k.control&interruptEnable != 0:
		k.status |= interrupt
	case k.qemu:
		k.status |= bits
	default:
		k.status &^= complete
		k.pending, k.after = pollsAByte, complete|interrupt|bits
	}
}
