package kernel

import "holdfast/board"

// memory is the program's memory: the image, the DMA pool, thread 0's stack, and the pool that
// mmap hands out, which is all DRAM behind the image. There is no paging and no second address
// space, so that a reservation costs address space, which is memory.
//
// Nothing is cleared before it is used. A page of the pool or of the image's zeroed sections has
// no entry in the page table until it is touched; then the data abort handler, or a system call
// that was given its address, clears it and maps it (see touch). So neither boot nor mmap has a
// long loop, and 32 MB of zeros in the image cost nothing until somebody reads them.
type memory struct {
	size           uint32 // of the DRAM, in bytes
	poolLo, poolHi uint32
	reserved       pageMap // handed out by mmap
	usable         pageMap // reserved with a right to read and write

	mapped       [megabytesMax]uint16 // pages of the pool that are in the page table, a megabyte each
	pagesInUse   uint32               // reserved
	pagesTouched uint32               // mapped after a first touch, pool and image
}

const (
	// touchPages is how many pages one touch maps at most, all in one block of that size: an
	// exception costs as much as clearing a page, and memory is mostly used in runs.
	touchPages = 4

	// unmapPages bounds what one entry into the kernel takes out of the page table.
	unmapPages = 256

	// poolMin is the least pool that a Go program can be expected to start with.
	poolMin = 8 << 20
)

// init sets the pool up behind the image. It reports false when there is too little memory.
func (m *memory) init(size, imageEnd uint32) bool {
	m.size = size
	m.poolLo = imageEnd
	m.poolHi = board.DRAM + size
	return m.poolHi >= imageEnd && m.poolHi-imageEnd >= poolMin
}

// page is the number of the page that holds address a.
func page(a uint32) uint32 { return (a - board.DRAM) / pageSize }

// inPool reports whether [a, a+n) is part of the pool.
func (m *memory) inPool(a, n uint32) bool {
	return a >= m.poolLo && a <= m.poolHi && n <= m.poolHi-a
}

// zeroOnTouch reports whether the page at a, which has no entry in the page table, is the
// program's to use.
func (k *kernel) zeroOnTouch(a uint32) bool {
	if k.memory.inPool(a, 1) {
		return k.memory.usable.has(page(a))
	}
	s := k.image.find(a)
	return s != nil && s.flags&segmentWrite != 0
}

// touch clears and maps the page at a, and its neighbours in the same block that wait for the same
// to happen. It reports false when the program has no right to the page or it is mapped already.
func (k *kernel) touch(a uint32) bool {
	m := &k.memory
	if a-board.DRAM >= m.size || *entry(a) != 0 || !k.zeroOnTouch(a) {
		return false
	}
	block := a &^ (touchPages*pageSize - 1)
	for p := block; p < block+touchPages*pageSize; p += pageSize {
		if *entry(p) != 0 || !k.zeroOnTouch(p) {
			continue
		}
		*entry(p) = p | pageRW
		publishTables()
		clear(bytesAt(p, pageSize))
		m.pagesTouched++
		if m.inPool(p, 1) {
			m.mapped[(p-board.DRAM)/megabyte]++
		}
	}
	return true
}

// untouch takes pages of [a, end) out of the page table, so that their next touch finds zeros. It
// stops after unmapPages pages and returns how far it came.
func (m *memory) untouch(a, end uint32) uint32 {
	for n := 0; a < end && n < unmapPages; a += pageSize {
		megabyteOf := (a - board.DRAM) / megabyte
		if m.mapped[megabyteOf] == 0 {
			a |= megabyte - pageSize // the next round starts with the next megabyte
			continue
		}
		if e := entry(a); *e != 0 {
			*e = 0
			flushTLBPage(a)
			m.mapped[megabyteOf]--
			m.pagesTouched--
		}
		n++
	}
	return min(a, end)
}
