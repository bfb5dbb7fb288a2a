//go:build !arm

package kernel

import "testing"

func TestEveryThreadHasAStateAndItsTime(t *testing.T) {
	b := newBench(t)
	states := []ThreadState{ThreadRuns}
	for range 5 {
		b.spawn()
		states = append(states, ThreadReady)
	}
	list := func() *Threads {
		b.want("threads", b.call(CallThreads, benchData), 0)
		return (*Threads)(ptr(benchData))
	}
	check := func(what string) {
		t.Helper()
		for i, th := range list() {
			want := ThreadNone
			if i < len(states) {
				want = states[i]
			}
			if th.State != want {
				t.Errorf("%s: thread %d is %s, want %s", what, i+1, th.State, want)
			}
		}
	}
	check("all ready")

	b.store(benchData+pageSize, 0)
	b.call(callFutex, benchData+pageSize, futexWait, 0, 0)
	b.call(callEpollPwait, uint32(b.call(callEpollCreate1, 0)), eventsAt, 8, forever)
	b.store(benchData+pageSize, 1, 0)
	b.call(callNanosleep, benchData+pageSize)
	b.fill()
	b.write("x" + string(make([]byte, pieceMax-1)))
	b.call(callExit)
	states = []ThreadState{
		ThreadFutex, ThreadPolls, ThreadSleeps, ThreadConsole, ThreadNone, ThreadRuns,
	}
	check("one of each")

	before := list()[5].Ticks
	b.pass(quantumUS)
	b.call(callYield)
	if ran := list()[5].Ticks - before; ran < quantumUS {
		t.Errorf("%d ticks counted of %d", ran, quantumUS)
	}
	b.want("a bad pointer", b.call(CallThreads, 64), -eFAULT)
}
