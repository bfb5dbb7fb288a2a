package mmio

import "unsafe"

// R32 reads the 32-bit register at addr, which is a multiple of 4.
//
//go:noescape
func R32(addr uint32) uint32

// W32 writes v to the 32-bit register at addr, which is a multiple of 4.
//
//go:noescape
func W32(addr, v uint32)

// R16 reads the 16-bit register at addr, which is a multiple of 2.
//
//go:noescape
func R16(addr uint32) uint16

// W16 writes v to the 16-bit register at addr, which is a multiple of 2.
//
//go:noescape
func W16(addr uint32, v uint16)

// Barrier completes every earlier memory and register access before any later one starts, for
// every observer in the system (DSB SY).
//
//go:noescape
func Barrier()

// Bytes is a view of the n bytes of memory at addr. It serves buffers that a device reads and
// writes by DMA; it must not be used for registers, because the width of an access through it is
// the compiler's choice. The memory is the caller's: the garbage collector does not know it.
func Bytes(addr, n uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(nil, addr)), n)
}
