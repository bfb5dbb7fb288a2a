package kernel

import "unsafe"

// ptr is the memory at address a: the kernel and the program share one identity mapping.
func ptr(a uint32) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(nil), a) }

// theKernel is the one instance.
func theKernel() *kernel { return (*kernel)(ptr(stateBase)) }

// The rest of this list is in cpu_arm.s.

// enableMMU points the processor at the page tables and turns the MMU and both caches on.
//
//go:noescape
func enableMMU(table uint32)

// flushTLBPage forgets the translation of the page at address a.
//
//go:noescape
func flushTLBPage(a uint32)

// publishTables completes writes to the page tables before the next access through them.
//
//go:noescape
func publishTables()

// saveFP stores the floating-point registers of the running thread in f.
//
//go:noescape
func saveFP(f *fpRegs)

// loadFP makes f the floating-point registers.
//
//go:noescape
func loadFP(f *fpRegs)

// clearVirtualOffset sets CNTVOFF to zero: out of reset, what the virtual counter lags behind the
// physical one is anything. Only the secure state may.
//
//go:noescape
func clearVirtualOffset()

// waitForInterrupt sleeps until an interrupt is pending, masked or not.
//
//go:noescape
func waitForInterrupt()

// dataFault is DFSR and DFAR: why and where the last data access failed.
//
//go:noescape
func dataFault() (status, address uint32)

// fetchFault is IFSR and IFAR: why and where the last instruction fetch failed.
//
//go:noescape
func fetchFault() (status, address uint32)

// runtimeEntry is the address at which Linux would have started the program.
//
//go:noescape
func runtimeEntry() uint32

// vdsoCode is the range of the code that goes into the vDSO.
//
//go:noescape
func vdsoCode() (start, end uint32)

// addressOf is where p points, which is what the hardware and the program's registers know.
func addressOf[T any](p *T) uint32 { return uint32(uintptr(unsafe.Pointer(p))) }

// die ends the kernel because one of its own invariants is broken. Go's panic can not run here.
func die(message string) { theKernel().die(message) }
