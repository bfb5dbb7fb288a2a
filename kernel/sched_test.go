//go:build !arm

package kernel

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"holdfast/board"
	"holdfast/board/timer"
)

const (
	quantumUS = 1000000 / quantaPerSecond
	grainUS   = 1000000 / grainsPerSecond
	lock      = benchData      // a futex
	lock2     = benchData + 64 // another one
)

// runs is the index of the thread that runs.
func (b *bench) runs() int { return b.sched.current }

func (b *bench) wantRunning(what string, i int) {
	b.t.Helper()
	if b.runs() != i {
		b.t.Fatalf("%s: thread %d runs, want %d", what, b.runs(), i)
	}
}

func TestACloneGoesOnOnItsOwnStackWithItsParentsMask(t *testing.T) {
	b := newBench(t)
	b.running().mask = bit(sigURG)
	b.running().regs[4] = 44
	b.running().pc = 0x80201234
	i := b.spawn()
	b.wantRunning("after clone", 0)
	c := &b.threads[i]
	if c.pc != 0x80201234 || c.regs[0] != 0 || c.regs[13] != benchData+pageSize ||
		c.mask != bit(sigURG) || c.alt.flags != altDisabled || c.cpsr != modeSystem {
		t.Errorf("child %+v", c)
	}
	b.want("fork", b.call(callClone, 17, 0), -eNOSYS)
}

func TestThereAreAsManyThreadsAsThereIsRoomFor(t *testing.T) {
	b := newBench(t)
	for n := 1; n < threadsMax; n++ {
		b.spawn()
	}
	b.want("one more", b.call(callClone, cloneThread, benchData), -eAGAIN)
	b.call(callExit) // thread 0 is gone, another one runs
	if b.runs() == 0 || b.sched.alive != threadsMax-1 {
		t.Errorf("thread %d runs, %d alive", b.runs(), b.sched.alive)
	}
	b.want("in the free place", b.call(callClone, cloneThread, benchData), 1)
}

func TestEveryRunnableThreadGetsItsTurn(t *testing.T) {
	b := newBench(t)
	for range 3 {
		b.spawn()
	}
	ran := []int{}
	for range 8 {
		ran = append(ran, b.runs())
		b.pass(quantumUS + 10)
	}
	if got, want := fmt.Sprint(ran), "[0 1 2 3 0 1 2 3]"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}

func TestAThreadAloneIsNotInterruptedForTheOthers(t *testing.T) {
	b := newBench(t)
	sets := timer.Host.Sets
	b.pass(900_000)
	if n := timer.Host.Sets - sets; n != 0 {
		t.Errorf("the timer was set %d times within a second", n)
	}
}

func TestASystemCallThatMovesNoThreadLeavesTheTimerAlone(t *testing.T) {
	b := newBench(t)
	b.spawn()
	sets := timer.Host.Sets
	for range 100 {
		timer.Host.Count++
		b.call(callGetpid)
	}
	if timer.Host.Sets != sets {
		t.Errorf("set %d times", timer.Host.Sets-sets)
	}
}

func TestYieldGoesToTheBack(t *testing.T) {
	b := newBench(t)
	one, two := b.spawn(), b.spawn()
	b.call(callYield)
	b.wantRunning("after one yield", one)
	b.call(callYield)
	b.wantRunning("after two", two)
	b.call(callYield)
	b.wantRunning("after three", 0)
}

func TestAFutexWakeDoesNotPreemptButAnInterruptDoes(t *testing.T) {
	b := newBench(t)
	sleeper := b.spawn()
	b.call(callYield)
	b.wantRunning("after the yield", sleeper)
	b.call(callFutexTime64, lock, futexWait, 0, 0)
	b.wantRunning("while it sleeps", 0)
	other := b.spawn()
	b.want("wake", b.call(callFutexTime64, lock, futexWake, 1), 1)
	b.wantRunning("after the wake", 0)
	b.call(callYield)
	b.wantRunning("the woken one is ahead of the one that waited longer", sleeper)
	if sleeper == other {
		t.Fatal("one thread for two")
	}

	b.store(benchData+128, 0, 1_000_000) // a millisecond
	b.call(callNanosleep, benchData+128)
	before := b.runs()
	b.pass(1_010)
	b.wantRunning("after its deadline", sleeper)
	b.call(callExit)
	b.wantRunning("then the one that was interrupted", before)
}

func TestAWokenThreadThatHasUsedUpItsQuantumGoesToTheBack(t *testing.T) {
	b := newBench(t)
	sleeper := b.spawn()
	third := b.spawn()
	b.call(callYield)
	b.wantRunning("first", sleeper)
	b.threads[sleeper].left = 0
	b.call(callFutexTime64, lock, futexWait, 0, 0)
	b.threads[sleeper].left = 0
	b.wantRunning("then", third)
	b.call(callFutexTime64, lock, futexWake, 1)
	b.call(callYield)
	b.wantRunning("the one that waited is first", 0)
	if b.threads[sleeper].left != b.sched.quantum {
		t.Errorf("the woken thread has %d ticks left", b.threads[sleeper].left)
	}
}

