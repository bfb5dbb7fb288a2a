package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
	"holdfast/netstack/virtual"
)

// The sweep plays one trouble of the network at every phase and of every length: whole nodes, real
// TLS over real TCP, in virtual time. TCP is what makes it necessary. After a cut its timers decide
// which side hears first, and it brings the bytes of before the cut, late: a lease that counted
// from what arrives would be wrong then by as much as the two sides differ.
//
//	member     ask      ask      |  ask .. suspect .. lost ...  |  recovers, or joins again
//	authority     ack      ack   |  suspect ... removes it      |
//	                    |        |                              |
//	                    |<phase->|<--------- length ----------->|

// cell is one place of the sweep.
type cell struct {
	trouble trouble
	clients bool
	phase   time.Duration // from a lease request that was answered to the trouble
	length  time.Duration // of the trouble
}

func (c cell) String() string {
	clients := ""
	if c.clients {
		clients = ", with clients"
	}
	return fmt.Sprintf("%s, %v after a lease request, for %v%s", c.trouble.name, c.phase, c.length,
		clients)
}

// trouble is what happens to the network, and how it ends.
type trouble struct {
	name       string
	begin, end func(l *lab)
}

// troubles are all of them: what is lost is lost for good, what is held arrives late and all at
// once.
var troubles = []trouble{
	{"frames lost both ways", lose(anyone, anyone), loseNone},
	{"frames lost on their way to the authority", lose(anyone, theAuthority), loseNone},
	{"frames lost on their way to the member", lose(theAuthority, anyone), loseNone},
	{"frames held both ways", hold(true), hold(false)},
}

type side func(l *lab, p *virtual.Port) bool

func anyone(*lab, *virtual.Port) bool           { return true }
func theAuthority(l *lab, p *virtual.Port) bool { return p == l.stations[0].port }

func lose(from, to side) func(*lab) {
	return func(l *lab) {
		l.wire.Drop(func(f, t *virtual.Port, _ []byte) bool { return from(l, f) && to(l, t) })
	}
}

func loseNone(l *lab) { l.wire.Drop(nil) }

func hold(h bool) func(*lab) { return func(l *lab) { l.wire.Hold(h) } }

const (
	// calm is the time before the trouble, for the clients to commit.
	calm = 8 * time.Second
	// aftermath is the time after it, in which the nodes have to become well again, and in which a
	// late frame may still do harm.
	aftermath = 20 * time.Second
	// wellMax is how long they may take to become well: each end's TCP retransmits within 1 s and asks
	// for an Ethernet address within 0.25 s, and the member asks again a tick later at the latest.
	wellMax = 2 * time.Second
)

// run plays a cell and complains about what must not be.
func (c cell) run(t *testing.T) outcome {
	t.Helper()
	o, l := c.play(t)
	if err := o.check(c.clients); err != nil {
		t.Errorf("%v: %v\n%s", c, err, l.story())
	}
	return o
}

// play plays a cell to its end.
func (c cell) play(t *testing.T) (outcome, *lab) {
	t.Helper()
	l := newLab(t, 1)
	authority, peer := l.boot(rootEnv(), &root), l.boot(memberEnv(), &member)
	l.joined()
	if c.clients {
		for _, s := range l.stations {
			s.serveClients(l, homedAt(t, member))
		}
	}
	l.clock.Run(calm)
	asked := peer.nextLease(l)
	l.clock.Run(max(0, asked+c.phase-l.clock.Elapsed()))
	sessions := len(peer.rows("mesh-link", "up"))
	c.trouble.begin(l)
	l.clock.Run(c.length)
	c.trouble.end(l)
	o := outcome{well: l.wellAfter(aftermath)}
	l.stop()
	o.judge(authority.watch, peer.watch)
	o.redialled = len(peer.rows("mesh-link", "up")) > sessions
	return o, l
}

