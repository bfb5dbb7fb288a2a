package kernel

// epitaph is what the console showed of a crash, in memory that survives the reset: neither the
// loader nor the entry code touches it, and it is not cached, so that every byte is there when the
// board is reset a moment later. It begins with the line that begins with "panic: " or
// "fatal error: " and holds what comes behind it, as far as there is room.
//
//	epitaphPage  magic u32, length u32, crc u32 of the text (CRC-32, IEEE), text
//
// The next boot looks for it, once, and hands it to whoever asks (package kernel/sys). An end that
// is no crash leaves none.
type epitaph struct {
	recording uint32 // recordingMark while what is printed is kept
	length    uint32
	crc       uint32 // of that, not complemented

	found uint32 // length of the text that the boot before left, 0 for none
}

const (
	epitaphMagic  = 0x68706145
	epitaphHeader = 12
	epitaphMax    = epitaphEnd - epitaphPage - epitaphHeader

	// recordingMark is not true or false, so that a kernel whose data has been overwritten knows.
	recordingMark = 0x0b1ac4ed
)

// init looks for what the boot before left, and sees to it that the next one does not find it.
func (e *epitaph) init() {
	length, crc := *word(epitaphPage + 4), *word(epitaphPage + 8)
	magic := *word(epitaphPage)
	*word(epitaphPage) = 0
	if magic != epitaphMagic || length == 0 || length > epitaphMax {
		return
	}
	sum := ^uint32(0)
	for i := range length {
		sum = crcByte(sum, *(*byte)(ptr(epitaphPage + epitaphHeader + i)))
	}
	if ^sum == crc {
		e.found = length
	}
}

// begin keeps what follows. A second panic on the way to the end goes on behind the first.
func (e *epitaph) begin() {
	if e.recording != recordingMark {
		e.recording, e.length, e.crc, e.found = recordingMark, 0, ^uint32(0), 0
	}
}

// add keeps one byte, after which the record is whole.
func (e *epitaph) add(b byte) {
	if e.recording != recordingMark || e.length >= epitaphMax {
		return
	}
	*(*byte)(ptr(epitaphPage + epitaphHeader + e.length)) = b
	e.length++
	e.crc = crcByte(e.crc, b)
	*word(epitaphPage) = epitaphMagic
	*word(epitaphPage + 4) = e.length
	*word(epitaphPage + 8) = ^e.crc
}

// drop forgets it all: the end is no crash.
func (e *epitaph) drop() {
	e.recording = 0
	*word(epitaphPage) = 0
}

// crcByte is CRC-32 (IEEE 802.3, reflected) without a table.
func crcByte(crc uint32, b byte) uint32 {
	crc ^= uint32(b)
	for range 8 {
		crc = crc>>1 ^ 0xedb88320&-(crc&1)
	}
	return crc
}

// takeEpitaph copies up to n bytes of what the boot before left to out, and says how many there
// are.
func (k *kernel) takeEpitaph(out, n uint32) int32 {
	if n = min(n, k.console.epitaph.found); n == 0 {
		return 0
	}
	if !k.writable(out, n) {
		return -eFAULT
	}
	copy(bytesAt(out, n), bytesAt(epitaphPage+epitaphHeader, n))
	return int32(n)
}
