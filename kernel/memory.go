package kernel

import (
	"math/bits"

	"holdfast/board"
)

// memory is the program's memory: 512 MB of addresses behind the image, however much DRAM there is,
// and page frames that come to them when they are touched.
//
//	addresses   reserved with mmap and PROT_NONE: they cost nothing
//	usable      reserved with a right to read and write: promised, one frame for each page
//	touched     has a frame, which was cleared: the page is in the page table
//
// Nothing is cleared before it is used. A page of the pool or of the image's zeroed sections gets
// its frame at the first touch, from the data abort handler or from a system call that was given
// its address (see touch). So neither boot nor mmap has a long loop, and 32 MB of zeros in an image
// cost neither time nor memory until somebody reads them.
//
// mmap promises no more frames than there are, so that a program that asks for too much is told so
// by mmap. The image's zeroed sections are not in the promise: what is touched of them is taken off
// it, and if promises can then not be kept, the program ends (see outOfMemory).
type memory struct {
	size     uint32  // of the DRAM, in bytes
	poolLo   uint32  // first address of the pool
	frames   pageMap // page frames of the DRAM that are in use, or do not exist
	total    uint32  // frames there were for the program
	free     uint32  // frames there are
	searchAt uint32  // word of frames where the search for a free one goes on

	reserved pageMap // pages of the pool handed out by mmap
	usable   pageMap // those of them with a right to read and write
	promised uint32  // pages in usable

	mapped      [megabytesMax]uint16 // pages of the pool in the page table, a megabyte each
	poolTouched uint32               // pages of the pool in the page table
	zeroTouched uint32               // pages of the image's zeroed sections in the page table
}

const (
	// spaceEnd is where the program's addresses end: the page tables have room for as many as for
	// the most DRAM.
	spaceEnd = board.DRAM + board.DRAMSizeMax

	// untouchPages bounds what one entry into the kernel takes out of the page table.
	untouchPages = 128

	// framesMin is the least that a Go program can be expected to start with: 8 MB.
	framesMin = 2048

	// framesSpare is what mmap does not promise: frames for the zeroed sections of a small image.
	framesSpare = 256
)

// init sets up size bytes of DRAM behind an image whose sections end at fileEnd as far as they are
// in the file, and at imageEnd with their zeros. It reports false when that is too little.
func (m *memory) init(size, fileEnd, imageEnd uint32) bool {
	m.size = size
	m.poolLo = imageEnd
	first, end := page(fileEnd), size/pageSize
	if first >= end || imageEnd > spaceEnd {
		return false
	}
	m.frames.fill(0, first)
	m.frames.fill(end, pagesMax)
	m.total = end - first
	m.free = m.total
	return m.total >= framesMin
}

// page is the number of the page that holds address a.
func page(a uint32) uint32 { return (a - board.DRAM) / pageSize }

// inPool reports whether [a, a+n) is part of the pool.
func (m *memory) inPool(a, n uint32) bool {
	return a >= m.poolLo && a <= spaceEnd && n <= spaceEnd-a
}

// canPromise reports whether there are frames for n more pages.
func (m *memory) canPromise(n uint32) bool {
	return m.promised+m.zeroTouched+framesSpare+n <= m.total
}

// takeFrame finds a free frame. It reports false when there is none.
func (m *memory) takeFrame() (address uint32, ok bool) {
	if m.free == 0 {
		return 0, false
	}
	for m.frames[m.searchAt] == ^uint32(0) {
		m.searchAt = (m.searchAt + 1) % uint32(len(m.frames))
	}
	bit := uint32(bits.TrailingZeros32(^m.frames[m.searchAt]))
	m.frames[m.searchAt] |= 1 << bit
	m.free--
	return board.DRAM + (m.searchAt*32+bit)*pageSize, true
}

// giveFrame makes the frame at an address free again.
func (m *memory) giveFrame(address uint32) {
	p := page(address)
	if !m.frames.has(p) {
		die("kernel: a page frame was given back twice")
	}
	m.frames[p/32] &^= 1 << (p % 32)
	m.searchAt = p / 32
	m.free++
}

// zeroOnTouch reports whether the page at a, which has no entry in the page table, is the
// program's to use.
func (k *kernel) zeroOnTouch(a uint32) bool {
	if a >= k.memory.poolLo {
		return k.memory.usable.has(page(a))
	}
	s := k.image.find(a)
	return s != nil && s.flags&segmentWrite != 0
}

// touch gives the page at a a cleared frame. It reports false when the program has no right to the
// page, or it has a frame already.
func (k *kernel) touch(a uint32) bool {
	m := &k.memory
	p := a &^ (pageSize - 1)
	if p-board.DRAM >= board.DRAMSizeMax || *entry(p) != 0 || !k.zeroOnTouch(p) {
		return false
	}
	frame, ok := m.takeFrame()
	if !ok {
		k.outOfMemory()
	}
	*entry(p) = frame | pageRW
	publishTables()
	clear(bytesAt(p, pageSize))
	if p >= m.poolLo {
		m.mapped[(p-board.DRAM)/megabyte]++
		m.poolTouched++
	} else {
		m.zeroTouched++
	}
	return true
}

// untouch takes the frames of pages of [a, end), so that their next touch finds zeros. It stops
// after untouchPages pages and returns how far it came.
func (m *memory) untouch(a, end uint32) uint32 {
	for n := 0; a < end && n < untouchPages; a += pageSize {
		megabyteOf := (a - board.DRAM) / megabyte
		if m.mapped[megabyteOf] == 0 {
			a |= megabyte - pageSize // the next round starts with the next megabyte
			continue
		}
		if e := entry(a); *e != 0 {
			m.giveFrame(*e &^ (pageSize - 1))
			*e = 0
			flushTLBPage(a)
			m.mapped[megabyteOf]--
			m.poolTouched--
		}
		n++
	}
	return min(a, end)
}
