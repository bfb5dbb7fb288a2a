package kernel

import "holdfast/board"

// The kernel's own megabyte, the first one of the DRAM. The assembly has the same names with
// const_ in front, through go_asm.h. What lies between the entries is not mapped, so that a stack
// that overflows faults instead of writing over its neighbour.
const (
	l1Table     = board.DRAM           // page table: one word a megabyte of address space
	vectorPage  = board.DRAM + 0x04000 // exception vectors
	vvarPage    = board.DRAM + 0x05000 // clock data that the vDSO reads
	vdsoPage    = board.DRAM + 0x06000 // the vDSO: an ELF image with clock_gettime in it
	sigretPage  = board.DRAM + 0x07000 // where a signal handler returns to
	seedPage    = board.SeedPage       // from the loader
	bootPage    = board.BootPage       // from the loader
	epitaphPage = board.DRAM + 0x0a000 // what a crash leaves for the next boot, 12 KiB
	kernelStack = board.DRAM + 0x10000 // the one stack of SVC mode; a guard page below
	faultStack  = board.DRAM + 0x18000 // for reporting a fault of the kernel; a guard page below
	stateBase   = board.DRAM + 0x1a000 // the kernel struct: all data of the kernel
	threadStack = board.DRAM + 0x40000 // thread 0's stack, arguments, environment, auxiliary vector
	l2Tables    = board.DRAM + 0x80000 // page tables: 1 KiB a megabyte of memory addresses

	epitaphEnd     = board.DRAM + 0x0d000
	kernelStackTop = board.DRAM + 0x14000
	faultStackTop  = stateBase
	stateEnd       = board.DRAM + 0x3f000 // a guard page for thread 0 behind it
	threadStackTop = l2Tables
	kernelEnd      = board.DMA
)

const (
	pageSize = 4096
	megabyte = 1 << 20
	l1Size   = 16 << 10

	pagesMax     = board.DRAMSizeMax / pageSize
	megabytesMax = board.DRAMSizeMax / megabyte
)

// The layout holds together, or the kernel does not compile.
const (
	_ uint32 = stateEnd - (stateBase + stateSize)
	_ uint32 = kernelEnd - (l2Tables + pagesMax*4)
	_ uint32 = board.Image - (board.DMA + board.DMASize)
	_ uint32 = epitaphPage - (bootPage + pageSize)
	_ uint32 = kernelStack - pageSize - epitaphEnd
)
