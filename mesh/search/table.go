package search

import "encoding/binary"

// table finds values by their keys. Keys are hashes already: their first bits say where to look,
// and the places after that are tried in turn. The zero key stands for a free place.
type table[V any] struct {
	keys   []key
	values []V
	n      int
}

// put adds a value, unless the key has one, and returns the one that it has now and whether it was
// there before.
func (t *table[V]) put(k key, v V) (V, bool) {
	if 4*t.n >= 3*len(t.keys) {
		t.grow()
	}
	i := t.place(k)
	if t.keys[i] == k {
		return t.values[i], true
	}
	t.keys[i], t.values[i] = k, v
	t.n++
	return v, false
}

// at returns the place of a key's value, which is the zero value when the key is new. The place is
// good until the next call.
func (t *table[V]) at(k key) *V {
	if 4*t.n >= 3*len(t.keys) {
		t.grow()
	}
	i := t.place(k)
	if t.keys[i] != k {
		t.keys[i] = k
		t.n++
	}
	return &t.values[i]
}

// get returns the value of a key, if it has one.
func (t *table[V]) get(k key) (v V, has bool) {
	if len(t.keys) == 0 {
		return v, false
	}
	i := t.place(k)
	return t.values[i], t.keys[i] == k
}

// place is where a key is, or would be.
func (t *table[V]) place(k key) int {
	mask := uint64(len(t.keys) - 1)
	i := binary.LittleEndian.Uint64(k[:]) & mask
	for t.keys[i] != k && t.keys[i] != (key{}) {
		i = (i + 1) & mask
	}
	return int(i)
}

func (t *table[V]) grow() {
	old := *t
	size := max(64, 2*len(old.keys))
	t.keys, t.values = make([]key, size), make([]V, size)
	for i, k := range old.keys {
		if k != (key{}) {
			j := t.place(k)
			t.keys[j], t.values[j] = k, old.values[i]
		}
	}
}

// clear forgets everything and keeps the memory.
func (t *table[V]) clear() {
	clear(t.keys)
	clear(t.values)
	t.n = 0
}
