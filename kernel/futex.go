package kernel

import "math/bits"

// A futex is a word of the program's memory; all that the kernel keeps of it is the address that a
// sleeping thread waits on. The kernel runs to completion on one core, so that to compare the word
// and to fall asleep is one step.
const (
	futexWait    = 0
	futexWake    = 1
	futexOpMask  = 0x7f // without FUTEX_PRIVATE_FLAG
	timespec64   = 16   // bytes: s64, s32 and padding
	timespec32   = 8
	futexForever = 0 // deadline
)

// futexCall is futex and futex_time64.
func (k *kernel) futexCall(t *thread, address, op, value, timeout uint32, time64 bool) int32 {
	if !k.wordsReadable(address, 4) {
		return -eFAULT
	}
	switch op & futexOpMask {
	case futexWait:
		deadline := uint64(futexForever)
		if timeout != 0 {
			sec, ns, errno := k.loadTimespec(timeout, time64)
			if errno != 0 {
				return errno
			}
			deadline = k.clock.after(sec, ns)
		}
		if *word(address) != value {
			return -eAGAIN
		}
		k.sleep(deadline)
		t.futex = address
		k.sched.onFutex |= set(k.sched.current)
		return unanswered
	case futexWake:
		return k.futexWake(address, value)
	}
	return -eNOSYS
}

// futexWake wakes up to n threads that wait on address and says how many it found. The search
// starts behind the running thread, so that waiters take turns.
func (k *kernel) futexWake(address, n uint32) int32 {
	first := k.sched.current + 1
	woken := uint32(0)
	for m := bits.RotateLeft64(k.sched.onFutex, -first); m != 0 && woken < n; m &= m - 1 {
		i := (first + lowest(m)) % threadsMax
		if k.threads[i].futex == address {
			k.wake(i, 0)
			woken++
		}
	}
	return int32(woken)
}

// loadTimespec reads a timeout in either layout.
func (k *kernel) loadTimespec(a uint32, time64 bool) (sec uint64, ns uint32, errno int32) {
	if time64 {
		if !k.wordsReadable(a, timespec64) {
			return 0, 0, -eFAULT
		}
		sec, ns = load64(a), *word(a + 8)
	} else {
		if !k.wordsReadable(a, timespec32) {
			return 0, 0, -eFAULT
		}
		sec, ns = uint64(*word(a)), *word(a + 4)
	}
	if ns >= secondNS || sec>>63 != 0 {
		return 0, 0, -eINVAL
	}
	return sec, ns, 0
}
