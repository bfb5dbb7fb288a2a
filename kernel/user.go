package kernel

// Memory that a system call was given an address of. The kernel takes no fault on the program's
// behalf: before it dereferences such an address it makes sure that the page is there, and answers
// EFAULT when it can not be. What the program may pass is what it may use: its image, the pool,
// the DMA memory and thread 0's stack, but not the kernel's own data.

// readable makes [a, a+n) readable, or reports that it is not the program's.
func (k *kernel) readable(a, n uint32) bool { return k.reach(a, n, false) }

// writable makes [a, a+n) writable, or reports that it is not the program's.
func (k *kernel) writable(a, n uint32) bool { return k.reach(a, n, true) }

// wordsReadable is readable for a structure of words, which has to be aligned.
func (k *kernel) wordsReadable(a, n uint32) bool { return a%4 == 0 && k.reach(a, n, false) }

// wordsWritable is writable for a structure of words, which has to be aligned.
func (k *kernel) wordsWritable(a, n uint32) bool { return a%4 == 0 && k.reach(a, n, true) }

func (k *kernel) reach(a, n uint32, write bool) bool {
	if n == 0 {
		return true
	}
	last := a + n - 1
	if a < threadStack || last < a || last >= spaceEnd {
		return false
	}
	if a < kernelEnd && last >= threadStackTop {
		return false
	}
	for p := a &^ (pageSize - 1); p <= last; p += pageSize {
		e := *entry(p)
		if e == 0 {
			if !k.touch(p) {
				return false
			}
			continue
		}
		if write && e&pageReadOnly != 0 {
			return false
		}
	}
	return true
}

// load64 is the 64-bit number at a, low word first, at any alignment.
func load64(a uint32) uint64 { return uint64(*word(a)) | uint64(*word(a + 4))<<32 }

// store64 stores v at a, low word first, at any alignment.
func store64(a uint32, v uint64) { *word(a), *word(a + 4) = uint32(v), uint32(v>>32) }
