package member

import "slices"

// Clone returns a table that shares nothing with t which either of them changes.
func (t *Table) Clone() Table {
	c := Table{slices.Clone(t.entries)}
	for i := range c.entries {
		c.entries[i].Waits = slices.Clone(c.entries[i].Waits)
	}
	return c
}
