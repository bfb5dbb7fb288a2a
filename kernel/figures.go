package kernel

import "unsafe"

// The calls of package kernel/sys, in the part of the number space that Linux leaves to the ARM
// architecture.
const (
	CallSeed     = 0x0f4801 // (out *[32]byte): what the loader left, once
	CallRekey    = 0x0f4802 // (key *[32]byte): mixed into the generator's key
	CallStats    = 0x0f4803 // (out *Stats)
	CallReset    = 0x0f4804 // does not return
	CallPowerOff = 0x0f4805 // does not return
	CallThreads  = 0x0f4806 // (out *Threads)
	CallEpitaph  = 0x0f4807 // (out *byte, n): what the boot before left of a crash; how many bytes
)

// Stats is what the kernel counted since boot, and what it runs on.
type Stats struct {
	Switches     uint64 // from one thread to another
	Interrupts   uint64 // taken at the controller
	Signals      uint64 // frames pushed
	Entered      uint64 // counter value at the kernel's first instruction
	Started      uint64 // counter value at the program's first instruction
	IdleTicks    uint64 // counter ticks spent waiting for an interrupt, with nothing to run
	Threads      uint32 // alive
	RAM          uint32 // bytes of memory that the kernel uses
	PagesTotal   uint32 // page frames for the program, behind what the loader filled
	PagesInUse   uint32 // handed out by mmap with a right to read and write
	PagesTouched uint32 // with a frame, the image's zeroed sections included
	KeysLost     uint32 // overruns of the console's receiver, each a character or more
	ConsoleLost  uint32 // bytes of the kernel's own words for which the console had no room
	ConsoleWaits uint64 // times that a write had to wait for room
	MaskedTicks  uint64 // the longest that interrupts were masked, if that is measured: see masked.go
	MaskedCause  uint32 // why: 0 a system call, 1 an interrupt, 2 and more a fault
	MaskedCall   uint32 // which system call

	Calls [callsMax]uint32 // system calls by number
}

// EpitaphMax is how many bytes a crash can leave for the next boot.
const EpitaphMax = epitaphMax

const statsSize = uint32(unsafe.Sizeof(Stats{}))

// stats stores the figures at out.
func (k *kernel) stats(out uint32) int32 {
	if !k.wordsWritable(out, statsSize) {
		return -eFAULT
	}
	*(*Stats)(ptr(out)) = Stats{
		Switches:     k.sched.switches,
		Interrupts:   k.calls.interrupts,
		Signals:      k.signals.delivered,
		Entered:      k.sched.entered,
		Started:      k.sched.started,
		IdleTicks:    k.sched.idle,
		Threads:      k.sched.alive,
		RAM:          k.memory.size,
		PagesTotal:   k.memory.total,
		PagesInUse:   k.memory.promised,
		PagesTouched: k.memory.poolTouched + k.memory.zeroTouched,
		KeysLost:     k.console.keyboard.lost,
		ConsoleLost:  k.console.leftOut,
		ConsoleWaits: k.console.waits,
		MaskedTicks:  k.masked.longest,
		MaskedCause:  k.masked.cause,
		MaskedCall:   k.masked.call,
		Calls:        k.calls.count,
	}
	return 0
}

// Threads is what the kernel knows of each thread; a thread's id is its index + 1.
type Threads [threadsMax]Thread

// Thread is one thread of the program. The zero Thread does not exist.
type Thread struct {
	Ticks uint64 // counter ticks it has run, its system calls included
	State ThreadState
	_     uint32
}

// ThreadState is what a thread does.
type ThreadState uint32

// What a thread can do.
const (
	ThreadNone    ThreadState = iota // there is no such thread
	ThreadRuns                       // it asked for this
	ThreadReady                      // waits for the processor
	ThreadFutex                      // waits for another thread
	ThreadPolls                      // waits for the network, the keyboard or a timer
	ThreadSleeps                     // waits for time alone
	ThreadConsole                    // waits for room in the console
)

// String is the state as one word.
func (s ThreadState) String() string {
	words := [...]string{"none", "running", "ready", "futex", "poll", "sleep", "console"}
	return words[s]
}

const threadsSize = uint32(unsafe.Sizeof(Threads{}))

// listThreads stores the threads at out.
func (k *kernel) listThreads(out uint32) int32 {
	if !k.wordsWritable(out, threadsSize) {
		return -eFAULT
	}
	list := (*Threads)(ptr(out))
	for i := range k.threads {
		list[i] = Thread{Ticks: k.threads[i].ticks, State: k.stateOf(i)}
	}
	return 0
}

func (k *kernel) stateOf(i int) ThreadState {
	t := &k.threads[i]
	switch {
	case !t.used:
		return ThreadNone
	case i == k.sched.current:
		return ThreadRuns
	case !k.sleeps(i):
		return ThreadReady
	case t.futex != 0:
		return ThreadFutex
	case t.events != 0:
		return ThreadPolls
	case t.uninterruptible:
		return ThreadConsole
	}
	return ThreadSleeps
}
