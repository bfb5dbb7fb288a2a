package provision

import (
	"bytes"
	"errors"
	"fmt"

	"holdfast/nvram"
)

// What an operator, or a fault, does to the authority's marks in the content of an EEPROM. Each
// changes the bytes in place, while the machine is off.

// AllowEmpty sets the one-shot mark with which an authority starts although no member proves a
// state to it. Everything that was committed may be lost then. Marks that are lost are an error:
// they take an epoch above every certificate in mesh.epoch, and the operator's word at the console.
func AllowEmpty(eeprom []byte) error {
	l, err := openMarks(nvram.Memory(eeprom))
	if err != nil {
		return err
	}
	m, err := l.Marks()
	if err != nil {
		return fmt.Errorf("may-start-empty: %w: set mesh.epoch, and type start-empty at the console", err)
	}
	m.MayEmpty = true
	return l.Save(m)
}

// WipeMarks leaves nothing of the marks, as a chip that was replaced.
func WipeMarks(eeprom []byte) {
	for _, c := range []nvram.Copy{nvram.CopyA, nvram.CopyB} {
		slot := eeprom[nvram.MarksOffset+int(c)*nvram.CopyStride:]
		copy(slot[:nvram.MarksPages*nvram.MarksPageBytes], bytes.Repeat([]byte{0xff}, nvram.CopyStride))
	}
}

// TearMarks leaves the marks as a power cut does in the middle of writing the next epoch: half of a
// page is written in the one slot, and the other has not been touched.
func TearMarks(eeprom []byte) error {
	l, err := openMarks(&cutChip{nvram.Memory(eeprom), nvram.MarksPageBytes / 2})
	if err != nil {
		return err
	}
	m, err := l.Marks()
	if err != nil {
		return fmt.Errorf("tearing the marks: %w", err)
	}
	err = l.Save(nvram.Marks{Signed: m.Signed + 1, Activated: m.Activated})
	if !errors.Is(err, errCut) {
		panic("provision: the chip was not cut off")
	}
	return nil
}

func openMarks(chip nvram.Chip) (*nvram.Ledger, error) {
	store, err := nvram.Open(chip)
	if err != nil {
		return nil, err
	}
	return store.OpenLedger()
}

// cutChip is a chip that loses power once left bytes are written.
type cutChip struct {
	nvram.Memory
	left int
}

var errCut = errors.New("power cut")

func (c *cutChip) WriteAt(p []byte, off int) error {
	if err := c.Memory.WriteAt(p[:min(len(p), c.left)], off); err != nil {
		return err
	}
	if c.left -= len(p); c.left < 0 {
		c.left = 0
		return errCut
	}
	return nil
}
