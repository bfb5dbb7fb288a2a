package node

import (
	"context"
	"io"
	"net"
	"net/netip"
	"time"

	"holdfast/kernel/node/clock"
	"holdfast/mesh/when"
	"holdfast/nvram"
)

// Machine is the hardware that a node runs on, as far as it cares.
type Machine struct {
	// Clock reads the raw counter: milliseconds since boot, never set, never going back while the
	// machine runs. Leases and the detector are timed by it, and leases by Second as well.
	Clock func() when.Instant
	// Second reads the second clock: whole seconds since any fixed point, which go on when the machine
	// is stopped and Clock with it (rule L6); false when it does not answer. Nil when there is none.
	// The loop waits for it, a few times a second and for every commit: a millisecond, not more.
	Second func() (when.Calendar, bool)
	// Waits is what the loop and the links wait by: the clock that the network's deadlines go by. Nil
	// is package time's.
	Waits clock.Clock
	// NVRAM is the chip with the node's records; nil when the board has none that answers.
	NVRAM nvram.Chip
	// Watchdog resets the machine when the node does not feed it; nil when there is none.
	Watchdog Watchdog
	// Entropy is what the machine has of it.
	Entropy Entropy
	// Console takes whole lines, one a Write, and what is drawn while somebody types. It may be slow.
	Console io.Writer
	// Keyboard is what is typed at the console; nil when there is none.
	Keyboard Keyboard
	// Epitaph is what the boot before left of the crash in which it ended; empty: it did not crash.
	Epitaph string
	// Restart resets the machine, PowerOff switches it off. Neither returns on a machine; nil when it
	// cannot be done.
	Restart, PowerOff func()
	// Threads lists the threads that the program runs on; nil when nobody knows.
	Threads func() []Thread
	// Figures adds what the machine counts; nil when it counts nothing. Several goroutines may call
	// it.
	Figures func(add func(Figure))
}

// Entropy is the machine's part in seeding the random generator (spec/system.md section 2).
type Entropy struct {
	// Seed takes what the loader left for this boot, once; false when there is nothing.
	Seed func() (seed [32]byte, ok bool)
	// Chip asks the machine's own random number generator; false when it fails. Nil when it has none.
	Chip func() (seed [32]byte, ok bool)
	// Cycles reads a counter that is as fine as the machine has.
	Cycles func() uint64
	// Rekey gives the generator behind crypto/rand a new key.
	Rekey func(key *[32]byte)
}

// Keyboard is read by one goroutine, which a deadline ends.
type Keyboard interface {
	io.Reader
	SetReadDeadline(time.Time) error
}

// Thread is one thread of the machine's kernel.
type Thread struct {
	ID    int
	State string        // one word
	Busy  time.Duration // it has run so long
}

// Watchdog is the machine's (rule L15).
type Watchdog interface {
	// Start arms it, once and for good: the machine is reset when it was not fed for so long, which
	// is whole half seconds.
	Start(after time.Duration)
	Feed()
}

// Network is the TCP that links and HTTP run on. Its connections may be used from several
// goroutines, as net.Conn says.
type Network interface {
	Listen(port uint16) (net.Listener, error)
	Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}
