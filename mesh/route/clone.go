package route

import "slices"

// Clone returns a table of its own. Values of records are shared: a commit replaces them.
func (t *Table) Clone() *Table {
	c := *t
	c.objects = slices.Clone(t.objects)
	for i := range c.objects {
		c.objects[i].Held = slices.Clone(c.objects[i].Held)
	}
	return &c
}
