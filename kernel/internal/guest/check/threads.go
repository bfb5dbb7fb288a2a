//go:build arm

package check

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/kernel/sys"
)

// A chain of goroutines that hand values on.
func channels() (string, error) {
	const length, rounds = 1000, 20
	in := make(chan int)
	out := in
	for range length {
		next := make(chan int)
		go func(from <-chan int, to chan<- int) {
			for v := range from {
				to <- v + 1
			}
			close(to)
		}(out, next)
		out = next
	}
	go func() {
		for range rounds {
			in <- 0
		}
		close(in)
	}()
	n := 0
	for v := range out {
		if v != length {
			return "", fmt.Errorf("value %d, want %d", v, length)
		}
		n++
	}
	if n != rounds {
		return "", fmt.Errorf("%d values, want %d", n, rounds)
	}
	return fmt.Sprintf("%d hand-overs", length*rounds), nil
}

// Timers fire in order and none fires early.
func timers() (string, error) {
	start := time.Now()
	var last time.Duration
	for _, d := range []time.Duration{time.Nanosecond, 50 * time.Microsecond, time.Millisecond,
		3 * time.Millisecond, 20 * time.Millisecond} {
		t := time.Now()
		<-time.After(d)
		if got := time.Since(t); got < d {
			return "", fmt.Errorf("a timer of %v fired after %v", d, got)
		}
		if since := time.Since(start); since <= last {
			return "", fmt.Errorf("time stood still at %v", since)
		} else {
			last = since
		}
	}
	return last.String(), nil
}

// Goroutines that are locked to threads and end with them.
func lockedThreads() (string, error) {
	const n, rounds = 30, 20
	var wg sync.WaitGroup
	var sum atomic.Int32
	var ready sync.WaitGroup
	gate := make(chan struct{})
	ready.Add(n)
	for range n {
		wg.Go(func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			ready.Done()
			<-gate
			for range rounds {
				sum.Add(1)
				runtime.Gosched()
			}
		})
	}
	ready.Wait()
	peak := sys.ReadStats().Threads
	close(gate)
	wg.Wait()
	if sum.Load() != n*rounds {
		return "", fmt.Errorf("sum %d", sum.Load())
	}
	if peak < n {
		return "", fmt.Errorf("%d threads for %d locked goroutines", peak, n)
	}
	for sys.ReadStats().Threads >= n { // they end on their own; the boot test's limit bounds this
		runtime.Gosched()
	}
	return fmt.Sprintf("%d threads at the peak, %d afterwards", peak, sys.ReadStats().Threads), nil
}

var spun [3]uint32

// spin has no call in its loop: only a signal can stop it.
func spin(counter, stop *uint32) {
	for *stop == 0 {
		*counter++
	}
}

func preemption() (string, error) {
	before := sys.ReadStats()
	var stop uint32
	for i := range spun {
		go spin(&spun[i], &stop)
	}
	const sleeps = 10
	for range sleeps {
		time.Sleep(5 * time.Millisecond)
	}
	runtime.GC()
	counts := spun
	stop = 1
	for i, n := range counts {
		if n == 0 {
			return "", fmt.Errorf("spinner %d never ran", i)
		}
	}
	after := sys.ReadStats()
	if after.Signals == before.Signals {
		return "", errors.New("no preemption signal was delivered")
	}
	return fmt.Sprintf("%d signals", after.Signals-before.Signals), nil
}

// series is a loop without a call whose result depends on every bit of the floating-point state.
func series(n int) (a, b float64) {
	a, b = 1, 2
	for range n {
		a = a*1.0000001 + 0.5/b
		b += a * 1e-9
	}
	return a, b
}

func floatingPoint() (string, error) {
	const n, goroutines, rounds = 20000, 4, 12
	a, b := series(n)
	before := sys.ReadStats().Switches
	errs := make(chan error, goroutines)
	for range goroutines {
		go func() {
			for range rounds {
				x, y := series(n)
				if math.Float64bits(x) != math.Float64bits(a) || math.Float64bits(y) != math.Float64bits(b) {
					errs <- fmt.Errorf("%v, %v; want %v, %v", x, y, a, b)
					return
				}
			}
			errs <- nil
		}()
	}
	for range goroutines {
		if err := <-errs; err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d switches", sys.ReadStats().Switches-before), nil
}