// nextLease waits for the answer to a member's next lease request, and returns when it was sent.
func (s *station) nextLease(l *lab) (asked time.Duration) {
	l.t.Helper()
	_, before := s.watch.read()
	l.until("a lease request is answered", func() bool {
		_, asked = s.watch.read()
		return asked > before
	})
	return asked
}

// wellAfter moves the clock by d, and returns after how much of it the nodes were well, for good.
func (l *lab) wellAfter(d time.Duration) time.Duration {
	began := l.clock.Elapsed()
	ill := began
	l.clock.RunUntil(d, func() bool {
		if !l.well() {
			ill = l.clock.Elapsed()
		}
		return false
	})
	return ill - began
}

// well reports whether all nodes have one view, of all of them, and may commit.
func (l *lab) well() bool {
	first, _ := l.stations[0].watch.read()
	for _, s := range l.stations {
		status, _ := s.watch.read()
		if !status.Mutable || status.Digest != first.Digest || len(status.Members) != len(l.stations) {
			return false
		}
	}
	return true
}

// story is what the nodes have printed.
func (l *lab) story() string {
	var b strings.Builder
	for _, s := range l.stations {
		for _, line := range s.console.lines() {
			fmt.Fprintf(&b, "%s: %s\n", s.watch.status.Role, line)
		}
	}
	return b.String()
}

// serveClients has ten clients of a node commit to an object once a second each, in turn. A client
// waits for its answer before it asks again.
func (s *station) serveClients(l *lab, object string) {
	const clients = 10
	for i := range clients {
		l.clock.AfterFunc(time.Duration(i)*time.Second/clients, func() {
			for s.commit(object) {
				l.clock.Sleep(time.Second)
			}
		})
	}
}

// commit is one client's request, under the node's current epoch. It is false once the node has
// ended.
func (s *station) commit(object string) bool {
	status, _ := s.watch.read()
	token := capability.Mint(token(object, *s.who, status.Epoch), root.key)
	_, w := s.node.ask(context.Background(), func(t mesh.Ticket) mesh.Input {
		return mesh.Request{Ticket: t, Name: object, Op: wire.Commit, Class: wire.Authoritative,
			Durability: wire.Local, IfVersion: wire.AnyVersion, Value: []byte("x"), Capability: token}
	})
	return w == refusal.OK || w == refusal.Full
}

// outcome is what the judge saw in one cell.
type outcome struct {
	well      time.Duration // from the trouble's end until both nodes were well for good
	redialled bool          // the member has had another session
	removed   bool          // the authority could commit to the member's objects
	slack     time.Duration // then: from the end of the member's lease until it could
	back      time.Duration // and from when it no longer could until the member could again
	overlap   time.Duration // two homes
	adr       time.Duration // two homes, if leases went by ADR-0008 as it is written
	commits   [2]int        // published, by the authority and by the member
	stray     int           // commits at an instant for which the judge has no lease
}

// judge looks at what the watches of the authority and the member have noted.
func (o *outcome) judge(a, m *watch) {
	o.overlap, o.adr = overlap(&a.leases, &m.leases), overlap(&a.adrs, &m.adrs)
	o.slack, o.removed = slack(&m.leases, &a.leases)
	o.back, _ = slack(&a.leases, &m.leases)
	for n, w := range []*watch{a, m} {
		for i := range w.commits {
			for _, at := range w.commits[i] {
				if !w.leases[i].covers(at) {
					o.stray++
				}
			}
			o.commits[n] += len(w.commits[i])
		}
	}
}

// check returns what must not be.
func (o *outcome) check(clients bool) error {
	var wrong []error
	add := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	add(o.overlap > 0, "two homes for %v", o.overlap)
	add(o.removed && o.slack < 0, "the authority was early by %v", -o.slack)
	add(o.removed && o.back < 0, "the member was early by %v", -o.back)
	add(o.stray > 0, "%d commits outside of every lease: the judge is wrong about leases", o.stray)
	add(o.well > wellMax, "well %v after the trouble, want at most %v", o.well, wellMax)
	add(clients && o.commits[1] == 0, "no commits at the member")
	return errors.Join(wrong...)
}