// waitsForInterrupt makes a thread that waits for interrupt 87 in epoll_pwait; thread 0 runs.
func (b *bench) waitsForInterrupt() (i int) {
	b.t.Helper()
	ep, fd := b.call(callEpollCreate1, 0), b.open("/dev/irq/87")
	b.watch(ep, fd, epollIn|epollET)
	b.call(callRead, uint32(fd), bufferAt, 8) // no interrupt yet: it is unmasked
	i = b.spawn()
	for b.runs() != i {
		b.call(callYield)
	}
	b.call(callEpollPwait, uint32(ep), eventsAt, 8, forever)
	b.wantRunning("while the other one waits", 0)
	return i
}

func TestAnInterruptLetsTheRunningThreadHaveItsGrain(t *testing.T) {
	b := newBench(t)
	driver := b.waitsForInterrupt()
	b.interrupts(87)
	b.wantRunning("at once", 0)
	b.pass(grainUS - 1)
	b.wantRunning("just before the grain ends", 0)
	b.pass(1)
	b.wantRunning("when it ends", driver)
	b.call(callExit)
	b.wantRunning("then the one that was interrupted", 0)
}

func TestNobodyWokenByAThreadOvertakesOneWokenByAnInterrupt(t *testing.T) {
	b := newBench(t)
	sleeper := b.spawn()
	b.call(callYield)
	b.call(callFutexTime64, lock, futexWait, 0, 0)
	driver := b.waitsForInterrupt()
	b.interrupts(87)
	b.want("wake", b.call(callFutexTime64, lock, futexWake, 1), 1)
	b.pass(grainUS)
	b.wantRunning("first", driver)
	b.call(callExit)
	b.wantRunning("then the one that was interrupted", 0)
	b.call(callYield)
	b.wantRunning("and the one that it had woken", sleeper)
}

// A driver runs for a little each time; what that adds up to must not send it to the back.
func TestADriverKeepsItsPlaceBesideABusyThread(t *testing.T) {
	b := newBench(t)
	driver := b.spawn()
	b.call(callYield)
	b.store(benchData+128, 0, 500_000)
	busy := 0
	for range 100 {
		b.wantRunning("the driver", driver)
		timer.Host.Count += quantumUS / 10
		b.call(callNanosleep, benchData+128)
		b.wantRunning("the busy one", busy)
		b.pass(510)
	}
}

func TestAFutexWaitEndsAsItShould(t *testing.T) {
	b := newBench(t)
	waiter := b.spawn()
	b.call(callYield)
	wait := func(timeout uint32) {
		b.wantRunning("before the wait", waiter)
		b.call(callFutexTime64, lock, futexWait, 0, timeout)
		b.wantRunning("during the wait", 0)
	}
	result := func(what string, want int32) {
		t.Helper()
		b.want(what, int32(b.threads[waiter].regs[0]), want)
		if b.runs() != waiter {
			b.call(callYield)
		}
	}
	b.store(benchData+128, 0, 0, 5000, 0) // 5 us

	wait(0)
	b.call(callFutexTime64, lock, futexWake, 1)
	result("woken", 0)
	wait(benchData + 128)
	b.pass(7)
	result("timed out", -eTIMEDOUT)
	wait(benchData + 128)
	b.call(callFutexTime64, lock, futexWake, 1)
	result("woken in time", 0)
	b.pass(100)
	result("the old deadline does nothing", 0)

	wait(0)
	b.signals.actions[sigURG] = action{handler: benchCode}
	b.call(callTgkill, processID, uint32(waiter)+1, sigURG)
	b.want("interrupted by a signal", int32(b.threads[waiter].regs[0]), -eINTR)
}

func TestAFutexCallRefuses(t *testing.T) {
	b := newBench(t)
	b.store(lock, 7)
	b.store(benchData+128, 0, 0, secondNS, 0)
	b.store(benchData+160, 0, 1<<31, 0, 0)
	for _, tt := range []struct {
		name string
		args []uint32
		want int32
	}{
		{"another value", []uint32{lock, futexWait | 128, 8, 0}, -eAGAIN},
		{"a bad address", []uint32{0, futexWait, 0, 0}, -eFAULT},
		{"an odd address", []uint32{lock + 2, futexWait, 0, 0}, -eFAULT},
		{"a bad timeout address", []uint32{lock, futexWait, 7, 4}, -eFAULT},
		{"too many nanoseconds", []uint32{lock, futexWait, 7, benchData + 128}, -eINVAL},
		{"negative seconds", []uint32{lock, futexWait, 7, benchData + 160}, -eINVAL},
		{"another operation", []uint32{lock, 9, 0, 0}, -eNOSYS},
		{"nobody to wake", []uint32{lock, futexWake, 1, 0}, 0},
	} {
		b.t = t
		b.want(tt.name, b.call(callFutexTime64, tt.args...), tt.want)
		b.wantRunning(tt.name, 0)
	}
}

