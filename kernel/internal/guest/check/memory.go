//go:build arm

package check

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"

	"holdfast/kernel/sys"
)

const pageSize = 4096

// Hundreds of megabytes go through the heap; what survives keeps its contents.
func collection() (string, error) {
	const rounds, kept, megabytes = 30000, 500, 300
	survivors := make(map[int][]byte)
	total := 0
	for i := 0; total < megabytes<<20; i++ {
		b := make([]byte, 4096+i%16384)
		if b[0] != 0 || b[len(b)-1] != 0 {
			return "", fmt.Errorf("allocation %d is not zeroed", i)
		}
		b[0], b[len(b)-1] = byte(i), byte(i>>8)
		survivors[i%kept] = b
		total += len(b)
		if i%kept == kept-1 {
			for j, b := range survivors {
				if k := i - (kept - 1) + j; b[0] != byte(k) || b[len(b)-1] != byte(k>>8) {
					return "", fmt.Errorf("survivor %d has changed", k)
				}
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf("%d MB, %d collections, %d MB from the kernel",
		total>>20, m.NumGC, m.Sys>>20), nil
}

// mapping is memory straight from the kernel.
func mapping(size uintptr) ([]byte, error) {
	p, _, errno := syscall.Syscall6(syscall.SYS_MMAP2, 0, size,
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON, ^uintptr(0), 0)
	if errno != 0 {
		return nil, fmt.Errorf("mmap of %d bytes: %w", size, errno)
	}
	return unsafe.Slice((*byte)(unsafe.Add(nil, p)), size), nil
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// Memory costs nothing until it is touched, reads as zeros then, and again after MADV_DONTNEED.
func demandZero() (string, error) {
	const size = 16 << 20
	before := sys.ReadStats()
	b, err := mapping(size)
	if err != nil {
		return "", err
	}
	reserved := sys.ReadStats()
	if n := reserved.PagesInUse - before.PagesInUse; n != size/pageSize {
		return "", fmt.Errorf("%d pages reserved, want %d", n, size/pageSize)
	}
	if n := reserved.PagesTouched - before.PagesTouched; n > 100 {
		return "", fmt.Errorf("%d pages mapped before any was touched", n)
	}
	for round := range 2 {
		for at := 0; at < size; at += 37 * pageSize {
			page := b[at : at+pageSize]
			if !isZero(page) {
				return "", fmt.Errorf("round %d: the page at +%#x is not zero", round, at)
			}
			page[0], page[pageSize-1] = 0xa5, 0x5a
		}
		if err := advise(b, syscall.MADV_DONTNEED); err != nil {
			return "", err
		}
	}
	if !isZero(b) {
		return "", errors.New("not zero after MADV_DONTNEED")
	}
	touched := sys.ReadStats()
	if n := touched.PagesTouched - before.PagesTouched; n < size/pageSize {
		return "", fmt.Errorf("reading %d pages mapped only %d", size/pageSize, n)
	}
	if err := unmap(b); err != nil {
		return "", err
	}
	after := sys.ReadStats()
	if after.PagesInUse != before.PagesInUse {
		return "", fmt.Errorf("%d pages in use after munmap, %d before",
			after.PagesInUse, before.PagesInUse)
	}
	if err := fault(func() { b[5*pageSize] = 1 }); errors.Is(err, errNoFault) {
		return "", errors.New("unmapped memory can still be written")
	}
	return fmt.Sprintf("%d pages", size/pageSize), nil
}

func advise(b []byte, advice uintptr) error {
	_, _, errno := syscall.Syscall(syscall.SYS_MADVISE,
		uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), advice)
	if errno != 0 {
		return fmt.Errorf("madvise: %w", errno)
	}
	return nil
}

func unmap(b []byte) error {
	_, _, errno := syscall.Syscall(syscall.SYS_MUNMAP,
		uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0)
	if errno != 0 {
		return fmt.Errorf("munmap: %w", errno)
	}
	return nil
}

// A large block that the heap has given back and taken again is zeroed.
func givenBack() (string, error) {
	size := int(debug.SetMemoryLimit(-1) / 3)
	for round := range 2 {
		b := make([]byte, size)
		for at := 0; at < size; at += pageSize {
			if b[at] != 0 {
				return "", fmt.Errorf("round %d: byte %#x is not zero", round, at)
			}
			b[at] = 1
		}
		runtime.KeepAlive(b)
		b = nil
		debug.FreeOSMemory()
	}
	return fmt.Sprintf("%d MB twice", size>>20), nil
}

// zeros is large, and in the image's zeroed section.
var zeros [8 << 20]byte

func zeroedSections() (string, error) {
	before := sys.ReadStats().PagesTouched
	if !isZero(zeros[:]) {
		return "", errors.New("a zeroed variable has bits set")
	}
	n := sys.ReadStats().PagesTouched - before
	if n < len32(zeros[:])/pageSize-64 {
		return "", fmt.Errorf("reading %d pages mapped only %d: they were there before",
			len(zeros)/pageSize, n)
	}
	zeros[len(zeros)/2] = 1
	return fmt.Sprintf("%d pages", n), nil
}

func len32(b []byte) uint32 { return uint32(len(b)) }

// scattered leaves the addresses as full of holes as a program can, and then asks for room that
// none of the holes has, and for as much as there is: the kernel has to look at all of them.
func scattered() (string, error) {
	const pages, large = 6000, 64 << 20
	b, err := reservation(2 * pages * pageSize)
	if err != nil {
		return "", err
	}
	for i := range uintptr(pages) {
		if err := unmap(b[2*i*pageSize:][:pageSize]); err != nil {
			return "", err
		}
	}
	for range 20 {
		two, err := reservation(2 * pageSize)
		if err != nil {
			return "", err
		}
		most, err := reservation(large)
		if err != nil {
			return "", err
		}
		if err := errors.Join(unmap(two), unmap(most)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d holes", pages), unmap(b)
}

// reservation is addresses without memory.
func reservation(size uintptr) ([]byte, error) {
	p, _, errno := syscall.Syscall6(syscall.SYS_MMAP2, 0, size, syscall.PROT_NONE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON, ^uintptr(0), 0)
	if errno != 0 {
		return nil, fmt.Errorf("mmap of %d bytes of addresses: %w", size, errno)
	}
	return unsafe.Slice((*byte)(unsafe.Add(nil, p)), size), nil
}
