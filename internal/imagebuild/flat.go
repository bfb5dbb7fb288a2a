package imagebuild

import (
	"debug/elf"
	"fmt"

	"holdfast/board"
	"holdfast/board/imximage"
)

// Flat is an image as it lies in memory once it is loaded: what a loader that knows nothing of ELF
// copies to board.Image, headers included, which the kernel reads there.
type Flat struct {
	Entry  uint32 // address of the first instruction
	Memory []byte // from board.Image on; sections of zeros behind it are not in it
}

// Flatten reads the image that Build wrote.
func Flatten(path string) (Flat, error) {
	f, err := elf.Open(path)
	if err != nil {
		return Flat{}, fmt.Errorf("imagebuild: %w", err)
	}
	defer f.Close()
	if f.Machine != elf.EM_ARM || f.Class != elf.ELFCLASS32 {
		return Flat{}, fmt.Errorf("imagebuild: %s is for %v, not for the board", path, f.Machine)
	}
	flat := Flat{Entry: uint32(f.Entry)}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Filesz == 0 {
			continue
		}
		from := p.Vaddr - board.Image
		if end := from + p.Filesz; p.Vaddr < board.Image || end > board.DRAMSize {
			return Flat{}, fmt.Errorf("imagebuild: %s has a segment of %d bytes at %#x, outside the memory",
				path, p.Filesz, p.Vaddr)
		} else if end > uint64(len(flat.Memory)) {
			flat.Memory = append(flat.Memory, make([]byte, end-uint64(len(flat.Memory)))...)
		}
		if _, err := p.ReadAt(flat.Memory[from:from+p.Filesz], 0); err != nil {
			return Flat{}, fmt.Errorf("imagebuild: %s: %w", path, err)
		}
	}
	if len(flat.Memory) < 4 || string(flat.Memory[:4]) != elf.ELFMAG {
		return Flat{}, fmt.Errorf("imagebuild: %s does not start with its headers at %#x", path,
			uint32(board.Image))
	}
	return flat, nil
}

// Boot is the image at path as the chip's boot ROM takes it: holdfast.imx.
func Boot(path string) ([]byte, error) {
	flat, err := Flatten(path)
	if err != nil {
		return nil, err
	}
	return imximage.Image{
		Entry: flat.Entry, Load: board.Image, Payload: flat.Memory, DCD: imximage.EVK(),
	}.Bytes()
}
