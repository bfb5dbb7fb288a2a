package kernel

import "holdfast/board"

// What Linux puts on the stack of a new program, from the top of thread 0's stack downwards:
//
//	strings     platform name, 16 random bytes, argv[0], the boot page's lines, the environment
//	vectors     argc, argv..., 0, envp..., 0, auxiliary vector   <- SP of thread 0
const (
	stringsSize = 8192
	vectorsSize = 8192

	auxPageSize = 6
	auxPlatform = 15
	auxHWCap    = 16
	auxHWCap2   = 26
	auxSecure   = 23
	auxRandom   = 25
	auxVDSO     = 33

	platformName = "v7l" // "v7" makes the runtime use the native atomics

	// hwcap is what a Cortex-A7 can do: half, thumb, fastmult, vfp, edsp, neon, vfpv3, tls, vfpv4,
	// idiva, idivt, vfpd32, lpae.
	hwcap = 1<<1 | 1<<2 | 1<<4 | 1<<6 | 1<<7 | 1<<12 | 1<<13 | 1<<15 | 1<<16 | 1<<17 | 1<<18 |
		1<<19 | 1<<20

	// The boot page's lines that are for the kernel.
	ramLine     = "ram="     // the memory size, in MiB
	measureLine = "measure=" // 1: see masked.go
)

// startStack writes all that and returns the stack pointer.
func (k *kernel) startStack() uint32 {
	s := stackWriter{at: threadStackTop - stringsSize, end: threadStackTop}
	platform := s.text(platformName)
	s.byte(0)
	random := s.at
	k.random.fill(random, 16)
	s.at += 16
	name := s.text(programName)
	s.byte(0)
	lines := s.at
	s.bootPage()
	s.text(environment)
	s.text(memoryLimitName)
	s.decimal(k.memory.total / 100 * memoryLimitPercent * pageSize)
	s.byte(0)
	linesEnd := s.at

	sp := uint32(threadStackTop - stringsSize - vectorsSize)
	v := stackWriter{at: sp, end: sp + vectorsSize}
	v.word(0) // argc, below
	v.word(name)
	*word(sp) = 1 + v.pointers(lines, linesEnd, true)
	v.word(0)
	v.pointers(lines, linesEnd, false)
	v.word(0)
	v.pair(auxPageSize, pageSize)
	v.pair(auxPlatform, platform)
	v.pair(auxHWCap, hwcap)
	v.pair(auxHWCap2, 0)
	v.pair(auxSecure, 0)
	v.pair(auxRandom, random)
	v.pair(auxVDSO, vdsoPage)
	v.pair(0, 0)
	return sp
}

// stackWriter writes from at upwards and never beyond end.
type stackWriter struct{ at, end uint32 }

func (w *stackWriter) byte(b byte) {
	if w.at >= w.end {
		die("kernel: arguments and environment do not fit")
	}
	*(*byte)(ptr(w.at)) = b
	w.at++
}

func (w *stackWriter) word(v uint32) {
	if w.end-w.at < 4 {
		die("kernel: arguments and environment do not fit")
	}
	*word(w.at) = v
	w.at += 4
}

func (w *stackWriter) pair(tag, v uint32) {
	w.word(tag)
	w.word(v)
}

// text writes s without a zero byte and returns where it starts.
func (w *stackWriter) text(s string) uint32 {
	start := w.at
	for i := 0; i < len(s); i++ {
		w.byte(s[i])
	}
	return start
}

func (w *stackWriter) decimal(v uint32) {
	if v >= 10 {
		w.decimal(v / 10)
	}
	w.byte(byte('0' + v%10))
}

// bootPage copies the loader's lines, each ended by a zero byte.
func (w *stackWriter) bootPage() {
	last := byte(0)
	for a := uint32(bootPage); a < bootPage+board.BootSize; a++ {
		c := *(*byte)(ptr(a))
		if c == 0 {
			break
		}
		if c == '\n' {
			c = 0
		}
		w.byte(c)
		last = c
	}
	if last != 0 {
		w.byte(0)
	}
}

// pointers writes the addresses of the strings in [from, to), of those that start with "-" or of
// the others, and counts them. Empty strings and the kernel's own lines are neither.
func (w *stackWriter) pointers(from, to uint32, arguments bool) (count uint32) {
	first := true
	for a := from; a < to; a++ {
		c := *(*byte)(ptr(a))
		if first && c != 0 && (c == '-') == arguments &&
			!startsWith(a, ramLine) && !startsWith(a, measureLine) {
			w.word(a)
			count++
		}
		first = c == 0
	}
	return count
}

// startsWith reports whether the memory at a starts with s.
func startsWith(a uint32, s string) bool {
	for i := 0; i < len(s); i++ {
		if *(*byte)(ptr(a + uint32(i))) != s[i] {
			return false
		}
	}
	return true
}

// bootNumber is what the boot page's line with this beginning says, 0 if there is none, and more
// than most if it says more.
func bootNumber(line string, most uint32) uint32 {
	for a, first := uint32(bootPage), true; a < bootPage+board.BootSize; a++ {
		c := *(*byte)(ptr(a))
		if c == 0 {
			break
		}
		if first && startsWith(a, line) {
			n := uint32(0)
			for a += uint32(len(line)); ; a++ {
				c := *(*byte)(ptr(a))
				if c < '0' || c > '9' || n > most {
					return n
				}
				n = n*10 + uint32(c-'0')
			}
		}
		first = c == '\n'
	}
	return 0
}
