//go:build arm

// Crash ends, or breaks the kernel, in the way that MODE names. The kernel's boot test judges what
// the console shows and whether the board was reset.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"unsafe"

	"holdfast/board/mmio"
	"holdfast/kernel/sys"
)

var modes = map[string]func(){
	"return":         func() {},
	"exit 3":         func() { os.Exit(3) },
	"panic":          func() { panic("on purpose") },
	"long":           func() { panic(strings.Repeat("x", 300)) },
	"nil":            func() { *at(8) = 1 },
	"deadlock":       func() { select {} },
	"out of memory":  outOfMemory,
	"stack overflow": func() { debug.SetMaxStack(8 << 20); overflow(0) },
	"printed before": func() { fmt.Println("no panic: at the start of this line"); os.Exit(4) },
	"unfinished":     func() { fmt.Print("a line without an end"); os.Exit(5) },
	"killed":         func() { signal(syscall.SIGKILL) },
	"power off":      sys.PowerOff,
	"reset":          sys.Reset,

	"unhandled fault":  func() { disableSignalStack(); *at(8) = 1 },
	"kernel data":      func() { kernelData(); unreachable() },
	"kernel fetch":     func() { kernelFetch(); unreachable() },
	"kernel undefined": func() { kernelUndefined(); unreachable() },
	"kernel call":      func() { kernelCall(); unreachable() },
	"kernel stack":     func() { kernelStack(); unreachable() },
	"kernel state":     kernelState,
}

func main() {
	mode := os.Getenv("MODE")
	run, ok := modes[mode]
	if !ok {
		fmt.Printf("crash: no mode %q\n", mode)
		os.Exit(99)
	}
	if left := sys.Epitaph(); left != "" {
		for line := range strings.Lines(left) {
			fmt.Print("epitaph: ", line)
		}
		return
	}
	fmt.Println("crash:", mode)
	run()
}

func unreachable() { fmt.Println("crash: survived") }

// at is the word at an address.
func at(address uintptr) *uint32 { return (*uint32)(unsafe.Add(nil, address)) }

var hoard [][]byte

func outOfMemory() {
	debug.SetMemoryLimit(1 << 40)
	debug.SetGCPercent(-1)
	for {
		hoard = append(hoard, make([]byte, 4<<20))
	}
}

func overflow(n int) int { return overflow(n+1) + 1 }

// signal sends a signal to the thread that runs this.
func signal(s syscall.Signal) {
	tid, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0)
	syscall.RawSyscall(syscall.SYS_TGKILL, 1, tid, uintptr(s))
}

// disableSignalStack leaves the thread that runs this nowhere to take a signal.
func disableSignalStack() {
	stack := [3]uintptr{0, 2, 0} // SS_DISABLE
	syscall.RawSyscall(syscall.SYS_SIGALTSTACK, uintptr(unsafe.Pointer(&stack)), 0, 0)
}

// kernelState overwrites all of the kernel's data but what it needs to find itself, which the
// first exception afterwards finds out.
func kernelState() {
	const start, end = 0x8001a800, 0x8003f000
	for a := uintptr(start); a < end; a += 4 {
		mmio.W32(uint32(a), 0x5a5a5a5a)
	}
	for {
		runtime.Gosched()
	}
}
