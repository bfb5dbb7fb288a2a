package kernel

// signalState is what is common to all threads.
type signalState struct {
	actions [signalsMax + 1]action

	profileEvery uint64 // counter ticks between two SIGPROFs, 0 for never
	profileNext  uint64 // counter value of the next one

	delivered uint64
}

// action is what the program wants done about a signal, as rt_sigaction has it.
type action struct {
	handler, flags, restorer uint32
	mask                     [2]uint32
}

// altStack is a thread's signal stack, in the order of stack_t.
type altStack struct{ base, flags, size uint32 }

const (
	signalsMax = 64

	sigILL  = 4
	sigBUS  = 7
	sigKILL = 9
	sigSEGV = 11
	sigCHLD = 17
	sigCONT = 18
	sigSTOP = 19
	sigURG  = 23
	sigPROF = 27
	sigWNCH = 28

	// ignoredByDefault is the set of the signals whose default is to do nothing.
	ignoredByDefault = 1<<(sigCHLD-1) | 1<<(sigCONT-1) | 1<<(sigURG-1) | 1<<(sigWNCH-1)

	handlerDefault = 0
	handlerIgnore  = 1

	actionOnStack = 0x08000000
	actionNoDefer = 0x40000000
	actionSize    = 20

	altDisabled  = 2
	altStackSize = 12
	altStackMin  = 2048

	maskBlock, maskUnblock, maskSet = 0, 1, 2

	codeTkill  = ^uint32(5) // SI_TKILL, -6
	codeKernel = 0x80       // SI_KERNEL: what the runtime expects of a profiling timer
	codeFault  = 1          // SEGV_MAPERR and its kin

	timerProfiling = 2 // ITIMER_PROF
)

// bit is signal sig alone, as a set of signals.
func bit(sig uint32) uint64 { return 1 << (sig - 1) }

// sigaction is rt_sigaction.
func (k *kernel) sigaction(sig, act, old uint32) int32 {
	if sig == 0 || sig > signalsMax || act != 0 && (sig == sigKILL || sig == sigSTOP) {
		return -eINVAL
	}
	a := &k.signals.actions[sig]
	if old != 0 && !k.wordsWritable(old, actionSize) || act != 0 && !k.wordsReadable(act, actionSize) {
		return -eFAULT
	}
	if old != 0 {
		*(*action)(ptr(old)) = *a
	}
	if act != 0 {
		*a = *(*action)(ptr(act))
	}
	return 0
}

// sigprocmask is rt_sigprocmask.
func (k *kernel) sigprocmask(t *thread, how, set, old uint32) int32 {
	mask := t.mask
	if set != 0 {
		if !k.wordsReadable(set, 8) {
			return -eFAULT
		}
		s := load64(set)
		switch how {
		case maskBlock:
			mask |= s
		case maskUnblock:
			mask &^= s
		case maskSet:
			mask = s
		default:
			return -eINVAL
		}
		mask &^= bit(sigKILL) | bit(sigSTOP)
	}
	if old != 0 {
		if !k.wordsWritable(old, 8) {
			return -eFAULT
		}
		store64(old, t.mask)
	}
	t.mask = mask
	return 0
}

// sigaltstack is sigaltstack.
func (k *kernel) sigaltstack(t *thread, set, old uint32) int32 {
	if old != 0 && !k.wordsWritable(old, altStackSize) ||
		set != 0 && !k.wordsReadable(set, altStackSize) {
		return -eFAULT
	}
	was := t.alt
	if set != 0 {
		alt := *(*altStack)(ptr(set))
		switch {
		case alt.flags&altDisabled != 0:
			alt = altStack{flags: altDisabled}
		case alt.size < altStackMin:
			return -eNOMEM
		}
		t.alt = alt
	}
	if old != 0 {
		*(*altStack)(ptr(old)) = was
	}
	return 0
}

