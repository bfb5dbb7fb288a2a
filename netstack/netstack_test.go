package netstack

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"holdfast/netstack/talk"
	"holdfast/netstack/virtual"
)

// pair is two hosts on a virtual wire.
type pair struct {
	clock *virtual.Clock
	wire  *virtual.Wire
	a, b  *Stack // 10.7.0.10, 10.7.0.11
}

func newPair(t testing.TB) *pair {
	clock := virtual.NewClock(t)
	wire := virtual.NewWire(clock, latency)
	return &pair{
		clock: clock, wire: wire,
		a: host(t, clock, wire, 10, productTCP), b: host(t, clock, wire, 11, productTCP),
	}
}

// within runs f on a goroutine and the clock until f is back; f may not take longer than limit. It
// returns how long f took.
func (p *pair) within(t testing.TB, limit time.Duration, f func()) time.Duration {
	t.Helper()
	began, done := p.clock.Elapsed(), make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	if !p.clock.RunUntil(limit, func() bool { return isClosed(done) }) {
		t.Fatalf("not done after %v", limit)
	}
	return p.clock.Elapsed() - began
}

// connect is a connection from b to a, as both see it.
func (p *pair) connect(t testing.TB, port uint16) (atA, atB net.Conn) {
	t.Helper()
	l, err := p.a.Listen(port)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p.within(t, time.Second, func() {
		if atB, err = p.b.Dial(context.Background(), addrPort(p.a, port)); err != nil {
			t.Error(err)
		}
		if atA, err = l.Accept(); err != nil {
			t.Error(err)
		}
	})
	return atA, atB
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func addrPort(s *Stack, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(s.Addr().Addr(), port)
}

func TestAListenerAndADiallerMeet(t *testing.T) {
	p := newPair(t)
	atA, atB := p.connect(t, 7070)
	for _, c := range []struct {
		what string
		got  net.Addr
		want string
	}{
		{"the accepted end's own address", atA.LocalAddr(), "10.7.0.10:7070"},
		{"the dialled end's peer", atB.RemoteAddr(), "10.7.0.10:7070"},
		{"the accepted end's peer", atA.RemoteAddr(), atB.LocalAddr().String()},
	} {
		if c.got.String() != c.want || c.got.Network() != "tcp" {
			t.Errorf("%s is %v (%s), want %s", c.what, c.got, c.got.Network(), c.want)
		}
	}
	if got := p.a.Addr().String(); got != "10.7.0.10/24" {
		t.Errorf("the stack's address is %s", got)
	}
	if got := p.a.MAC(); got != [6]byte{2, 0, 0, 0, 0, 10} {
		t.Errorf("the stack's Ethernet address is %x", got)
	}
	s := p.a.Stats()
	if s.ConnectionsAccepted != 1 || s.ConnectionsOpen != 1 || p.b.Stats().ConnectionsDialled != 1 {
		t.Errorf("statistics %+v", s)
	}
}

func TestWhatIsWrittenArrives(t *testing.T) {
	p := newPair(t)
	atA, atB := p.connect(t, 7)
	sent := make([]byte, 3<<20)
	rand.New(rand.NewSource(1)).Read(sent)
	var got []byte
	go func() {
		if n, err := atB.Write(sent); n != len(sent) || err != nil {
			t.Errorf("wrote %d: %v", n, err)
		}
		atB.(*Conn).CloseWrite()
	}()
	p.within(t, time.Minute, func() {
		var err error
		if got, err = io.ReadAll(atA); err != nil {
			t.Error(err)
		}
	})
	if !bytes.Equal(got, sent) {
		t.Errorf("%d bytes arrived, other than the %d sent", len(got), len(sent))
	}
	if r := p.b.Stats().SegmentsRetransmitted; r != 0 {
		t.Errorf("%d segments sent again on a wire that loses nothing", r)
	}
	if s := p.a.Stats(); s.SegmentsReceived > s.FramesTaken/5 {
		t.Errorf("%d frames went up as %d segments: bursts are not joined",
			s.FramesTaken, s.SegmentsReceived)
	}
}

func TestWhatIsWrittenArrivesThroughLoss(t *testing.T) {
	p := newPair(t)
	atA, atB := p.connect(t, 7)
	loss := rand.New(rand.NewSource(2))
	p.wire.Drop(func(_, _ *virtual.Port, _ []byte) bool { return loss.Intn(20) == 0 })
	sent := make([]byte, 256<<10)
	loss.Read(sent)
	var got []byte
	go func() {
		atB.Write(sent)
		atB.(*Conn).CloseWrite()
	}()
	p.within(t, 10*time.Minute, func() { got, _ = io.ReadAll(atA) })
	if !bytes.Equal(got, sent) {
		t.Errorf("%d bytes arrived, other than the %d sent", len(got), len(sent))
	}
	if p.b.Stats().SegmentsRetransmitted == 0 {
		t.Error("nothing was sent again: the wire lost nothing")
	}
}

func TestADialIsAnsweredOrEndsWithItsContext(t *testing.T) {
	for _, c := range []struct {
		name     string
		to       string
		limit    time.Duration // of the context; 0: none
		cancel   bool
		min, max time.Duration
		want     error
	}{
		{name: "a port without a listener", to: "10.7.0.10:9", max: time.Second,
			want: syscall.ECONNREFUSED},
		{name: "nobody, briefly", to: "10.7.0.99:80", limit: 100 * time.Millisecond,
			min: 100 * time.Millisecond, max: 101 * time.Millisecond, want: context.DeadlineExceeded},
		{name: "nobody, longer than ARP asks", to: "10.7.0.99:80", limit: 10 * time.Second,
			min: 10 * time.Second, max: 10*time.Second + redial, want: context.DeadlineExceeded},
		{name: "cancelled before it began", to: "10.7.0.10:80", cancel: true,
			want: context.Canceled},
		{name: "another network without a gateway", to: "192.0.2.1:80", want: syscall.ENETUNREACH},
		{name: "an IPv6 address", to: "[2001:db8::1]:80", want: syscall.EAFNOSUPPORT},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if c.cancel {
				cancel()
			}
			if c.limit != 0 {
				timed := &virtualContext{Context: ctx}
				p.clock.AfterFunc(c.limit, func() { timed.expired.Store(true); cancel() })
				ctx = timed
			}
			var err error
			took := p.within(t, time.Minute, func() {
				_, err = p.b.Dial(ctx, netip.MustParseAddrPort(c.to))
			})
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if took < c.min || took > c.max {
				t.Errorf("took %v, want %v to %v", took, c.min, c.max)
			}
			var op *net.OpError
			if !errors.As(err, &op) || op.Op != "dial" || op.Addr.String() != c.to {
				t.Errorf("%v does not say what was dialled", err)
			}
		})
	}
}

