// Package sys is the kernel as ordinary goroutine code sees it, beyond what package os and the
// runtime already use: the raw counter, the memory, the loader's seed, the generator's key, the
// figures, and the two ways to end. To import it links the kernel into the program.
//
// It keeps no state. Everything but the counter is a system call of its own, in the numbers that
// Linux leaves to the ARM architecture; package kernel has the list. Nothing here blocks, and all
// of it may be called from any goroutine.
//
// On other architectures than ARM the package compiles, so that programs can be vetted, and every
// call panics: there is no kernel to ask.
package sys

import (
	"runtime"
	"syscall"
	"unsafe"

	"holdfast/board"
	"holdfast/board/timer"
	"holdfast/kernel"
)

// Stats is what the kernel counted since boot.
type Stats = kernel.Stats

// Counter is the machine's counter in ticks of 1/CounterHz seconds. It never goes back and is not
// reset with the machine. It takes no trap. Under QEMU's -icount shift=0 it counts instructions,
// 16 to a tick.
func Counter() uint64 { return timer.Counter() }

// CounterHz is the counter's frequency: 62,500,000 under QEMU, 8,000,000 on silicon.
func CounterHz() uint32 { return timer.Hz() }

// RAM is the size in bytes of the memory that the kernel uses.
func RAM() uint32 { return ReadStats().RAM }

// DMA is the memory that devices read and write: not cached, not the garbage collector's. The
// kernel never touches it; whoever sets the devices up divides it among them.
func DMA() (base, size uint32) { return board.DMA, board.DMASize }

// TakeSeed hands over the 32 bytes of entropy that the loader left for this boot, once. It reports
// false when there were none, or somebody has taken them. Afterwards no copy is left, here or in
// the loader's page; what the generator made of it does not lead back to it.
func TakeSeed() (seed [board.SeedSize]byte, ok bool) {
	call(kernel.CallSeed, unsafe.Pointer(&seed))
	return seed, seed != [board.SeedSize]byte{}
}

// Rekey mixes key into the key of the generator that answers getrandom, and so crypto/rand. What
// the generator hands out afterwards is at least as hard to guess as key.
func Rekey(key *[board.SeedSize]byte) { call(kernel.CallRekey, unsafe.Pointer(key)) }

// ReadStats reads the kernel's figures.
func ReadStats() (s Stats) {
	call(kernel.CallStats, unsafe.Pointer(&s))
	return s
}

// Thread is one of the kernel's threads: an M of the Go runtime.
type Thread struct {
	ID    int    // as in a panic's trace
	State string // running, ready, futex, poll, sleep or console
	Ticks uint64 // counter ticks it has run
}

// ReadThreads lists the threads there are, by id.
func ReadThreads() (list []Thread) {
	var all kernel.Threads
	call(kernel.CallThreads, unsafe.Pointer(&all))
	for i, t := range all {
		if t.State != kernel.ThreadNone {
			list = append(list, Thread{ID: i + 1, State: t.State.String(), Ticks: t.Ticks})
		}
	}
	return list
}

// Epitaph is what the console showed of the crash in which the boot before ended, from the line
// that begins with "panic: " or "fatal error: " on, at most kernel.EpitaphMax bytes; empty when it
// did not crash, or when the board has been without power.
func Epitaph() string {
	b := make([]byte, kernel.EpitaphMax)
	n, _, errno := syscall.RawSyscall(kernel.CallEpitaph, uintptr(unsafe.Pointer(&b[0])),
		uintptr(len(b)), 0)
	if errno != 0 {
		panic("sys: the kernel refused a call: " + errno.Error())
	}
	return string(b[:n])
}

// Reset resets the board. It does not return.
func Reset() { call(kernel.CallReset, nil) }

// PowerOff switches the board off. It does not return.
func PowerOff() { call(kernel.CallPowerOff, nil) }

// call makes a system call of the kernel's own, none of which can fail but for a bad pointer.
func call(number uintptr, p unsafe.Pointer) {
	if runtime.GOARCH != "arm" {
		panic("sys: there is no kernel here")
	}
	if _, _, errno := syscall.RawSyscall(number, uintptr(p), 0, 0); errno != 0 {
		panic("sys: the kernel refused a call: " + errno.Error())
	}
}