// tgkill is tgkill: a signal for one thread. A sender that signals itself has its answer before
// the signal makes a frame of its registers.
func (k *kernel) tgkill(t *thread, tid, sig uint32) int32 {
	i := int(tid) - 1
	if sig > signalsMax || i < 0 || i >= threadsMax || !k.threads[i].used {
		return -eINVAL
	}
	t.regs[0] = 0
	k.send(i, sig)
	return unanswered
}

// kill is kill: a signal for any thread that does not block it.
func (k *kernel) kill(t *thread, sig uint32) int32 {
	if sig > signalsMax {
		return -eINVAL
	}
	t.regs[0] = 0
	chosen := k.sched.current
	for i := range k.threads {
		if sig != 0 && k.threads[i].used && k.threads[i].mask&bit(sig) == 0 {
			chosen = i
			break
		}
	}
	k.send(chosen, sig)
	return unanswered
}

// send makes a signal pending for thread i and ends its wait, if the signal is not blocked.
// Signal 0 is none.
func (k *kernel) send(i int, sig uint32) {
	if sig == 0 || k.ignores(sig) {
		return
	}
	t := &k.threads[i]
	t.pending |= bit(sig)
	if t.mask&bit(sig) == 0 && k.sleeps(i) && !t.uninterruptible {
		k.wake(i, -eINTR)
	}
}

// ignores reports whether a signal would do nothing.
func (k *kernel) ignores(sig uint32) bool {
	switch k.signals.actions[sig].handler {
	case handlerIgnore:
		return true
	case handlerDefault:
		return bit(sig)&ignoredByDefault != 0
	}
	return false
}

// deliver makes the thread that is about to run enter the handler of a pending signal. A system
// call that is done in pieces comes first.
func (k *kernel) deliver(t *thread) {
	p := t.pending &^ t.mask
	if p == 0 || t.done != 0 {
		return
	}
	sig := uint32(lowest(p)) + 1
	t.pending &^= bit(sig)
	if k.ignores(sig) {
		return
	}
	if k.signals.actions[sig].handler == handlerDefault {
		k.killed(sig)
	}
	code := uint32(codeTkill)
	if sig == sigPROF {
		code = codeKernel
	}
	if !k.pushFrame(t, sig, code, 0) {
		k.fatalFault(t, sig, t.regs[13])
	}
}

// fault turns an exception of the processor into a signal: the runtime makes a Go panic of it. A
// thread that can not take the signal, because it blocks it or has no stack for it, is the end.
func (k *kernel) fault(t *thread, sig, address uint32) {
	handler := k.signals.actions[sig].handler
	if t.mask&bit(sig) != 0 || handler == handlerDefault || handler == handlerIgnore ||
		t.alt.flags&altDisabled != 0 || !k.pushFrame(t, sig, codeFault, address) {
		k.fatalFault(t, sig, address)
	}
}

// setProfile is setitimer, of which runtime/pprof needs ITIMER_PROF: SIGPROF goes to whatever
// thread runs when the interval ends.
func (k *kernel) setProfile(which, new uint32) int32 {
	if which != timerProfiling {
		return -eINVAL
	}
	if !k.wordsReadable(new, 16) {
		return -eFAULT
	}
	sec, us := *word(new), *word(new + 4) // it_interval
	if sec != 0 || us >= 1000000 {
		return -eINVAL
	}
	p, ticks := &k.signals, uint64(us)*1000*uint64(k.clock.tickMult)>>32
	p.profileEvery = ticks
	p.profileNext = k.sched.charged + ticks
	k.sched.changed = true
	return 0
}

// profile runs with every timer interrupt.
func (k *kernel) profile(now uint64) {
	p, s := &k.signals, &k.sched
	if p.profileEvery == 0 || now < p.profileNext {
		return
	}
	p.profileNext = now + p.profileEvery
	if s.runnable&set(s.current) != 0 {
		k.send(s.current, sigPROF)
	}
}
