//go:build !arm

package mmio

import (
	"fmt"
	"sync"
)

// Device is a simulated register block. Offsets count from where it was installed, width is the
// access width in bytes, 2 or 4. A device that is touched by several goroutines guards itself.
type Device interface {
	ReadRegister(offset uint32, width int) uint32
	WriteRegister(offset uint32, width int, v uint32)
}

// window is one installed device or piece of memory.
type window struct {
	base, size uint32
	device     Device
	memory     []byte // instead of a device
}

var bus struct {
	sync.RWMutex
	windows []window
}

// Install puts a simulated device at [base, base+size) and returns what takes it away again.
// Ranges must not overlap, so tests that share addresses do not run in parallel.
func Install(base, size uint32, d Device) (remove func()) {
	return install(window{base: base, size: size, device: d})
}

// InstallMemory puts plain memory at base, for DMA descriptors and buffers, and returns what takes
// it away again. Register accesses read and write it little-endian, Bytes gives views of it.
func InstallMemory(base uint32, memory []byte) (remove func()) {
	return install(window{base: base, size: uint32(len(memory)), memory: memory})
}

func install(w window) (remove func()) {
	bus.Lock()
	defer bus.Unlock()
	for _, o := range bus.windows {
		if w.base < o.base+o.size && o.base < w.base+w.size {
			panic(fmt.Sprintf("mmio: %#x+%#x overlaps what stands at %#x", w.base, w.size, o.base))
		}
	}
	bus.windows = append(bus.windows, w)
	return func() {
		bus.Lock()
		defer bus.Unlock()
		for i, o := range bus.windows {
			if o.base == w.base {
				bus.windows = append(bus.windows[:i:i], bus.windows[i+1:]...)
				return
			}
		}
		panic(fmt.Sprintf("mmio: nothing left to remove at %#x", w.base))
	}
}

// find is the window that holds n bytes at addr. An access that hits none would be an external
// abort on the board, so that here it is a panic.
func find(addr, n uint32) window {
	bus.RLock()
	defer bus.RUnlock()
	for _, w := range bus.windows {
		if addr-w.base < w.size && n <= w.size-(addr-w.base) {
			return w
		}
	}
	panic(fmt.Sprintf("mmio: no device at %#x", addr))
}

func read(addr uint32, width int) uint32 {
	if addr%uint32(width) != 0 {
		panic(fmt.Sprintf("mmio: unaligned %d-byte read at %#x", width, addr))
	}
	w := find(addr, uint32(width))
	if w.device != nil {
		return w.device.ReadRegister(addr-w.base, width)
	}
	v := uint32(0)
	for i := width - 1; i >= 0; i-- {
		v = v<<8 | uint32(w.memory[addr-w.base+uint32(i)])
	}
	return v
}

func write(addr uint32, width int, v uint32) {
	if addr%uint32(width) != 0 {
		panic(fmt.Sprintf("mmio: unaligned %d-byte write at %#x", width, addr))
	}
	w := find(addr, uint32(width))
	if w.device != nil {
		w.device.WriteRegister(addr-w.base, width, v)
		return
	}
	for i := range width {
		w.memory[addr-w.base+uint32(i)] = byte(v >> (8 * i))
	}
}

// R32 reads the 32-bit register at addr, which is a multiple of 4.
func R32(addr uint32) uint32 { return read(addr, 4) }

// W32 writes v to the 32-bit register at addr, which is a multiple of 4.
func W32(addr, v uint32) { write(addr, 4, v) }

// R16 reads the 16-bit register at addr, which is a multiple of 2.
func R16(addr uint32) uint16 { return uint16(read(addr, 2)) }

// W16 writes v to the 16-bit register at addr, which is a multiple of 2.
func W16(addr uint32, v uint16) { write(addr, 2, uint32(v)) }

// Barrier has nothing to order against a simulated device.
func Barrier() {}

// Bytes is a view of the n bytes of memory installed at addr.
func Bytes(addr, n uint32) []byte {
	w := find(addr, n)
	if w.memory == nil {
		panic(fmt.Sprintf("mmio: bytes of a device at %#x", addr))
	}
	off := addr - w.base
	return w.memory[off : off+n : off+n]
}
