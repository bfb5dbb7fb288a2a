package kernel

// The calls that the kernel answers, by their EABI numbers for ARM. doc.go says what is special
// about them.
const (
	callExit            = 1
	callRead            = 3
	callWrite           = 4
	callOpen            = 5
	callClose           = 6
	callGetpid          = 20
	callGetuid          = 24
	callAccess          = 33
	callKill            = 37
	callBrk             = 45
	callGetgid          = 47
	callGeteuid         = 49
	callGetegid         = 50
	callIoctl           = 54
	callFcntl           = 55
	callSettimeofday    = 79
	callReadlink        = 85
	callMunmap          = 91
	callSetitimer       = 104
	callClone           = 120
	callUname           = 122
	callLlseek          = 140
	callYield           = 158
	callNanosleep       = 162
	callPrctl           = 172
	callSigreturn       = 173
	callSigaction       = 174
	callSigprocmask     = 175
	callGetcwd          = 183
	callSigaltstack     = 186
	callUgetrlimit      = 191
	callMmap2           = 192
	callStat64          = 195
	callLstat64         = 196
	callFstat64         = 197
	callGetuid32        = 199
	callGetgid32        = 200
	callGeteuid32       = 201
	callGetegid32       = 202
	callMincore         = 219
	callMadvise         = 220
	callFcntl64         = 221
	callGettid          = 224
	callFutex           = 240
	callGetaffinity     = 242
	callExitGroup       = 248
	callEpollCtl        = 251
	callTimerCreate     = 257
	callTimerSettime    = 258
	callTimerDelete     = 261
	callClockGettime    = 263
	callTgkill          = 268
	callOpenat          = 322
	callFstatat64       = 327
	callReadlinkat      = 332
	callFaccessat       = 334
	callEpollPwait      = 346
	callEventfd2        = 356
	callEpollCreate1    = 357
	callPrlimit64       = 369
	callGetrandom       = 384
	callClockGettime64  = 403
	callTimerSettime64  = 409
	callFutexTime64     = 422
	callsMax            = 512 // numbers that are counted one by one
	affinitySize        = 4   // bytes of the set of processors
	rlimit64Size        = 16
	utsnameField        = 65
	utsnameSize         = 6 * utsnameField
	utsnameRelease      = 2 * utsnameField
	utsnameMachine      = 4 * utsnameField
	processID           = 1
	releaseName         = "6.1.0" // 5.1 and later have the 64-bit futex
	machineName         = "armv7l"
	operatingSystemName = "Linux"
)

// callCounts is how often each thing was asked of the kernel.
type callCounts struct {
	count      [callsMax]uint32
	named      [callsMax / 32]uint32 // unknown numbers that the console has named
	beyond     uint32                // how many above all of them it has
	interrupts uint64
}

// call answers the system call in t's registers: r7 is the number, r0-r5 are the arguments. The
// result is a value, a negated error number, or unanswered.
func (k *kernel) call(t *thread) int32 {
	number, a := t.regs[7], (*[6]uint32)(t.regs[:6])
	if number < callsMax && t.done == 0 {
		k.calls.count[number]++
	}
	switch number {
	// Threads and time.
	case callFutexTime64:
		return k.futexCall(t, a[0], a[1], a[2], a[3], true)
	case callFutex:
		return k.futexCall(t, a[0], a[1], a[2], a[3], false)
	case callNanosleep:
		return k.sleepFor(a[0])
	case callYield:
		return k.yield()
	case callClockGettime:
		return k.gettime(a[0], a[1], false)
	case callClockGettime64:
		return k.gettime(a[0], a[1], true)
	case callSettimeofday:
		return k.settime(a[0])
	case callClone:
		return k.clone(t, a[0], a[1])
	case callExit:
		return k.exitThread(t)
	case callExitGroup:
		k.exitGroup(a[0])
	case callGettid:
		return int32(k.sched.current) + 1

	// Memory.
	case callMmap2:
		return k.mmap(t, a[0], a[1], a[2], a[3])
	case callMunmap:
		return k.munmap(t, a[0], a[1])
	case callMadvise:
		return k.madvise(t, a[0], a[1], a[2])

	// Signals.
	case callTgkill:
		return k.tgkill(t, a[1], a[2])
	case callKill:
		return k.kill(t, a[1])
	case callSigreturn:
		return k.sigreturn(t)
	case callSigprocmask:
		return k.sigprocmask(t, a[0], a[1], a[2])
	case callSigaction:
		return k.sigaction(a[0], a[1], a[2])
	case callSigaltstack:
		return k.sigaltstack(t, a[0], a[1])
	case callSetitimer:
		return k.setProfile(a[0], a[1])

	case callGetrandom:
		return k.getrandom(t, a[0], a[1])
	}
	return k.fileCall(t, number, a)
}

