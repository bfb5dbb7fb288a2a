package nvram

import (
	"bytes"
	"fmt"
)

// Provision is what a chip is delivered with.
type Provision struct {
	Environment *Environment // required; may be empty
	Identity    *Identity    // nil leaves the record blank: the node has no key
	Entropy     *Secret      // nil leaves the record blank: the node has no seed of its own
	MayEmpty    bool         // the may-start-empty mark, see Marks
}

// Image is the chip's content, Size bytes. Both copies of every record hold the same, so that a
// damaged byte costs nothing from the first day, and so do both slots of the marks, which say that
// this authority never ran; all else is 0xff as on an erased EEPROM. What a node could not use is
// refused, an environment that does not fit with its byte count.
func (p Provision) Image() (Memory, error) {
	if err := p.Environment.check(); err != nil {
		return nil, fmt.Errorf("nvram: provisioning: %w", err)
	}
	image := Memory(bytes.Repeat([]byte{0xff}, Size))
	image.provision(KindEnvironment, p.Environment.Encode())
	image.provisionMarks(Marks{NeverRan: true, MayEmpty: p.MayEmpty})
	if p.Identity != nil {
		if err := p.Identity.Seed.check("identity"); err != nil {
			return nil, err
		}
		image.provision(KindIdentity, p.Identity.encode())
	}
	if p.Entropy != nil {
		if err := p.Entropy.check("entropy"); err != nil {
			return nil, err
		}
		image.provision(KindEntropy, p.Entropy[:])
	}
	return image, nil
}

// provision puts the first record of a kind into both copies.
func (m Memory) provision(k Kind, payload []byte) {
	record := encode(k, 1, payload)
	for _, c := range []Copy{CopyA, CopyB} {
		copy(m[c.offset(k.place()):], record)
	}
}

// provisionMarks fills the pages of both slots, so that none of them is blank.
func (m Memory) provisionMarks(marks Marks) {
	for sequence := range uint32(MarksPages) {
		page := encodeMarks(markPage{sequence, marks})
		for _, c := range []Copy{CopyA, CopyB} {
			copy(m[c.markOffset(sequence):], page)
		}
	}
}
