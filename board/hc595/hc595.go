// Package hc595 drives a 74x595, a shift register with eight latched outputs, over four lines. It
// owns no state: the outputs can not be read back, so that whoever changes one writes all.
//
//	data    the next bit, Q7's first
//	shift   SHCP: its rising edge takes the bit
//	latch   STCP: its rising edge shows what was shifted
//	off     OE, active low: while it is high, the outputs are not driven
//
// The lines may be as fast as they like: at 3.3 V the chip needs 20 ns for a pulse, and a register
// of the processor's takes longer to write. Source: the data sheet of Nexperia's 74LV595, sections
// "Functional description" and "Dynamic characteristics". Never seen on silicon.
package hc595

// Lines are the four wires.
type Lines interface {
	Data(high bool)
	Shift(high bool)
	Latch(high bool)
	Off(high bool)
}

// Write makes the outputs Q0 to Q7 those of the bits 0 to 7, all at once, and drives them.
func Write(l Lines, outputs uint8) {
	l.Shift(false)
	l.Latch(false)
	for bit := 7; bit >= 0; bit-- {
		l.Data(outputs>>bit&1 != 0)
		l.Shift(true)
		l.Shift(false)
	}
	l.Latch(true)
	l.Latch(false)
	l.Off(false)
}
