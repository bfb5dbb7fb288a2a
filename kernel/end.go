package kernel

import (
	"holdfast/board"
	"holdfast/board/snvs"
	"holdfast/board/wdog"
)

// Every end of the program or of the kernel comes through here. Unless the program ended with
// status 0, the console shows one line that starts with "panic: ", by whoever knew best what was
// wrong, and the board is reset. It never stands still without a word.

// exitGroup is exit_group.
func (k *kernel) exitGroup(status uint32) {
	k.console.lastWords()
	if status == 0 {
		k.console.epitaph.drop()
		k.powerOff()
	}
	k.beginEnd("the program ended with exit status ", status)
	k.reset()
}

// killed ends a program that has no handler for a signal.
func (k *kernel) killed(sig uint32) {
	k.console.lastWords()
	k.beginEnd("the program was killed by signal ", sig)
	k.reset()
}

// outOfMemory ends a program that touched more of its zeroed sections than there are frames for.
func (k *kernel) outOfMemory() {
	k.console.lastWords()
	k.beginEnd("no memory for the image's zeros, pages in use ", k.memory.total)
	k.reset()
}

// fatalFault ends a program that faulted where it could not be told.
func (k *kernel) fatalFault(t *thread, sig, address uint32) {
	c := &k.console
	c.lastWords()
	k.beginEnd("a fault that the program can not handle, signal ", sig)
	c.text("address ")
	c.hex(address)
	c.text(", thread ")
	c.decimal(uint32(k.sched.current) + 1)
	c.text("\n")
	k.registers(t.regs[:], t.pc, t.cpsr)
	k.trace(t.regs[13])
	k.reset()
}

// kernelFault ends a kernel that faulted itself. The registers are in k.abort.
func kernelFault(cause uint32) { theKernel().kernelFault(cause) }

func (k *kernel) kernelFault(cause uint32) {
	if k.dying == dyingMark { // the report itself faulted
		k.reset()
	}
	k.dying = dyingMark
	c, f := &k.console, &k.abort
	c.column = lineMax // whatever it is, it may be nonsense
	c.lastWords()
	c.text(panicPrefix)
	c.text("kernel: ")
	switch cause {
	case causeData:
		status, address := dataFault()
		c.text("data abort at ")
		c.hex(address)
		c.text(", status ")
		c.hex(status)
	case causeFetch:
		_, address := fetchFault()
		c.text("instruction abort at ")
		c.hex(address)
	case causeUndefined:
		c.text("undefined instruction")
	default:
		c.text("a system call by the kernel itself")
	}
	c.text(", pc ")
	c.hex(f[15])
	c.text("\n")
	k.registers(f[:15], f[15], f[16])
	k.trace(f[13])
	k.reset()
}

// beginEnd prints the "panic: " line, unless there has been one: the runtime's own is better. A
// "fatal error: " of the runtime is what the line is about, if there was one.
func (k *kernel) beginEnd(what string, n uint32) {
	c := &k.console
	if k.dying == dyingMark {
		k.reset()
	}
	k.dying = dyingMark
	if c.panicked {
		return
	}
	c.text(panicPrefix)
	if c.fatalSize != 0 {
		c.text(runtimePrefix)
		for i := range c.fatalSize {
			c.put(c.fatal[i])
		}
	} else {
		c.text("kernel: ")
		c.text(what)
		c.decimal(n)
	}
	c.text("\n")
}

// die ends the kernel because one of its own invariants is broken. It does not return.
func (k *kernel) die(message string) {
	c := &k.console
	c.lastWords()
	c.text(panicPrefix)
	c.text(message)
	c.text("\n")
	k.dying = dyingMark
	var here uint32
	k.trace(addressOf(&here))
	k.reset()
}

// registers prints r0-r14, pc and cpsr, four a line.
func (k *kernel) registers(regs []uint32, pc, cpsr uint32) {
	c := &k.console
	for i, r := range regs {
		c.text("r")
		c.decimal(uint32(i))
		c.text(" ")
		c.hex(r)
		if i%4 == 3 {
			c.text("\n")
		} else {
			c.text("  ")
		}
	}
	c.text("pc ")
	c.hex(pc)
	c.text("\ncpsr ")
	c.hex(cpsr)
	c.text("\n")
}

// trace prints the words of a stack that are addresses of code: the return addresses of the calls
// that led here are among them, with some that are old.
func (k *kernel) trace(sp uint32) {
	const stackWords, addressesMax = 512, 24
	c, n := &k.console, 0
	c.text("code addresses on the stack:")
	for i := range uint32(stackWords) {
		a := sp + 4*i
		if a%4 != 0 || a-board.DRAM >= board.DRAMSizeMax || *entry(a) == 0 {
			break
		}
		if w := *word(a); k.image.isCode(w) && n < addressesMax {
			c.text(" ")
			c.hex(w)
			n++
		}
	}
	c.text("\n")
}

// reset resets the board: by watchdog 1, and should that not work, by one of the others. It does
// not return.
func (k *kernel) reset() {
	for _, base := range [...]uint32{board.WDOG1, board.WDOG2, board.WDOG3} {
		wdog.Watchdog(base).Reset()
		linger()
	}
	k.halt("kernel: the board does not reset")
}

// powerOff takes the board's supply away. It does not return.
func (k *kernel) powerOff() {
	snvs.Block(board.SNVS).PowerOff()
	linger()
	k.halt("kernel: the board does not switch off")
}

// linger gives the hardware time to act: some 100 ms on silicon.
func linger() {
	for range 10000000 {
	}
}

// halt is what is left when the board obeys no more. Interrupts are masked for good.
func (k *kernel) halt(why string) {
	k.console.text(why)
	k.console.text("\n")
	for {
		waitForInterrupt()
	}
}
