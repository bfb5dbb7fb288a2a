package kernel

import "holdfast/board/timer"

// armTimer sets the next timer interrupt: the nearest deadline, the end of the quantum when others
// want the processor, the end of the grain when one of them was woken by an interrupt, the next
// profiling tick, and in any case within a second, for the clock.
func (k *kernel) armTimer(now uint64) {
	s := &k.sched
	at := now + uint64(k.clock.hz)
	for m := s.timed; m != 0; m &= m - 1 {
		at = min(at, k.threads[lowest(m)].deadline)
	}
	if s.queue.count != 0 {
		at = min(at, s.charged+uint64(k.threads[s.current].left))
	}
	if s.urgent > 0 {
		at = min(at, s.since+s.grain)
	}
	if p := &k.signals; p.profileEvery != 0 && s.runnable != 0 {
		at = min(at, p.profileNext)
	}
	if at != s.armed {
		s.armed = at
		timer.Set(at)
	}
}

// expire is the timer interrupt: it wakes whoever has reached its deadline. The timer's line is a
// level, so that it is moved into the future here; armTimer then finds the right moment.
func (k *kernel) expire() {
	s, now := &k.sched, timer.Counter()
	for m := s.timed; m != 0; m &= m - 1 {
		i := lowest(m)
		t := &k.threads[i]
		if t.deadline > now {
			continue
		}
		result := int32(0) // nanosleep, and epoll_pwait with no event
		if t.futex != 0 {
			result = -eTIMEDOUT
		}
		k.wake(i, result)
	}
	k.profile(now)
	s.armed = now + uint64(k.clock.hz)
	timer.Set(s.armed)
}

// sleepFor is nanosleep.
func (k *kernel) sleepFor(ts uint32) int32 {
	if !k.wordsReadable(ts, 8) {
		return -eFAULT
	}
	sec, ns := *word(ts), *word(ts + 4)
	if ns >= secondNS {
		return -eINVAL
	}
	k.sleep(k.clock.after(uint64(sec), ns))
	return unanswered
}
