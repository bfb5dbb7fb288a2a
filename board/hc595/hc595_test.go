package hc595

import "testing"

// chip is a 74x595.
type chip struct {
	data, shift, latch, off bool
	shifted, outputs        uint8
	shown                   []uint8 // what the outputs were while they were driven
}

func (c *chip) Data(high bool) { c.data = high }

func (c *chip) Shift(high bool) {
	if high && !c.shift {
		c.shifted <<= 1
		if c.data {
			c.shifted |= 1
		}
	}
	c.shift = high
}

func (c *chip) Latch(high bool) {
	if high && !c.latch {
		c.outputs = c.shifted
		c.show()
	}
	c.latch = high
}

func (c *chip) Off(high bool) {
	c.off = high
	c.show()
}

func (c *chip) show() {
	if !c.off && (len(c.shown) == 0 || c.shown[len(c.shown)-1] != c.outputs) {
		c.shown = append(c.shown, c.outputs)
	}
}

func TestEveryByteComesOutAtOnce(t *testing.T) {
	for v := range 256 {
		// As after power-on: off, anything inside, and the lines high.
		c := &chip{off: true, shift: true, latch: true, shifted: 0xa5, outputs: 0x5a}
		Write(c, uint8(v))
		Write(c, uint8(^v))
		if len(c.shown) != 2 || c.shown[0] != uint8(v) || c.shown[1] != uint8(^v) || c.off {
			t.Fatalf("%#02x and its complement show %x, off %v", v, c.shown, c.off)
		}
	}
}
