//go:build arm

package check

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"holdfast/board"
	"holdfast/board/mmio"
)

// The processor's faults come back as Go panics that can be recovered.
func recoveredFaults() (string, error) {
	var p *[4]int
	var zero int
	s := []int{1}
	outside := len(os.Args) + 5
	for _, tt := range []struct {
		name, want string
		address    uintptr // that the error has to name, 0 for none
		run        func()
	}{
		{"nil write", "nil pointer", 0, func() { p[2] = 1 }},
		{"nil read", "nil pointer", 0, func() { zero = p[3] }},
		{"divide", "divide by zero", 0, func() { s[0] = 1 / zero }},
		{"index", "out of range", 0, func() { s[outside] = 1 }},
		{"hole, read", "invalid memory", 0x60000000, func() { s[0] = *at[int](0x60000000) }},
		{"top, write", "invalid memory", 0xfffffffc, func() { *at[int](0xfffffffc) = 1 }},
		{"below the kernel's stack", "invalid memory", belowStack, func() { *at[int](belowStack) = 1 }},
		{"beyond the memory", "invalid memory", 0xa0000000, func() { *at[int](0xa0000000) = 1 }},
		{"unaligned exclusive", "invalid memory", uintptr(unsafe.Pointer(&s[0])) + 1,
			func() { loadUnaligned(&s[0]) }},
	} {
		err := fault(tt.run)
		if !strings.Contains(err.Error(), tt.want) {
			return "", fmt.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		e, ok := err.(interface{ Addr() uintptr })
		if tt.address != 0 && (!ok || e.Addr() != tt.address) {
			return "", fmt.Errorf("%s: %v does not name %#x", tt.name, err, tt.address)
		}
	}
	return "nil, divide, index, unmapped, unaligned", nil
}

// belowStack is in the page that guards the kernel's stack.
const belowStack = board.DRAM + 0xf000

// at is memory at an address of the test's choice.
func at[T any](address uintptr) *T { return (*T)(unsafe.Add(nil, address)) }

// A program may not touch a register that no device has.
func unmappedRegisters() (string, error) {
	err := fault(func() { mmio.R32(board.RNGB) }) // only on the 6ULL, not in QEMU
	if errors.Is(err, errNoFault) {
		return "", err
	}
	return err.Error(), nil
}

func deepStacks() (string, error) {
	var deep func(n int) int
	deep = func(n int) int {
		var pad [64]int
		if n == 0 {
			return pad[0]
		}
		return deep(n-1) + 1
	}
	const depth = 20000
	if n := deep(depth); n != depth {
		return "", fmt.Errorf("depth %d", n)
	}
	return fmt.Sprint(depth, " frames"), nil
}

// Nothing is writable and executable.
func writeExecute() (string, error) {
	f := writeExecute
	text := **(**uintptr)(unsafe.Pointer(&f))
	constant := unsafe.StringData("a constant")
	code := []uint32{0xe1a0f00e} // mov pc, lr
	entry := &code[0]
	closure := &entry
	for _, tt := range []struct {
		name string
		run  func()
	}{
		{"write to code", func() { *at[uint32](text) = 0 }},
		{"write to a constant", func() { *(*byte)(unsafe.Pointer(constant)) = 'A' }},
		{"write to the vDSO", func() { *at[uint32](board.DRAM + 0x6200) = 0 }},
		{"write to the vectors", func() { *at[uint32](board.DRAM + 0x4000) = 0 }},
		{"execute the heap", func() { (*(*func())(unsafe.Pointer(&closure)))() }},
	} {
		if err := fault(tt.run); errors.Is(err, errNoFault) {
			return "", fmt.Errorf("%s: %v", tt.name, err)
		}
	}
	return "code, constants, vDSO and vectors are read-only, the heap can not be executed", nil
}
