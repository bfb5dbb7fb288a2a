package kernel

// thread is one thread of the program, a runtime M. A thread's id is its index + 1.
type thread struct {
	// The trap frame. While the thread runs, SP_svc points at regs, so that the vectors find the
	// place for all three without a register to spare; the assembly knows their order.
	pc, cpsr uint32
	regs     [15]uint32 // r0-r14
	fp       fpRegs     // valid while the thread does not run

	used  bool
	left  int32  // of its quantum, in counter ticks
	round uint32 // the scheduler's when it last got a whole quantum

	ticks uint64 // counter ticks it has run

	// What it waits for, if it does. All are cleared when it wakes.
	deadline  uint64 // counter value that ends the wait, 0 for none
	futex     uint32 // address it sleeps on, 0 for none
	events    uint32 // epoll_pwait's buffer, 0 for none
	eventsMax uint32 // its length in events

	// uninterruptible is set while a signal does not end the wait.
	uninterruptible bool

	// done is how much of its system call is behind it, when that is done in pieces.
	done uint32
	gap  gapSearch // of mmap

	// Signals.
	mask    uint64 // blocked
	pending uint64
	alt     altStack
}

// fpRegs is the state of the floating-point unit. saveFP and loadFP know the order.
type fpRegs struct {
	fpscr uint32
	d     [64]uint32
}

const (
	// threadsMax is the number of bits in the scheduler's sets. Exceeded, clone fails with EAGAIN
	// and the runtime stops with a message.
	threadsMax = 64

	modeSystem = 0x1f // CPSR: privileged, with the registers of user mode; interrupts on

	// cloneThread is CLONE_VM, FS, FILES, SIGHAND, SYSVSEM and THREAD, as the runtime passes them.
	// Anything else would be a process.
	cloneThread = 0x50f00
)

// set is i alone, as a set of threads or of descriptors.
func set(i int) uint64 { return 1 << uint(i) }

// setCurrent makes thread i the one that the vectors save to and resume restores.
func (k *kernel) setCurrent(i int) {
	k.sched.current = i
	k.current = addressOf(&k.threads[i].regs)
}

// clone starts a thread that goes on where t is, on another stack.
func (k *kernel) clone(t *thread, flags, stack uint32) int32 {
	if flags != cloneThread {
		return -eNOSYS
	}
	for i := range k.threads {
		n := &k.threads[i]
		if n.used {
			continue
		}
		*n = thread{used: true, mask: t.mask, alt: altStack{flags: altDisabled}}
		k.sched.refill(n)
		n.pc, n.cpsr, n.regs = t.pc, t.cpsr, t.regs
		n.regs[0], n.regs[13] = 0, stack
		saveFP(&n.fp)
		k.sched.start(i)
		return int32(i) + 1
	}
	return -eAGAIN
}

// exitThread ends the running thread.
func (k *kernel) exitThread(t *thread) int32 {
	t.used = false
	k.sched.alive--
	k.sleep(0)
	return unanswered
}

// pause leaves a system call unfinished: interrupts and other threads get their turn, then the
// thread makes the same call again and finds in t.done how far it had come. Signals wait until the
// call is complete. This keeps every stretch of masked interrupts short, whatever a call asks for.
func (t *thread) pause(done uint32) int32 {
	t.done = done
	t.pc -= 4 // the SVC instruction
	return unanswered
}
