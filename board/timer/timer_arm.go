package timer

// Counter is CNTVCT, the virtual count, in ticks of 1/Hz seconds.
//
//go:noescape
func Counter() uint64

// Hz is CNTFRQ, what the loader said the counter's frequency is. It is 0 when nobody said.
//
//go:noescape
func Hz() uint32

// SetHz writes CNTFRQ, which changes nothing but what Hz says. Only the secure state may.
//
//go:noescape
func SetHz(hz uint32)

// Set makes the timer raise its interrupt as soon as Counter is at or beyond at, and drops the
// interrupt line when it is not. The line is a level: it stays until the next Set.
//
//go:noescape
func Set(at uint64)
