package kernel

import "holdfast/board/timer"

// masked measures for how long the kernel keeps interrupts masked. It does so only when the
// loader's boot page asks for it (measure=1), since reading the counter costs more than a short
// call. Under QEMU's -icount shift=0 the counter counts instructions. Boot is left out: nothing
// waits for an interrupt then.
type masked struct {
	on      bool
	since   uint64 // counter value at which interrupts were masked
	longest uint64 // in counter ticks
	cause   uint32 // why the kernel was entered then
	call    uint32 // and which system call it was, if it was one
}

// measuredTrap is trap for a kernel that measures.
func (k *kernel) measuredTrap(cause uint32) {
	m := &k.masked
	m.since = timer.Counter()
	call := k.threads[k.sched.current].regs[7]
	k.trap(cause)
	m.end(cause, call)
}

// idle ends the measurement ahead of a wait for an interrupt, which is taken at once; woken begins
// the next one.
func (m *masked) idle() {
	if m.on {
		m.end(causeInterrupt, 0)
	}
}

func (m *masked) woken() {
	if m.on {
		m.since = timer.Counter()
	}
}

func (m *masked) end(cause, call uint32) {
	if d := timer.Counter() - m.since; d > m.longest {
		m.longest, m.cause, m.call = d, cause, call
	}
}
