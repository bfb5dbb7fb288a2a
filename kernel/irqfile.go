package kernel

import "holdfast/board"

// Interrupts are files, as in /dev/irq/150. A goroutine that reads one is parked in the netpoller
// until the interrupt arrives:
//
//	arrives       the kernel masks it at the controller, counts it and reports the file readable
//	read          takes the count
//	read again    finds no count: unmasks the interrupt and answers EAGAIN
//
// Between the two reads the reader sees to its device. The second one is made by package os before
// it parks the goroutine, so that a driver is a loop around Read. An interrupt that arrived in the
// meantime is still asserted and is taken at the unmasking: none is lost.
const (
	irqPrefix = "/dev/irq/"
	irqsMax   = board.IRQs
	irqsFirst = 32 // below are the core's private ones
)

// irqOfPath is the interrupt that a path names.
func irqOfPath(name *[pathMax]byte) (id uint32, ok bool) {
	if !hasPrefix(name, irqPrefix) {
		return 0, false
	}
	for i := len(irqPrefix); ; i++ {
		c := name[i]
		if c == 0 {
			return id, i > len(irqPrefix) && id >= irqsFirst && id < irqsMax
		}
		if id = id*10 + uint32(c-'0'); c < '0' || c > '9' || id >= irqsMax {
			return 0, false
		}
	}
}

// openIRQ makes a file of an interrupt, which is masked until the first read. It can be open once,
// and not at all if the kernel uses it itself.
func (k *kernel) openIRQ(id uint32) int32 {
	if k.files.irqFile[id] != 0 || id == board.IRQUART1 {
		return -eBUSY
	}
	fd := k.files.open(fileIRQ)
	if fd >= 0 {
		k.files.files[fd].irq = id
		k.files.irqFile[id] = uint8(fd)
	}
	return fd
}

// irqArrived hands an interrupt, already masked, to its file.
func (k *kernel) irqArrived(id uint32) {
	if id >= irqsMax || k.files.irqFile[id] == 0 {
		return
	}
	f := &k.files.files[k.files.irqFile[id]]
	f.count++
	k.raise(f, epollIn)
}
