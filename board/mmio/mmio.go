// Package mmio is the one way to touch a device: single register accesses of an exact width, the
// barriers between them, and byte views of memory that a device shares by DMA. Nothing else in
// the tree dereferences a device address.
//
// On the ARM target every access is one instruction in assembly, so that the compiler can neither
// merge, split, reorder nor drop it. An access to an address that no device decodes ends in an
// external abort, which the kernel turns into SIGBUS or SIGSEGV.
//
// On every other architecture the package is a switchboard for simulated devices: a test installs
// a Device at an address and runs the unchanged driver against it (see host.go). This is how
// drivers are tested without the board.
//
// The package keeps no state on the target, never allocates there, and may be called in every
// processor mode, the kernel's interrupt-masked SVC mode included.
//
// Ordering: registers are mapped as device memory, so accesses to one device stay in program
// order. Barrier is needed between memory that a device reads by DMA (normal, uncached) and the
// register write that tells the device to look at it, and the other way round. ARM Architecture
// Reference Manual ARMv7-A, A3.8.
package mmio

// SetBits32 reads the 32-bit register at addr and writes it back with the bits of mask set. It is
// two accesses: whoever calls it owns the register.
func SetBits32(addr, mask uint32) { W32(addr, R32(addr)|mask) }

// ClearBits32 reads the 32-bit register at addr and writes it back with the bits of mask clear. It
// is two accesses: whoever calls it owns the register.
func ClearBits32(addr, mask uint32) { W32(addr, R32(addr)&^mask) }
