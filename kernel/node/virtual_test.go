package node

import (
	"context"
	"math/rand"
	"sync"
	"testing"
	"testing/cryptotest"
	"time"

	"holdfast/kernel/node/clock"
	"holdfast/mesh/when"
	"holdfast/netstack"
	"holdfast/netstack/virtual"
)

// lab is whole nodes on real TCP in virtual time: the image's own stack under the image's own node,
// with nothing left out but the board. Package netstack/virtual says how time passes. Two labs with
// one seed and one history are the same to the byte.
type lab struct {
	t        *testing.T
	clock    *virtual.Clock
	wire     *virtual.Wire
	stations []*station
}

// latency is what a frame takes, one way: about what the rig's relay takes.
const latency = 200 * time.Microsecond

func newLab(t *testing.T, seed uint64) *lab {
	cryptotest.SetGlobalRandom(t, seed)
	c := virtual.NewClock(t)
	return &lab{t: t, clock: c, wire: virtual.NewWire(c, latency)}
}

// station is a node of a lab.
type station struct {
	*running
	who   *identity
	watch *watch
	stack *netstack.Stack
	port  *virtual.Port
}

// boot starts a node, on a machine with a second clock, at this instant.
func (l *lab) boot(env []string, who *identity) *station {
	l.t.Helper()
	s := &station{who: who, port: l.wire.Port(), watch: newWatch(l.clock)}
	s.running = &running{
		testMachine: &testMachine{chip: chip(l.t, env, who, true)},
		w:           &world{t: l.t},
	}
	m := s.machine()
	m.Clock, m.Second, m.Waits = s.watch.counter, s.watch.second, waits{l.clock}
	s.node = Boot(m)
	address, _ := s.node.Address()
	number := address.Addr().As4()[3]
	var err error
	s.stack, err = netstack.New(s.port, netstack.Config{
		MAC:     [6]byte{2, 0, 0, 0, 0, number},
		Addr:    address,
		Clock:   l.clock,
		Entropy: rand.New(rand.NewSource(int64(number))),
	})
	if err != nil {
		l.t.Fatal(err)
	}
	s.run(l)
	l.stations = append(l.stations, s)
	return s
}

// run has the node run until it is stopped.
func (s *station) run(l *lab) {
	ctx, cancel := context.WithCancel(l.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.err = s.node.Run(ctx, s.stack)
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		s.stack.Close()
		s.port.Close()
		l.clock.Run(0)
		<-ended
	})
	l.t.Cleanup(s.stop)
}

// joined waits until every node has confirmed a view of all of them, and puts the watches in place.
func (l *lab) joined() {
	l.t.Helper()
	l.until("every node joined", func() bool {
		for _, s := range l.stations {
			if len(s.rows("mesh-join", "confirmed")) == 0 {
				return false
			}
		}
		return true
	})
	for _, s := range l.stations {
		s.node.loop.post(l.t.Context(), watchLoop{s.watch})
	}
	l.clock.Run(0)
}

// until moves the clock until a condition holds.
func (l *lab) until(what string, holds func() bool) {
	l.t.Helper()
	if !l.clock.RunUntil(patience, holds) {
		l.t.Fatalf("not within %v: %s", patience, what)
	}
}

// stop ends every node, and what the watches note with it.
func (l *lab) stop() {
	for _, s := range l.stations {
		s.watch.end()
	}
	for _, s := range l.stations {
		s.stop()
		if s.err != nil {
			l.t.Errorf("%v ended: %v", s.who.id, s.err)
		}
	}
}

// waits is a virtual clock as a node waits by it.
type waits struct{ *virtual.Clock }

func (w waits) AfterFunc(d time.Duration, f func()) clock.Timer { return w.Clock.AfterFunc(d, f) }

// counter is the machine's raw counter.
func (w *watch) counter() when.Instant {
	return when.Instant((w.clock.Elapsed() - w.booted).Milliseconds())
}

// second is the machine's second clock.
func (w *watch) second() (when.Calendar, bool) { return when.Calendar(w.clock.Now().Unix()), true }

// at is the first instant at which the counter shows t.
func (w *watch) at(t when.Instant) time.Duration {
	return w.booted + time.Duration(t)*time.Millisecond
}
