package node

import (
	"sync"

	"holdfast/nvram"
)

// sharedChip is the chip of the keeper of the marks and of the operator who changes the
// environment. Each has records of its own on it, so that what they do may come in any order; only
// one access at a time is the chip's. So a change of the environment, which takes half a second,
// delays the marks by one access, tens of milliseconds.
type sharedChip struct {
	mu   sync.Mutex
	chip nvram.Chip
}

func (c *sharedChip) Size() int { return c.chip.Size() }

func (c *sharedChip) ReadAt(p []byte, off int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.chip.ReadAt(p, off)
}

func (c *sharedChip) WriteAt(p []byte, off int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.chip.WriteAt(p, off)
}
