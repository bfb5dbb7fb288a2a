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

	// hopeless is a mapping that is refused without a look, or one entry would have too many pages to
	// mark. Nothing here is that large: the runtime asks at start for the addresses of the
	// bookkeeping of all arenas there can be, 258 MB, and manages without; they would be missing for
	// the heap. Its arenas are 4 MB.
	hopeless = 256 << 20

	// markPages bounds for how many pages one entry changes what they are: 32 MB.
	markPages = 8192
)

// mmap reserves memory. It works in pieces: see pause.
func (k *kernel) mmap(t *thread, a, n, prot, flags uint32) int32 {
	m := &k.memory
	n = pageUp(n)
	switch {
	case n == 0 || flags&mapAnonymous == 0:
		return -eINVAL
	case prot&protExec != 0:
		return -ePERM // nothing is both writable and executable
	case n >= hopeless:
		return -eNOMEM
	case flags&mapFixed != 0:
		return k.mmapFixed(t, a, n, prot)
	case prot != protNone && !m.canPromise(n/pageSize):
		return -eNOMEM
	}
	a, over := m.place(t, a&^(pageSize-1), n)
	switch {
	case !over:
		return t.pause(searching)
	case a == 0:
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
	from := a + t.done
	at := m.untouch(from, min(a+n, from+markPages*pageSize))
	first, end = page(from), page(from)+(at-from)/pageSize
	m.reserved.fill(first, end)
	m.promised -= m.usable.count(first, end)
	if prot == protNone {
		m.usable.empty(first, end)
	} else {
		m.usable.fill(first, end)
		m.promised += end - first
	}
	if at != a+n {
		return t.pause(at - a)
	}
	return int32(a)
}

// searching is the progress of a call that looks for addresses; how far it is is in its thread.
const searching = 1

// place finds n bytes of free addresses: at the hint, else as high as possible, to leave the
// addresses behind the heap's first reservation to the heap. It is 0 when there are none, and not
// over when a search has to go on.
func (m *memory) place(t *thread, hint, n uint32) (a uint32, over bool) {
	if t.done == 0 {
		if m.inPool(hint, n) && m.reserved.none(page(hint), page(hint)+n/pageSize) {
			return hint, true
		}
		t.gap = gapSearch{at: page(spaceEnd)}
	}
	p, over := m.reserved.lastGap(&t.gap, page(m.poolLo), n/pageSize)
	switch {
	case !over:
		return 0, false
	case p == 0:
		return 0, true
	case !m.reserved.none(p, p+n/pageSize): // somebody has taken of it between two pieces
		t.gap = gapSearch{at: page(spaceEnd)}
		return 0, false
	}
	return board.DRAM + p*pageSize, true
}

// munmap gives memory back. It works in pieces: see pause.
func (k *kernel) munmap(t *thread, a, n uint32) int32 {
	m := &k.memory
	n = pageUp(n)
	if n == 0 || a%pageSize != 0 || !m.inPool(a, n) {
		return -eINVAL
	}
	from := a + t.done
	at := m.untouch(from, min(a+n, from+markPages*pageSize))
	first, end := page(from), page(from)+(at-from)/pageSize
	m.reserved.empty(first, end)
	m.promised -= m.usable.count(first, end)
	m.usable.empty(first, end)
	if at != a+n {
		return t.pause(at - a)
	}
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