// virtualContext is a context whose deadline comes by a virtual clock.
type virtualContext struct {
	context.Context
	expired atomic.Bool
}

func (c *virtualContext) Err() error {
	if c.expired.Load() {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

func TestADialWaitsForAHostThatBoots(t *testing.T) {
	p := newPair(t)
	p.wire.Cut(true)
	p.clock.AfterFunc(20*time.Second, func() { p.wire.Cut(false) })
	l, err := p.a.Listen(80)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	took := p.within(t, time.Minute, func() {
		if _, err := p.b.Dial(context.Background(), addrPort(p.a, 80)); err != nil {
			t.Error(err)
		}
	})
	if took < 20*time.Second || took > 20*time.Second+2*redial {
		t.Errorf("connected after %v, the host was there after 20 s", took)
	}
}

func TestAStationTakesOnlyItsOwnFrames(t *testing.T) {
	p := newPair(t)
	third := host(t, p.clock, p.wire, 12, productTCP)
	l, err := p.a.Listen(7)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go talk.Echo(l)
	p.within(t, time.Second, func() {
		c, err := p.b.Dial(context.Background(), addrPort(p.a, 7))
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(c, "hello\n")
		io.ReadFull(c, make([]byte, 6))
	})
	s := third.Stats()
	if s.FramesNotMine < 5 { // handshake, data and echo pass it
		t.Errorf("a third station saw %d frames that are not its own", s.FramesNotMine)
	}
	if s.FramesTaken != 1 { // the broadcast that asked for a's address
		t.Errorf("a third station took %d frames", s.FramesTaken)
	}
}

func TestCloseEndsWhatIsBlocked(t *testing.T) {
	for name, block := range map[string]func(c net.Conn, l net.Listener) (io.Closer, error){
		"read": func(c net.Conn, _ net.Listener) (io.Closer, error) {
			_, err := c.Read(make([]byte, 1))
			return c, err
		},
		"write": func(c net.Conn, _ net.Listener) (io.Closer, error) {
			_, err := c.Write(make([]byte, 4*bufferSize))
			return c, err
		},
		"accept": func(_ net.Conn, l net.Listener) (io.Closer, error) {
			_, err := l.Accept()
			return l, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			c, _ := p.connect(t, 7)
			l, err := p.a.Listen(8)
			if err != nil {
				t.Fatal(err)
			}
			p.clock.AfterFunc(time.Second, func() { c.Close(); l.Close() })
			var closed io.Closer
			took := p.within(t, time.Minute, func() { closed, err = block(c, l) })
			if took != time.Second || !errors.Is(err, net.ErrClosed) {
				t.Errorf("ended after %v with %v", took, err)
			}
			if err := closed.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("closed twice: %v", err)
			}
		})
	}
}

