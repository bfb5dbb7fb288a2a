package i2c

import "errors"

// ErrStuck says that a device still holds the data line down after every clock it could ask for.
var ErrStuck = errors.New("data line is held down")

// Lines are the two wires of a bus while its pads are ordinary open-drain pins.
type Lines interface {
	// SetClock lets the clock line rise or pulls it down, and returns half a clock period later.
	SetClock(high bool)
	// SetData lets the data line rise or pulls it down, and returns half a clock period later.
	SetData(high bool)
	// Data is the level of the data line.
	Data() bool
}

// Unstick frees a bus whose data line a device holds down because a reset cut a read short: the
// device still waits for the clocks of its byte. At most nine of them end the byte, after which it
// sees no acknowledge and lets go; a stop then ends the transaction. I2C-bus specification UM10204,
// section 3.1.16 "Bus clear".
func Unstick(l Lines) error {
	l.SetData(true)
	l.SetClock(true)
	for range 9 {
		if l.Data() {
			break
		}
		l.SetClock(false)
		l.SetClock(true)
	}
	if !l.Data() {
		return ErrStuck
	}
	l.SetClock(false)
	l.SetData(false)
	l.SetClock(true)
	l.SetData(true)
	return nil
}
