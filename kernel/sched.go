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
//   - A round ends when some thread has used up its quantum, which sends it behind all others, or
//     when there is nothing to run. The first wake of a round gives a thread a whole quantum: what
//     it has used in earlier ones must not send a driver to the back, where it would wait for a
//     busy thread's whole quantum each time that its own small turns have added up to one.
//   - A thread that an interrupt woke runs ahead of the one it interrupted, as soon as that one has
//     had the processor for a grain. Without it every frame that arrives would cut short what the
//     one before set off, and bring a wake of its own; so the driver finds several at once.
//   - A thread that another thread woke waits until that one blocks, as the runtime's hand-overs
//     expect: with preemption here the runtime would see its idle processors as busy and start
//     more threads.
//   - A thread that has used up its quantum goes to the back if there is another one.
type scheduler struct {
	current  int    // index of the running thread
	runnable uint64 // set of threads
	timed    uint64 // set of threads with a deadline
	onFutex  uint64 // set of threads that sleep on a futex
	queue    runQueue
	urgent   uint32 // so many at the front of the queue were woken by an interrupt

	quantum int32  // in counter ticks
	grain   uint64 // likewise
	since   uint64 // counter value when the running thread got the processor
	round   uint32 // number of the present round
	charged uint64 // counter value when the running thread's quantum was last charged

	changed     bool // this system call changed the state of a thread
	inInterrupt bool
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

// grainsPerSecond makes a grain 50 us, which is no delay to a driver, and much of a request's work.
const grainsPerSecond = 20000

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
	s.onFutex &^= set(i)
	s.runnable |= set(i)
	if t.round != s.round {
		s.refill(t)
	}
	if t.left <= 0 {
		s.refill(t)
		s.queue.pushBack(i)
		return
	}
	if s.inInterrupt {
		s.queue.pushFront(i)
		s.urgent++
		return
	}
	s.queue.insert(s.urgent, i)
}

// takeNext takes the next thread off the queue.
func (s *scheduler) takeNext() int {
	if s.urgent > 0 {
		s.urgent--
	}
	return s.queue.popFront()
}

// refill gives a thread a whole quantum.
func (s *scheduler) refill(t *thread) { t.left, t.round = s.quantum, s.round }

// yield is sched_yield.
func (k *kernel) yield() int32 {
	k.sched.yielded, k.sched.changed = true, true
	return 0
}

// schedule chooses the thread to run next. When none can run it waits for an interrupt.
func (k *kernel) schedule() {
	s := &k.sched
	t := &k.threads[s.current]
	now := timer.Counter()
	ran := now - s.charged
	t.left -= int32(ran)
	t.ticks += ran
	next := s.current
	switch {
	case s.runnable&set(s.current) == 0: // asleep or gone
		next = k.waitForThread()
		s.since = timer.Counter()
	case t.left <= 0 || s.yielded:
		if t.left <= 0 {
			s.round++
			s.refill(t)
		}
		if s.queue.count != 0 {
			s.queue.pushBack(s.current)
			next = s.takeNext()
		}
	case s.urgent > 0 && now-s.since >= s.grain:
		next = s.takeNext()
		s.queue.insert(s.urgent, s.current)
	}
	s.yielded = false
	s.charged = timer.Counter()
	k.clock.refresh(s.charged)
	if next != s.current {
		s.since = s.charged
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
		s.round++
		before := timer.Counter()
		k.clock.refresh(before)
		k.armTimer(before)
		k.masked.idle()
		waitForInterrupt()
		k.masked.woken()
		s.idle += timer.Counter() - before
		k.interrupt()
	}
	return s.takeNext()
}

// lowest is the smallest element of a set that has one.
func lowest(set uint64) int { return bits.TrailingZeros64(set) }