func TestEveryBlockedAcceptReturns(t *testing.T) {
	p := newPair(t)
	l, err := p.a.Listen(7)
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan error)
	accept := func() {
		_, err := l.Accept()
		results <- err
	}
	for range 6 {
		go accept()
	}
	p.clock.Run(time.Second) // all of them block
	for range 2 {
		go p.b.Dial(context.Background(), addrPort(p.a, 7))
	}
	p.within(t, time.Second, func() {
		for range 2 {
			if err := <-results; err != nil {
				t.Errorf("accept: %v", err)
			}
		}
	})
	p.within(t, time.Second, func() {
		l.Close()
		for range 4 {
			if err := <-results; !errors.Is(err, net.ErrClosed) {
				t.Errorf("accept on a closed listener: %v", err)
			}
		}
	})
}

func TestAClosedConnectionDoesNothing(t *testing.T) {
	p := newPair(t)
	c, _ := p.connect(t, 7)
	c.Close()
	for name, err := range map[string]error{
		"read":       second(c.Read(make([]byte, 1))),
		"write":      second(c.Write([]byte{1})),
		"deadline":   c.SetDeadline(time.Time{}),
		"half close": c.(*Conn).CloseWrite(),
	} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestAHalfCloseIsTheOthersEndOfFile(t *testing.T) {
	p := newPair(t)
	atA, atB := p.connect(t, 7)
	p.within(t, time.Second, func() {
		io.WriteString(atB, "last words")
		if err := atB.(*Conn).CloseWrite(); err != nil {
			t.Error(err)
		}
		if b, err := io.ReadAll(atA); string(b) != "last words" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		if _, err := io.WriteString(atA, "answer"); err != nil {
			t.Error(err)
		}
		atA.Close()
		if b, err := io.ReadAll(atB); string(b) != "answer" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		if _, err := atB.Write([]byte{1}); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("write after CloseWrite: %v", err)
		}
	})
}

func TestADeadPeerEndsTheSessionAtTheBackstop(t *testing.T) {
	p := newPair(t)
	atA, _ := p.connect(t, 7)
	p.wire.Cut(true)
	io.WriteString(atA, "anybody there?")
	var err error
	took := p.within(t, time.Hour, func() { _, err = atA.Read(make([]byte, 1)) })
	if !errors.Is(err, syscall.EHOSTUNREACH) { // the last that was known: it answers no ARP
		t.Errorf("ended with %v", err)
	}
	if took < backstop || took > backstop+2*time.Second {
		t.Errorf("ended after %v, the backstop is %v", took, backstop)
	}
}

