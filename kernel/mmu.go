package kernel

import "holdfast/board"

// The page tables: one address space in domain 0, with privileged access only, because the program
// runs in System mode. Registers are mapped by the megabyte, memory by the page. The kernel, the
// DMA memory and the loaded image stand where their addresses say; pages of zeros have whatever
// frame was free. A page is writable or executable, never both; what has no entry faults, page 0
// included.
//
// Descriptors: ARM Architecture Reference Manual ARMv7-A, B3.5 "Short-descriptor translation table
// format", TEX remapping off.
const (
	sectionDevice = 0x00416 // shared device memory, read and write, execute never
	coarseTable   = 0x00001 // a page table follows

	pagePresent  = 0x00002
	pageReadOnly = 0x00200

	pageRW       = 0x0005f // write-back, write-allocate, read and write, execute never
	pageRO       = 0x0025f // the same, read only
	pageRX       = 0x0025e // the same, read only, executable
	pageUncached = 0x00053 // normal memory, not cached, read and write, execute never

	tableWalkCached = 0x48 // TTBR0: table walks are write-back, write-allocate
)

// entry is the page table entry of the page that holds a, an address from DRAM to spaceEnd.
func entry(a uint32) *uint32 { return word(l2Tables + (a-board.DRAM)/pageSize*4) }

// mapRange gives all pages of [start, end) one protection.
func mapRange(start, end, protection uint32) {
	for a := start; a < end; a += pageSize {
		*entry(a) = a | protection
	}
}

// buildTables makes the tables.
func buildTables(m *image) {
	clear(bytesAt(l1Table, l1Size))
	clear(bytesAt(l2Tables, pagesMax*4))
	mapDevices(board.GICRange, board.GICRangeSize)
	mapDevices(board.PeripheralsRange, board.PeripheralsSize)
	for i := uint32(0); i < megabytesMax; i++ {
		*word(l1Table + (board.DRAM/megabyte+i)*4) = l2Tables + i*1024 | coarseTable
	}

	mapRange(l1Table, vectorPage, pageRW)
	mapRange(vectorPage, vvarPage, pageRX)
	mapRange(vvarPage, vdsoPage, pageRW)
	mapRange(vdsoPage, seedPage, pageRX) // and the signal return
	mapRange(seedPage, bootPage+pageSize, pageRW)
	mapRange(epitaphPage, epitaphEnd, pageUncached)
	mapRange(kernelStack, kernelStackTop, pageRW)
	mapRange(faultStackTop-2*pageSize, faultStackTop, pageRW)
	mapRange(stateBase, stateEnd, pageRW)
	mapRange(threadStack, threadStackTop, pageRW)
	mapRange(l2Tables, kernelEnd, pageRW)
	mapRange(board.DMA, board.DMA+board.DMASize, pageUncached)
	for i := range m.segments[:m.count] {
		mapSegment(&m.segments[i])
	}
}

// mapDevices maps whole megabytes of registers.
func mapDevices(start, size uint32) {
	for a := start; a < start+size; a += megabyte {
		*word(l1Table + a/megabyte*4) = a | sectionDevice
	}
}

// mapSegment maps what the loader filled of a segment. Whole pages behind that come with their
// first touch.
func mapSegment(s *segment) {
	protection := uint32(pageRO)
	switch {
	case s.flags&segmentWrite != 0:
		protection = pageRW
		s.clearEdge()
	case s.flags&segmentExec != 0:
		protection = pageRX
	}
	mapRange(s.start, pageUp(s.file), protection)
}