// fileCall answers the calls about files.
func (k *kernel) fileCall(t *thread, number uint32, a *[6]uint32) int32 {
	switch number {
	case callEpollPwait:
		return k.epollWait(t, a[0], a[1], a[2], a[3])
	case callRead:
		return k.read(a[0], a[1], a[2])
	case callWrite:
		return k.write(t, a[0], a[1], a[2])
	case callEpollCtl:
		return k.epollCtl(a[0], a[1], a[2], a[3])
	case callEpollCreate1:
		return k.createEpoll()
	case callEventfd2:
		return k.createEvent(a[0], a[1])
	case callOpen:
		return k.openPath(a[0])
	case callOpenat:
		return k.openPath(a[1])
	case callClose:
		return k.closeFile(a[0])
	case callFcntl, callFcntl64:
		return k.fcntl(a[0], a[1], a[2])
	case callFstat64:
		return k.fstat(a[0], a[1])
	}
	return k.rareCall(number, a)
}

// rareCall answers the calls that are made at start, or hardly ever, or in vain.
func (k *kernel) rareCall(number uint32, a *[6]uint32) int32 {
	switch number {
	case callGetpid:
		return processID
	case callGetuid, callGetgid, callGeteuid, callGetegid,
		callGetuid32, callGetgid32, callGeteuid32, callGetegid32,
		callBrk: // no heap of that kind: any argument leaves the break at 0
		return 0
	case callUname:
		return k.uname(a[0])
	case callGetaffinity:
		return k.affinity(a[1], a[2])
	case callPrlimit64:
		return k.rlimit(a[3])
	case callUgetrlimit:
		return -eINVAL

	// There is no file system to look into.
	case callAccess, callFaccessat, callStat64, callLstat64, callFstatat64, callReadlink,
		callReadlinkat, callGetcwd:
		return -eNOENT
	case callIoctl:
		return -eNOTTY // nothing is a terminal
	case callLlseek:
		return -eSPIPE

	// What the runtime tries and does without.
	case callPrctl: // names for memory areas and threads
		return -eINVAL
	case callMincore:
		return -eINVAL
	case callTimerCreate, callTimerSettime, callTimerSettime64, callTimerDelete:
		return -eNOSYS // profiling uses setitimer instead

	// Package kernel/sys.
	case CallSeed:
		return k.takeSeed(a[0])
	case CallRekey:
		return k.rekey(a[0])
	case CallStats:
		return k.stats(a[0])
	case CallThreads:
		return k.listThreads(a[0])
	case CallEpitaph:
		return k.takeEpitaph(a[0], a[1])
	case CallReset:
		k.console.lastWords()
		k.console.epitaph.drop()
		k.dying = dyingMark
		k.reset()
	case CallPowerOff:
		k.console.lastWords()
		k.console.epitaph.drop()
		k.dying = dyingMark
		k.powerOff()
	}
	k.nameUnknown(number)
	return -eNOSYS
}

// beyondMax is how many numbers of callsMax and more the console names.
const beyondMax = 16

// nameUnknown says once for each number that the kernel has no such call, so that a program that
// misbehaves for want of one does not do so in silence. Numbers that no list has are named a few
// times: there are too many of them to remember.
func (k *kernel) nameUnknown(number uint32) {
	c := &k.console
	if number < callsMax {
		w, b := number/32, uint32(1)<<(number%32)
		if k.calls.named[w]&b != 0 {
			return
		}
		k.calls.named[w] |= b
	} else if k.calls.beyond++; k.calls.beyond > beyondMax {
		return
	}
	c.freshLine()
	c.text("kernel: no system call ")
	c.decimal(number)
	c.text("\n")
}

// uname is uname: the runtime looks at the release.
func (k *kernel) uname(out uint32) int32 {
	if !k.wordsWritable(out, utsnameSize) {
		return -eFAULT
	}
	b := bytesAt(out, utsnameSize)
	clear(b)
	copy(b, operatingSystemName)
	copy(b[utsnameRelease:], releaseName)
	copy(b[utsnameMachine:], machineName)
	return 0
}

// affinity is sched_getaffinity: there is one processor.
func (k *kernel) affinity(n, out uint32) int32 {
	if n < affinitySize {
		return -eINVAL
	}
	if !k.wordsWritable(out, affinitySize) {
		return -eFAULT
	}
	*word(out) = 1
	return affinitySize
}

// rlimit is prlimit64. Whatever is asked about, the answer is the one limit that package os needs,
// the number of open files; a new limit is accepted and changes nothing.
func (k *kernel) rlimit(old uint32) int32 {
	if old == 0 {
		return 0
	}
	if !k.wordsWritable(old, rlimit64Size) {
		return -eFAULT
	}
	store64(old, filesMax)
	store64(old+8, filesMax)
	return 0
}