func TestClosingTheStackResetsItsConnections(t *testing.T) {
	p := newPair(t)
	atA, atB := p.connect(t, 7)
	p.clock.AfterFunc(time.Second, p.a.Close)
	p.within(t, 10*time.Second, func() {
		if _, err := atA.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNABORTED) {
			t.Errorf("the stack's own connection ended with %v", err)
		}
		if _, err := atB.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the peer's connection ended with %v", err)
		}
	})
}

func TestAConfigThatCannotWorkIsRefused(t *testing.T) {
	good := Config{
		MAC:     [6]byte{2, 0, 0, 0, 0, 1},
		Addr:    netip.MustParsePrefix("10.7.0.10/24"),
		Gateway: netip.MustParseAddr("10.7.0.1"),
	}
	if err := good.validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no MAC":                    func(c *Config) { c.MAC = [6]byte{} },
		"a group MAC":               func(c *Config) { c.MAC[0] = 3 },
		"no address":                func(c *Config) { c.Addr = netip.Prefix{} },
		"an IPv6 address":           func(c *Config) { c.Addr = netip.MustParsePrefix("fe80::1/64") },
		"the unspecified address":   func(c *Config) { c.Addr = netip.MustParsePrefix("0.0.0.0/0") },
		"a multicast address":       func(c *Config) { c.Addr = netip.MustParsePrefix("224.0.0.1/4") },
		"an IPv6 gateway":           func(c *Config) { c.Gateway = netip.MustParseAddr("fe80::1") },
		"a gateway out of reach":    func(c *Config) { c.Gateway = netip.MustParseAddr("10.8.0.1") },
		"itself as its own gateway": func(c *Config) { c.Gateway = c.Addr.Addr() },
	} {
		c := good
		change(&c)
		if _, err := New(nil, c); err == nil || !strings.HasPrefix(err.Error(), "netstack: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A minute's worth of short connections must not be in memory at a time, whoever closes first.
func TestAClosedConnectionIsSoonForgotten(t *testing.T) {
	p := newPair(t)
	idle := len(p.a.gvisor.RegisteredEndpoints())
	for _, c := range []struct {
		name  string
		close func(*Conn) error
		after time.Duration // then it is gone
		kept  bool          // at once it is not
	}{
		{"in good order", (*Conn).Close, 3 * time.Second, true},
		{"without a goodbye", (*Conn).Reset, 0, false},
	} {
		atA, atB := p.connect(t, 80)
		if err := c.close(atA.(*Conn)); err != nil {
			t.Fatal(err)
		}
		p.within(t, time.Second, func() {
			_, err := atB.Read(make([]byte, 1))
			if reset := errors.Is(err, syscall.ECONNRESET); reset == c.kept {
				t.Errorf("%s: the peer reads %v", c.name, err)
			}
			atB.Close()
		})
		p.clock.Run(10 * latency)
		if kept := len(p.a.gvisor.RegisteredEndpoints()) > idle; kept != c.kept {
			t.Errorf("%s: kept is %v", c.name, kept)
		}
		p.clock.Run(c.after)
		if n := len(p.a.gvisor.RegisteredEndpoints()); n > idle {
			t.Errorf("%s: %d endpoints after %v", c.name, n-idle, c.after)
		}
	}
}

// A peer that never closes its side does not keep the stack's.
func TestAHalfClosedConnectionIsSoonForgotten(t *testing.T) {
	p := newPair(t)
	idle := len(p.a.gvisor.RegisteredEndpoints())
	atA, _ := p.connect(t, 80)
	atA.Close()
	p.clock.Run(3 * time.Second)
	if n := len(p.a.gvisor.RegisteredEndpoints()); n > idle {
		t.Errorf("%d endpoints", n-idle)
	}
}
