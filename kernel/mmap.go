package kernel

import "holdfast/board"

// The calls that hand out memory, take it back and clear it. All of them round to pages.
const (
	protNone = 0
	protExec = 4

	mapFixed     = 0x10
	mapAnonymous = 0x20

	adviseDontNeed = 4 // promises zeros at the next touch
	adviseFree     = 8 // allows them

	// hopeless is a reservation that is refused without a look. The runtime asks at start for the
	// addresses of the bookkeeping of all arenas there can be, 258 MB, and manages without. They
	// would be missing for the heap.
	hopeless = 256 << 20
)

// mmap reserves memory. With mapFixed it works in pieces: see pause.
func (k *kernel) mmap(t *thread, a, n, prot, flags uint32) int32 {
	m := &k.memory
	n = pageUp(n)
	switch {
	case n == 0 || flags&mapAnonymous == 0:
		return -eINVAL
	case prot&protExec != 0:
		return -ePERM // nothing is both writable and executable
	case flags&mapFixed != 0:
		return k.mmapFixed(t, a, n, prot)
	case prot == protNone && a == 0 && n >= hopeless:
		return -eNOMEM
	case prot != protNone && !m.canPromise(n/pageSize):
		return -eNOMEM
	}
	if a = m.place(a&^(pageSize-1), n); a == 0 {
		return -eNOMEM
	}
	m.reserved.fill(page(a), page(a)+n/pageSize)
	if prot != protNone {
		m.usable.fill(page(a), page(a)+n/pageSize)
		m.promised += n / pageSize
	}
	return int32(a)
}

// mmapFixed is mmap at an address that the caller insists on; what was there is gone.
func (k *kernel) mmapFixed(t *thread, a, n, prot uint32) int32 {
	m := &k.memory
	if a%pageSize != 0 {
		return -eINVAL
	}
	if !m.inPool(a, n) {
		return -eNOMEM
	}
	first, end := page(a), page(a)+n/pageSize
	if t.done == 0 && prot != protNone && !m.canPromise(end-first-m.usable.count(first, end)) {
		return -eNOMEM
	}
	if at := m.untouch(a+t.done, a+n); at != a+n {
		return t.pause(at - a)
	}
	m.reserved.fill(first, end)
	m.promised -= m.usable.count(first, end)
	if prot == protNone {
		m.usable.empty(first, end)
	} else {
		m.usable.fill(first, end)
		m.promised += end - first
	}
	return int32(a)
}

// place finds n bytes of free addresses: at the hint, else as high as possible, to leave the
// addresses behind the heap's first reservation to the heap. It returns 0 when there are none.
func (m *memory) place(hint, n uint32) uint32 {
	if m.inPool(hint, n) && m.reserved.none(page(hint), page(hint)+n/pageSize) {
		return hint
	}
	p, ok := m.reserved.lastGap(page(m.poolLo), page(spaceEnd), n/pageSize)
	if !ok {
		return 0
	}
	return board.DRAM + p*pageSize
}

// munmap gives memory back. It works in pieces: see pause.
func (k *kernel) munmap(t *thread, a, n uint32) int32 {
	m := &k.memory
	n = pageUp(n)
	if n == 0 || a%pageSize != 0 || !m.inPool(a, n) {
		return -eINVAL
	}
	if at := m.untouch(a+t.done, a+n); at != a+n {
		return t.pause(at - a)
	}
	first, end := page(a), page(a)+n/pageSize
	m.reserved.empty(first, end)
	m.promised -= m.usable.count(first, end)
	m.usable.empty(first, end)
	return 0
}

// madvise clears memory when it has to. It works in pieces: see pause.
func (k *kernel) madvise(t *thread, a, n, advice uint32) int32 {
	m := &k.memory
	n = pageUp(n)
	if a%pageSize != 0 {
		return -eINVAL
	}
	if n == 0 || advice != adviseDontNeed {
		return 0
	}
	if !m.inPool(a, n) {
		return -eNOMEM
	}
	if at := m.untouch(a+t.done, a+n); at != a+n {
		return t.pause(at - a)
	}
	return 0
}
