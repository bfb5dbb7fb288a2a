//go:build !arm

package kernel

import (
	"unsafe"

	"holdfast/board"
)

// host is the machine where there is none: tests put memory there and look at what the kernel did
// to the processor. Devices and the timer are simulated by their own packages.
var host struct {
	kernel  *kernel
	memory  []byte // DRAM, from its first byte
	status  uint32 // of the next data or fetch fault
	address uint32
	wait    func() // runs instead of waiting for an interrupt
	flushed int    // translations forgotten
}

func ptr(a uint32) unsafe.Pointer { return unsafe.Pointer(&host.memory[a-board.DRAM]) }

func theKernel() *kernel { return host.kernel }

func enableMMU(uint32)        {}
func flushTLBPage(uint32)     { host.flushed++ }
func publishTables()          {}
func saveFP(*fpRegs)          {}
func loadFP(*fpRegs)          {}
func clearVirtualOffset()     {}
func waitForInterrupt()       { host.wait() }
func runtimeEntry() uint32    { return board.ImageText }
func vdsoCode() (s, e uint32) { return board.ImageText, board.ImageText + 16 }

func dataFault() (status, address uint32)  { return host.status, host.address }
func fetchFault() (status, address uint32) { return host.status, host.address }

// addressOf has no meaning to the processor here, but tells objects apart.
func addressOf[T any](p *T) uint32 { return uint32(uintptr(unsafe.Pointer(p))) }

func die(message string) { panic(message) }
