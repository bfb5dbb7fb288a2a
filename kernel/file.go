package kernel

// fileTable is the open files. There is no file system: what can be opened is the null device and
// interrupts, and what else has a descriptor is the console, an eventfd or the epoll set.
type fileTable struct {
	files   [filesMax]file
	irqFile [irqsMax]uint8 // descriptor of an interrupt's file, 0 for none
	watched uint64         // set of descriptors in the epoll set
	waiters uint64         // set of threads in epoll_pwait
	epolls  uint32         // open epoll descriptors, 0 or 1
}

// file is one open file.
type file struct {
	kind  uint32
	flags uint32 // of F_SETFL
	irq   uint32
	count uint64 // of an eventfd, or of interrupts since the last read

	// What the epoll set wants to know of it.
	events uint32    // asked for
	edge   uint32    // edges not reported yet
	data   [2]uint32 // handed back with its events
}

const (
	filesMax = 64 // the number of bits in a set

	fileFree     = 0
	fileConsole  = 1 // descriptors 1 and 2
	fileKeyboard = 2 // descriptor 0
	fileEpoll    = 3
	fileEvent    = 4
	fileIRQ      = 5
	fileNull     = 6

	openReadWrite   = 2
	openNonBlocking = 0x800

	fcntlGetFD    = 1
	fcntlSetFD    = 2
	fcntlGetFlags = 3
	fcntlSetFlags = 4

	stat64Size       = 104
	stat64Mode       = 16
	characterDevice  = 0020600
	eventNonBlocking = openNonBlocking

	pathMax = 64
)

// init opens the three descriptors that a program starts with. The keyboard is non-blocking, which
// makes package os wait for it in the netpoller and not in a thread.
func (f *fileTable) init() {
	f.files[0] = file{kind: fileKeyboard, flags: openNonBlocking}
	f.files[1] = file{kind: fileConsole, flags: openReadWrite}
	f.files[2] = file{kind: fileConsole, flags: openReadWrite}
}

// open gives the lowest free descriptor to a file of a kind, or fails with EMFILE.
func (f *fileTable) open(kind uint32) int32 {
	for i := range f.files {
		if f.files[i].kind == fileFree {
			f.files[i] = file{kind: kind, flags: openReadWrite}
			return int32(i)
		}
	}
	return -eMFILE
}

// get is the open file fd, nil if there is none.
func (f *fileTable) get(fd uint32) *file {
	if fd >= filesMax || f.files[fd].kind == fileFree {
		return nil
	}
	return &f.files[fd]
}

// openPath is open and openat.
func (k *kernel) openPath(path uint32) int32 {
	var name [pathMax]byte
	if errno := k.loadPath(path, &name); errno != 0 {
		return errno
	}
	if hasPrefix(&name, "/dev/null\x00") {
		return k.files.open(fileNull)
	}
	if id, ok := irqOfPath(&name); ok {
		return k.openIRQ(id)
	}
	return -eNOENT
}

// loadPath copies a name that ends in a zero byte. A longer one names nothing here.
func (k *kernel) loadPath(a uint32, name *[pathMax]byte) int32 {
	for i := range name {
		if !k.readable(a, 1) {
			return -eFAULT
		}
		c := *(*byte)(ptr(a))
		if name[i] = c; c == 0 {
			return 0
		}
		a++
	}
	return -eNOENT
}

// hasPrefix reports whether name starts with s.
func hasPrefix(name *[pathMax]byte, s string) bool {
	for i := 0; i < len(s); i++ {
		if name[i] != s[i] {
			return false
		}
	}
	return true
}

// closeFile is close.
func (k *kernel) closeFile(fd uint32) int32 {
	f := k.files.get(fd)
	if f == nil {
		return -eBADF
	}
	switch f.kind {
	case fileIRQ:
		controller.Mask(f.irq)
		k.files.irqFile[f.irq] = 0
	case fileEpoll:
		k.files.epolls--
	}
	k.files.watched &^= set(int(fd))
	*f = file{}
	return 0
}

// read is read.
func (k *kernel) read(fd, buf, n uint32) int32 {
	f := k.files.get(fd)
	if f == nil {
		return -eBADF
	}
	switch f.kind {
	case fileNull:
		return 0
	case fileKeyboard:
		return k.readKeyboard(buf, n)
	case fileEvent, fileIRQ:
		return k.readCount(f, buf, n)
	}
	return -eBADF
}

// readCount reads an eventfd or an interrupt, which is the same but for one thing: reading an
// interrupt that did not arrive says that the device has been seen to, and lets it arrive again.
func (k *kernel) readCount(f *file, buf, n uint32) int32 {
	if n < 8 {
		return -eINVAL
	}
	if !k.writable(buf, 8) {
		return -eFAULT
	}
	if f.count == 0 {
		if f.kind == fileIRQ {
			controller.Unmask(f.irq)
		}
		return -eAGAIN
	}
	store64(buf, f.count)
	f.count = 0
	return 8
}

// write is write. To the console it works in pieces: see pause.
func (k *kernel) write(t *thread, fd, buf, n uint32) int32 {
	f := k.files.get(fd)
	if f == nil {
		return -eBADF
	}
	switch f.kind {
	case fileNull:
		return int32(n)
	case fileConsole:
		return k.writeConsole(t, buf, n)
	case fileEvent:
		return k.writeEvent(f, buf, n)
	}
	return -eBADF
}

// fcntl is fcntl and fcntl64. Descriptors survive everything, so that close-on-exec means nothing.
func (k *kernel) fcntl(fd, cmd, arg uint32) int32 {
	f := k.files.get(fd)
	if f == nil {
		return -eBADF
	}
	switch cmd {
	case fcntlGetFD, fcntlSetFD:
		return 0
	case fcntlGetFlags:
		return int32(f.flags)
	case fcntlSetFlags:
		f.flags = f.flags&^openNonBlocking | arg&openNonBlocking
		return 0
	}
	return -eINVAL
}

// fstat is fstat64: every file is a character device.
func (k *kernel) fstat(fd, out uint32) int32 {
	if k.files.get(fd) == nil {
		return -eBADF
	}
	if !k.wordsWritable(out, stat64Size) {
		return -eFAULT
	}
	clear(bytesAt(out, stat64Size))
	*word(out + stat64Mode) = characterDevice
	return 0
}
