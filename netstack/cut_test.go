package netstack

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"net/netip"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"pgregory.net/rapid"

	"holdfast/netstack/talk"
	"holdfast/netstack/virtual"
)

const latency = 200 * time.Microsecond // one way, about what the rig's relay takes

// host makes a stack on a virtual wire: 10.7.0.n, 02:00:00:00:00:n.
func host(t testing.TB, c *virtual.Clock, w *virtual.Wire, n byte, o tcpOptions) *Stack {
	t.Helper()
	port := w.Port()
	s, err := newStack(port, Config{
		MAC:     [6]byte{2, 0, 0, 0, 0, n},
		Addr:    netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 7, 0, n}), 24),
		Clock:   c,
		Entropy: rand.New(rand.NewSource(int64(n))),
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); port.Close() })
	return s
}

// conversation is a talker on one stack and an echo on another, in virtual time.
type conversation struct {
	clock *virtual.Clock
	wire  *virtual.Wire

	mu    sync.Mutex
	heard int   // lines that came back
	over  error // why it ended
}

// state is how many lines came back, and why the session is over.
func (v *conversation) state() (heard int, over error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.heard, v.over
}

func (v *conversation) hear(int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.heard++
}

// run is the talker's session, to its end.
func (v *conversation) run(from *Stack, to netip.AddrPort, every time.Duration) {
	c, err := from.Dial(context.Background(), to)
	if err == nil {
		err = talk.Talker{Every: every, Sleep: v.clock.Sleep, Heard: v.hear}.Run(c)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = err
}

func converse(t *testing.T, every time.Duration, o tcpOptions) *conversation {
	t.Helper()
	clock := virtual.NewClock(t)
	v := &conversation{clock: clock, wire: virtual.NewWire(clock, latency)}
	root, member := host(t, clock, v.wire, 10, o), host(t, clock, v.wire, 11, o)
	l, err := root.Listen(7)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go talk.Echo(l)
	go v.run(member, addrPort(root, 7), every)
	return v
}

// recovery cuts the wire for a while and returns how long after the cut's end the session delivers
// its first byte. It is an error when that takes longer than a minute or the session is over.
func (v *conversation) recovery(cut time.Duration) (time.Duration, error) {
	v.wire.Cut(true)
	v.clock.Run(cut)
	v.wire.Cut(false)
	healed := v.clock.Elapsed()
	before, _ := v.state()
	v.clock.RunUntil(time.Minute, func() bool {
		heard, over := v.state()
		return heard > before || over != nil
	})
	took := v.clock.Elapsed() - healed
	switch heard, over := v.state(); {
	case over != nil:
		return took, over
	case heard == before:
		return took, errors.New("silence")
	}
	return took, nil
}

// recovered bounds the first byte after a cut: the longest retransmission timeout, 1 s, after which
// a segment is sent again; the pause between two questions for the peer's Ethernet address, 0.25 s,
// which a long cut makes necessary; and a few times the latency.
const recovered = 1250*time.Millisecond + 10*latency

func TestASessionOutlivesACut(t *testing.T) {
	for _, every := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond} {
		for _, cut := range []time.Duration{
			time.Second, 15 * time.Second, 75 * time.Second,
			40*time.Second + 500*time.Millisecond, // ends just after a question for an address
		} {
			t.Run(fmt.Sprint(every, " apart, cut of ", cut), func(t *testing.T) {
				v := converse(t, every, productTCP)
				v.tenSeconds(t, every)
				took, err := v.recovery(cut)
				t.Logf("first byte after %v", took)
				if err != nil || took > recovered {
					t.Fatalf("first byte after %v (%v), want at most %v", took, err, recovered)
				}
				v.tenSeconds(t, every)
			})
		}
	}
}

// tenSeconds lets the conversation go on for 10 s and expects nine seconds' worth of lines.
func (v *conversation) tenSeconds(t *testing.T, every time.Duration) {
	t.Helper()
	before, _ := v.state()
	v.clock.Run(10 * time.Second)
	if heard, over := v.state(); heard-before < int(9*time.Second/every) {
		t.Fatalf("heard %d lines in 10 s; session %v", heard-before, over)
	}
}

func TestASessionOutlivesAnyCut(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		every := time.Duration(rapid.IntRange(50, 1000).Draw(r, "every")) * time.Millisecond
		calm := time.Duration(rapid.IntRange(1000, 5000).Draw(r, "calm")) * time.Millisecond
		cut := time.Duration(rapid.IntRange(1, 60000).Draw(r, "cut")) * time.Millisecond
		v := converse(t, every, productTCP)
		v.clock.Run(calm)
		if took, err := v.recovery(cut); err != nil || took > recovered {
			r.Errorf("first byte after %v (%v), want at most %v", took, err, recovered)
		}
	})
}

func TestEachTCPOptionIsNeededInACut(t *testing.T) {
	without := func(change func(*tcpOptions)) tcpOptions {
		o := productTCP
		change(&o)
		return o
	}
	for name, o := range map[string]tcpOptions{
		"no cap of the timeout": without(func(o *tcpOptions) { o.maxRTO = tcp.MaxRTO }),
		"gVisor's retries":      without(func(o *tcpOptions) { o.maxRetries = tcp.MaxRetries }),
		"the tail loss probe on": without(func(o *tcpOptions) {
			o.recovery = tcpip.TCPRACKLossDetection
		}),
	} {
		t.Run(name, func(t *testing.T) {
			v := converse(t, 100*time.Millisecond, o)
			v.tenSeconds(t, 100*time.Millisecond)
			took, err := v.recovery(15 * time.Second)
			t.Logf("first byte after %v (%v)", took, err)
			if err == nil && took <= recovered {
				t.Errorf("first byte after %v without the option: what is it for?", took)
			}
		})
	}
}
