//go:build arm

package check

import (
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"holdfast/kernel/sys"
)

const realtime, monotonic = 0, 1

// trapped asks the kernel for a clock, past the vDSO.
func trapped(id uintptr) time.Duration {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		panic(errno)
	}
	return time.Duration(ts.Sec)*time.Second + time.Duration(ts.Nsec)
}

func unix(t time.Time) time.Duration { return time.Duration(t.UnixNano()) }

// The clocks never go back, and are the same through the vDSO, the kernel and the counter.
func clock() (string, error) {
	const rounds = 100000
	before := sys.ReadStats().Calls[syscall.SYS_CLOCK_GETTIME]
	ticks := sys.Counter()
	start := time.Now()
	last := start
	for i := range rounds {
		now := time.Now()
		if now.Before(last) || unix(now) < unix(last) {
			return "", fmt.Errorf("reading %d: %v after %v", i, now, last)
		}
		last = now
	}
	ticks = sys.Counter() - ticks
	if n := sys.ReadStats().Calls[syscall.SYS_CLOCK_GETTIME] - before; n != 0 {
		return "", fmt.Errorf("the vDSO is not used: %d calls", n)
	}
	elapsed := last.Sub(start)
	if bound := time.Duration(ticks) * time.Second / time.Duration(sys.CounterHz()); bound < elapsed {
		return "", fmt.Errorf("%v by the counter, %v by the clock", bound, elapsed)
	}
	for range 1000 {
		if a, b, c := unix(time.Now()), trapped(realtime), unix(time.Now()); a > b || b > c {
			return "", fmt.Errorf("realtime: vDSO %v, kernel %v, vDSO %v", a, b, c)
		}
		t0, m0 := time.Now(), trapped(monotonic)
		m1, t1 := trapped(monotonic), time.Now()
		m2 := trapped(monotonic)
		if inner, outer := m1-m0, t1.Sub(t0); inner > outer || m2 < m1 {
			return "", fmt.Errorf("monotonic: %v inside of %v", inner, outer)
		}
	}
	return fmt.Sprintf("%d readings in %v", rounds, elapsed), nil
}

// Setting the time of day moves one clock and not the other.
func clockSet() (string, error) {
	want := time.Date(2030, 1, 2, 3, 4, 5, 999999000, time.UTC)
	tv := syscall.NsecToTimeval(want.UnixNano())
	before := trapped(monotonic)
	if err := syscall.Settimeofday(&tv); err != nil {
		return "", err
	}
	now := time.Now()
	after := trapped(monotonic)
	if d := now.Sub(want.Round(0)); now.Round(0).Before(want) || unix(now)-unix(want) > after-before {
		return "", fmt.Errorf("set to %v, reads %v (%v)", want, now, d)
	}
	if after < before || after-before > time.Minute {
		return "", fmt.Errorf("the monotonic clock went from %v to %v", before, after)
	}
	for _, bad := range []syscall.Timeval{{Sec: 0}, {Sec: 1, Usec: 1000000}, {Sec: 1, Usec: -1}} {
		if err := syscall.Settimeofday(&bad); !errors.Is(err, syscall.EINVAL) {
			return "", fmt.Errorf("set to %v: %v", bad, err)
		}
	}
	return now.String(), nil
}