func TestAWakeFindsItsOwnWaitersOnlyAndNotTooMany(t *testing.T) {
	b := newBench(t)
	for _, address := range []uint32{lock, lock2, lock, lock} {
		i := b.spawn()
		for b.runs() != i {
			b.call(callYield)
		}
		b.call(callFutexTime64, address, futexWait, 0, 0)
	}
	b.wantRunning("all others sleep", 0)
	b.want("two of three", b.call(callFutexTime64, lock, futexWake, 2), 2)
	b.want("the last", b.call(callFutexTime64, lock, futexWake, 9), 1)
	b.want("the other lock", b.call(callFutexTime64, lock2, futexWake, 9), 1)
	b.want("none left", b.call(callFutexTime64, lock, futexWake, 9), 0)
}

func TestAnIdleProcessorWaitsForTheNextDeadline(t *testing.T) {
	b := newBench(t)
	b.store(benchData+128, 0, 3_000_000) // 3 ms
	host.wait = func() {
		timer.Host.Count = timer.Host.Compare
		b.gic.pending = append(b.gic.pending, board.IRQVirtualTimer)
	}
	before := timer.Host.Count
	b.want("nanosleep", b.call(callNanosleep, benchData+128), 0)
	if d := timer.Host.Count - before; d < 3_000 || d > 3_002 {
		t.Errorf("slept %d us", d)
	}
	if b.sched.idle < 3_000 {
		t.Errorf("idle for %d ticks", b.sched.idle)
	}
}

// Whatever threads do to each other, one that can run is not left out for long.
func TestNobodyStarves(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		defer b.shutdown()
		host.wait = func() {
			timer.Host.Count = max(timer.Host.Count, timer.Host.Compare)
			b.gic.pending = append(b.gic.pending, board.IRQVirtualTimer)
		}
		for range rapid.IntRange(1, 6).Draw(rt, "threads") {
			b.spawn()
		}
		b.store(benchData+128, 0, 300_000)
		lastRan := [threadsMax]uint64{}
		for i := range lastRan {
			lastRan[i] = timer.Host.Count
		}
		for range rapid.IntRange(1, 300).Draw(rt, "steps") {
			now := timer.Host.Count
			lastRan[b.runs()] = now
			for i := range b.threads {
				if !b.threads[i].used || b.sched.runnable&set(i) == 0 {
					lastRan[i] = now
				}
				if wait := now - lastRan[i]; wait > 20*quantumUS {
					rt.Fatalf("thread %d has waited for %d us", i, wait)
				}
			}
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0:
				b.call(callFutexTime64, lock, futexWake, 1)
			case 1:
				b.call(callFutexTime64, lock, futexWake, 64)
			case 2:
				if b.sched.queue.count != 0 { // somebody has to be there to wake it
					b.call(callFutexTime64, lock, futexWait, 0, 0)
				}
			case 3:
				b.call(callNanosleep, benchData+128)
			case 4:
				b.pass(uint64(rapid.IntRange(1, 700).Draw(rt, "us")))
			}
			b.invariants(rt)
		}
	})
}

// invariants are what holds between two exceptions.
func (b *bench) invariants(rt *rapid.T) {
	s := &b.sched
	queued := uint64(0)
	for n := range s.queue.count {
		i := int(s.queue.ring[(s.queue.head+n)%threadsMax])
		if queued&set(i) != 0 {
			rt.Fatalf("thread %d is queued twice", i)
		}
		queued |= set(i)
	}
	if queued|set(s.current) != s.runnable || queued&set(s.current) != 0 {
		rt.Fatalf("runnable %#x, queued %#x, current %d", s.runnable, queued, s.current)
	}
	if s.timed&s.runnable != 0 {
		rt.Fatalf("runnable threads %#x have deadlines", s.timed&s.runnable)
	}
	onFutex := uint64(0)
	for i := range b.threads {
		if b.threads[i].used && b.threads[i].futex != 0 {
			onFutex |= set(i)
		}
	}
	if onFutex != s.onFutex || onFutex&s.runnable != 0 {
		rt.Fatalf("on a futex %#x, noted %#x, runnable %#x", onFutex, s.onFutex, s.runnable)
	}
	if timer.Host.Compare > timer.Host.Count+benchHz {
		rt.Fatalf("the timer is %d ticks away", timer.Host.Compare-timer.Host.Count)
	}
}
