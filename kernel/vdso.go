package kernel

// The vDSO: an ELF image that the kernel makes at boot, the least that the runtime's parser
// accepts, with __vdso_clock_gettime in it. It saves a trap for every reading of the clock. The
// page is the vDSO's alone, because the runtime treats every PC in it as one that may have lost g.
//
//	offset  holds
//	0x000   ELF header
//	0x040   program headers: PT_LOAD of the page, PT_DYNAMIC
//	0x080   dynamic section
//	0x0c0   symbol table: the null symbol, __vdso_clock_gettime
//	0x0e0   hash table
//	0x100   version definition, which the runtime insists on
//	0x140   strings
//	0x200   code, copied from vdso_arm.s
const (
	vdsoProgram = 0x040
	vdsoDynamic = 0x080
	vdsoSymbols = 0x0c0
	vdsoHash    = 0x0e0
	vdsoVersion = 0x100
	vdsoStrings = 0x140
	vdsoText    = 0x200
	vdsoTextMax = 0x200

	vdsoStringTable  = "\x00LINUX_2.6\x00__vdso_clock_gettime\x00"
	vdsoVersionName  = 1         // offset in the string table
	vdsoVersionHash  = 0x3ae75f6 // ELF hash of LINUX_2.6
	vdsoFunctionName = 11        // offset in the string table
)

// buildVDSO writes the image to its page.
func buildVDSO() {
	clear(bytesAt(vdsoPage, pageSize))
	start, end := vdsoCode()
	size := end - start
	if size == 0 || size > vdsoTextMax {
		die("kernel: the vDSO's code does not fit")
	}
	copy(bytesAt(vdsoPage+vdsoText, size), bytesAt(start, size))

	w := stackWriter{at: vdsoPage, end: vdsoPage + pageSize}
	// ELF32, little-endian, version 1; ET_DYN for EM_ARM; two program headers of 32 bytes.
	w.words(0x464c457f, 0x00010101, 0, 0, 3|40<<16, 1, 0, vdsoProgram, 0, 0, 52|32<<16, 2)
	w.at = vdsoPage + vdsoProgram
	w.words(1, 0, 0, 0, pageSize, pageSize, 5, pageSize)            // PT_LOAD, R+X
	w.words(2, vdsoDynamic, vdsoDynamic, vdsoDynamic, 40, 40, 4, 4) // PT_DYNAMIC, R
	w.at = vdsoPage + vdsoDynamic
	w.words(4, vdsoHash, 5, vdsoStrings, 6, vdsoSymbols, 0x6ffffffc, vdsoVersion, 0, 0)
	w.at = vdsoPage + vdsoSymbols + 16
	w.words(vdsoFunctionName, vdsoText, size, 1<<4|2|1<<16) // global, function, section 1
	w.at = vdsoPage + vdsoHash
	w.words(1, 2, 1, 0, 0) // one bucket with symbol 1, two chains
	w.at = vdsoPage + vdsoVersion
	w.words(1, 1|1<<16, vdsoVersionHash, 20, 0, vdsoVersionName, 0)
	w.at = vdsoPage + vdsoStrings
	w.text(vdsoStringTable)
}

// words writes several words.
func (w *stackWriter) words(v ...uint32) {
	for _, v := range v {
		w.word(v)
	}
}

// buildSigreturn writes the two instructions that a signal handler returns to. They stand outside
// of the vDSO, because there the runtime expects g to be lost.
func buildSigreturn() {
	*word(sigretPage) = callSigreturn0
	*word(sigretPage + 4) = callSigreturn1
}
