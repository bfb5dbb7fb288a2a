package kernel

import (
	"math/bits"

	"holdfast/board/timer"
)

// scheduler decides which thread runs. The rules, each paid for with a hang in an earlier design:
//
//   - Runnable threads stand in one queue. A thread that wakes goes to its front, unless it has
//     used up its quantum; then it gets a new one and goes to the back. So no order of wakes
//     starves anyone.
//   - A thread that an interrupt woke runs at once, ahead of the one it interrupted. A thread that
//     another thread woke waits until that one blocks, as the runtime's hand-overs expect: with
//     preemption here the runtime would see its idle processors as busy and start more threads.
//   - A thread that has used up its quantum goes to the back if there is another one.
type scheduler struct {
	current  int    // index of the running thread
	runnable uint64 // set of threads
	timed    uint64 // set of threads with a deadline
	queue    runQueue

	quantum int32  // in counter ticks
	charged uint64 // counter value when the running thread's quantum was last charged

	changed     bool // this system call changed the state of a thread
	inInterrupt bool
	boosted     bool // the front of the queue wants to run now
	yielded     bool // the running thread wants to go to the back

	armed uint64 // counter value that the timer is set to

	alive    uint32 // threads
	switches uint64
	entered  uint64 // counter value at the kernel's first instruction
	started  uint64 // counter value at the program's first instruction
	idle     uint64 // counter ticks spent waiting for interrupts
}

// quantaPerSecond makes a quantum 2 ms. At 10 ms the runtime's stop-the-world crawls with more
// processors than cores.
const quantaPerSecond = 500

// start puts the new thread i at the back of the queue.
func (s *scheduler) start(i int) {
	s.changed = true
	s.alive++
	s.runnable |= set(i)
	s.queue.pushBack(i)
}

// sleeps reports whether thread i exists and waits for something.
func (k *kernel) sleeps(i int) bool { return k.threads[i].used && k.sched.runnable&set(i) == 0 }

// sleep takes the running thread off the processor until wake, or until the counter has reached
// the deadline if that is not 0. The system call's result is wake's.
func (k *kernel) sleep(deadline uint64) {
	s := &k.sched
	s.changed = true
	s.runnable &^= set(s.current)
	k.threads[s.current].deadline = deadline
	if deadline != 0 {
		s.timed |= set(s.current)
	}
}

// wake makes the sleeping thread i runnable, with result as its system call's answer.
func (k *kernel) wake(i int, result int32) {
	s, t := &k.sched, &k.threads[i]
	if s.runnable&set(i) != 0 {
		die("kernel: wake of a runnable thread")
	}
	s.changed = true
	t.regs[0] = uint32(result)
	t.futex, t.events, t.deadline, t.uninterruptible = 0, 0, 0, false
	s.timed &^= set(i)
	s.runnable |= set(i)
	if t.left <= 0 {
		t.left = s.quantum
		s.queue.pushBack(i)
		return
	}
	s.queue.pushFront(i)
	s.boosted = s.boosted || s.inInterrupt
}

// yield is sched_yield.
func (k *kernel) yield() int32 {
	k.sched.yielded, k.sched.changed = true, true
	return 0
}

// schedule chooses the thread to run next. When none can run it waits for an interrupt.
func (k *kernel) schedule() {
	s := &k.sched
	t := &k.threads[s.current]
	ran := timer.Counter() - s.charged
	t.left -= int32(ran)
	t.ticks += ran
	next := s.current
	switch {
	case s.runnable&set(s.current) == 0: // asleep or gone
		next = k.waitForThread()
	case t.left <= 0 || s.yielded:
		if t.left <= 0 {
			t.left = s.quantum
		}
		if s.queue.count != 0 {
			s.queue.pushBack(s.current)
			next = s.queue.popFront()
		}
	case s.boosted:
		next = s.queue.popFront()
		s.queue.pushFront(s.current)
	}
	s.boosted, s.yielded = false, false
	s.charged = timer.Counter()
	k.clock.refresh(s.charged)
	if next != s.current {
		s.switches++
		saveFP(&t.fp)
		k.setCurrent(next)
		loadFP(&k.threads[next].fp)
	}
	k.armTimer(s.charged)
}

// waitForThread takes the next thread off the queue, and sleeps until there is one.
func (k *kernel) waitForThread() int {
	s := &k.sched
	for s.queue.count == 0 {
		before := timer.Counter()
		k.clock.refresh(before)
		k.armTimer(before)
		k.masked.idle()
		waitForInterrupt()
		k.masked.woken()
		s.idle += timer.Counter() - before
		k.interrupt()
	}
	return s.queue.popFront()
}

// lowest is the smallest element of a set that has one.
func lowest(set uint64) int { return bits.TrailingZeros64(set) }
