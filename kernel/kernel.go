package kernel

import "unsafe"

// kernel is everything that the kernel knows between two exceptions. The one instance stands at
// stateBase, zeroed by the entry code; nothing else in this package is a variable. So the kernel's
// data is outside of the image, the garbage collector never sees it, and a test can have a kernel
// of its own.
//
// There is no lock: the kernel runs with interrupts masked, on one core, and never nests.
type kernel struct {
	current uint32     // address of the running thread's regs, where the vectors save registers
	g       dummyG     // the g register's value in SVC mode
	abort   abortFrame // registers of an abort that the kernel itself caused

	image   image
	memory  memory
	sched   scheduler
	clock   clock
	files   fileTable
	signals signalState
	random  generator
	console console
	calls   callCounts
	masked  masked
	dying   uint32 // dyingMark: the end has begun, report nothing more

	threads [threadsMax]thread
}

// stateSize is the size of the kernel struct in memory.
const stateSize = uint32(unsafe.Sizeof(kernel{}))

// dyingMark is not true or false but a pattern, so that a kernel whose data has been overwritten
// still reports its end.
const dyingMark = 0x0dead1e5

// dummyG stands in for a runtime.g while the kernel runs. Function prologues compare the stack
// pointer with the bounds in it; whatever else the runtime keeps there reads as nil, so that code
// that may not run in the kernel (allocation, write barriers) faults at once.
type dummyG struct {
	stackLo, stackHi         uint32
	stackGuard0, stackGuard1 uint32
	_                        [252]uint32
}

// abortFrame is r0-r14 of the interrupted mode, then pc and cpsr.
type abortFrame [17]uint32

// word is the 32-bit word of memory at address a.
func word(a uint32) *uint32 { return (*uint32)(ptr(a)) }

// bytesAt is the n bytes of memory at address a.
func bytesAt(a, n uint32) []byte { return unsafe.Slice((*byte)(ptr(a)), n) }
