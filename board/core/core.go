// Package core is the processor itself, a Cortex-A7, as far as anybody but the kernel's assembly
// asks about it: whether it is one. It owns no state.
//
// Emulated is how the one image tells QEMU's board from the chip. What a boot loader does on
// silicon, and QEMU leaves out or has no model of, is done only where it says false.
//
// Register: Cortex-A7 MPCore Technical Reference Manual, DDI 0464, section 4.3.27 "Configuration
// Base Address Register". On other architectures than ARM it is simulated (see host.go).
//
// Seen in QEMU 7.2, where the register reads as zero. That silicon has 0x00a00000 there, the
// address of the interrupt controller, is the manual's word.
package core

// Emulated reports whether this is QEMU's i.MX 6UL: the processor does not know where its
// interrupt controller is.
func Emulated() bool { return peripheralBase() == 0 }
