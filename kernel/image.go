package kernel

import "holdfast/board"

// image is what the kernel knows about the program: its segments, as the linker wrote them into
// the ELF headers at the start of the first one. Taking them from there, and not from symbols,
// means that the protection of every page is the one that the linker meant.
type image struct {
	segments [segmentsMax]segment
	count    int
	fileEnd  uint32 // of what the loader filled, rounded up to a page
	end      uint32 // of all with their zeros, rounded up to a page
}

// segment is a range of the image with one protection. [file, end) is not in the image: the
// program expects zeros there.
type segment struct {
	start, file, end uint32
	flags            uint32
}

const (
	segmentsMax = 8

	segmentExec  = 1
	segmentWrite = 2

	elfMagic    = 0x464c457f // "\x7fELF"
	elfPhoff    = 0x1c
	elfPhnum    = 0x2c
	elfPhdrSize = 32
	elfPTLoad   = 1
)

// read finds the image's segments.
func (m *image) read() {
	if *word(board.Image) != elfMagic {
		die("kernel: no ELF header in front of the image")
	}
	header := board.Image + *word(board.Image + elfPhoff)
	for n := *word(board.Image + elfPhnum) & 0xffff; n != 0; n-- {
		start, filesz := *word(header + 8), *word(header + 16)
		memsz, flags := *word(header + 20), *word(header + 24)
		if *word(header) == elfPTLoad {
			m.segments[m.count] = segment{start, start + filesz, start + memsz, flags}
			m.count++
			m.fileEnd = max(m.fileEnd, pageUp(start+filesz))
			m.end = max(m.end, pageUp(start+memsz))
		}
		header += elfPhdrSize
	}
}

// find is the segment that holds address a, nil if none does. Segments start on page boundaries
// and do not share pages.
func (m *image) find(a uint32) *segment {
	for i := range m.segments[:m.count] {
		if s := &m.segments[i]; a-s.start < pageUp(s.end)-s.start {
			return s
		}
	}
	return nil
}

// isCode reports whether a is the address of an instruction of the image.
func (m *image) isCode(a uint32) bool {
	s := m.find(a)
	return s != nil && s.flags&segmentExec != 0 && a < s.file
}

// clearEdge zeroes what follows the file's last byte on its page. The pages behind it are zeroed
// when they are first touched.
func (s *segment) clearEdge() {
	if edge := min(pageUp(s.file), s.end); edge > s.file {
		clear(bytesAt(s.file, edge-s.file))
	}
}

// pageUp is a rounded up to a page boundary.
func pageUp(a uint32) uint32 { return (a + pageSize - 1) &^ (pageSize - 1) }
