package kernel

import "unsafe"

// sigframe is what the handler of a signal finds on its stack: siginfo and ucontext as Linux lays
// them out for ARM. The handler's last return goes to sigretPage, whose two instructions make the
// rt_sigreturn call.
type sigframe struct {
	info struct {
		signo, errno, code, address uint32
		_                           [28]uint32
	}
	context struct {
		flags, link uint32
		alt         altStack

		trap, err, oldMask uint32
		regs               [15]uint32
		pc, cpsr, address  uint32

		mask uint64
		_    [30]uint32
		fp   fpRegs // from here on Linux's layout is another; nothing looks at it
		_    [63]uint32
	}
}

const (
	sigframeSize = uint32(unsafe.Sizeof(sigframe{}))
	contextAt    = 128 // offset of the context, behind siginfo

	callSigreturn0 = 0xe3a070ad // mov r7, #173
	callSigreturn1 = 0xef000000 // svc #0

	cpsrIT    = 0x0600fc00 // the if-then state of Thumb
	cpsrThumb = 1 << 5
	cpsrFlags = 0xf80f0000 // N, Z, C, V, Q and GE: what a handler may change
)

// pushFrame makes t enter the handler of sig instead of going on. It reports false when the stack
// has no room for the frame.
func (k *kernel) pushFrame(t *thread, sig, code, address uint32) bool {
	a := &k.signals.actions[sig]
	sp := t.regs[13]
	if onAlt := sp-t.alt.base <= t.alt.size; a.flags&actionOnStack != 0 &&
		t.alt.flags&altDisabled == 0 && !onAlt {
		sp = t.alt.base + t.alt.size
	}
	sp = (sp - sigframeSize) &^ 7
	if !k.wordsWritable(sp, sigframeSize) {
		return false
	}
	k.signals.delivered++
	f := (*sigframe)(ptr(sp))
	f.info.signo, f.info.errno, f.info.code, f.info.address = sig, 0, code, address
	c := &f.context
	c.flags, c.link, c.alt = 0, 0, t.alt
	c.trap, c.err, c.oldMask = 0, 0, uint32(t.mask)
	c.regs, c.pc, c.cpsr, c.address, c.mask = t.regs, t.pc, t.cpsr, address, t.mask
	saveFP(&c.fp)

	t.mask |= uint64(a.mask[0]) | uint64(a.mask[1])<<32
	if a.flags&actionNoDefer == 0 {
		t.mask |= bit(sig)
	}
	t.regs[0], t.regs[1], t.regs[2] = sig, sp, sp+contextAt
	t.regs[13], t.regs[14] = sp, sigretPage
	t.pc = a.handler
	t.cpsr &^= cpsrIT | cpsrThumb
	return true
}

// sigreturn is rt_sigreturn: it takes back what pushFrame saved, with what the handler changed. It
// has no result; all registers are the frame's.
func (k *kernel) sigreturn(t *thread) int32 {
	sp := t.regs[13]
	if !k.wordsReadable(sp, sigframeSize) {
		k.fatalFault(t, sigSEGV, sp)
	}
	c := &(*sigframe)(ptr(sp)).context
	t.regs, t.pc, t.mask = c.regs, c.pc, c.mask
	t.cpsr = c.cpsr&cpsrFlags | modeSystem
	loadFP(&c.fp)
	return unanswered
}
