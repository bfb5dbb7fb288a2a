package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/kernel/node/link"
	"holdfast/mesh/id"
	"holdfast/mesh/wire"
	"holdfast/netstack"
)

// The barrier of rule L12 rests on how a connection treats a deadline, which package link tests on
// memory and net.Pipe. Here it runs on the stack of the image.

// wirePort is one end of an Ethernet of two.
type wirePort struct {
	in, out chan []byte
	heard   *atomic.Uint32 // the end of the TCP stream that came in, as a sequence number
}

func newWire() (a, b wirePort) {
	to, from := make(chan []byte, 1024), make(chan []byte, 1024)
	return wirePort{from, to, new(atomic.Uint32)}, wirePort{to, from, new(atomic.Uint32)}
}

func (p wirePort) Send(parts [][]byte) bool {
	select {
	case p.out <- bytes.Join(parts, nil):
		return true
	default:
		return false
	}
}

func (p wirePort) Receive(f func(frame []byte)) error {
	for frame := range p.in {
		f(frame)
		if end, ok := streamEnd(frame); ok {
			p.heard.Store(end)
		}
	}
	return net.ErrClosed
}

// streamEnd is the sequence number behind the data of a TCP segment that has any.
func streamEnd(frame []byte) (uint32, bool) {
	const ethernet, tcp = 14, 6
	ip := frame[ethernet:]
	if binary.BigEndian.Uint16(frame[12:]) != 0x0800 || ip[9] != tcp {
		return 0, false
	}
	segment := ip[int(ip[0]&15)*4 : binary.BigEndian.Uint16(ip[2:])]
	data := len(segment) - int(segment[12]>>4)*4
	return binary.BigEndian.Uint32(segment[4:]) + uint32(data), data > 0
}

func stackAt(t *testing.T, port wirePort, address string) *netstack.Stack {
	t.Helper()
	a := netip.MustParsePrefix(address)
	s, err := netstack.New(port, netstack.Config{MAC: macOf(a.Addr()), Addr: a})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// pair is the authority's stack, its end of the wire, and a member's stack at the other end.
func pair(t *testing.T) (root *netstack.Stack, wire wirePort, member *netstack.Stack) {
	t.Helper()
	a, b := newWire()
	return stackAt(t, a, "10.7.0.10/24"), a, stackAt(t, b, "10.7.0.11/24")
}

// deadline ends a test whose condition does not come.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// await waits until so much of the stream has come in.
func (p wirePort) await(ctx context.Context, t *testing.T, end uint32) {
	t.Helper()
	for p.heard.Load() != end {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the stream ends %d bytes before what was sent", end-p.heard.Load())
		}
	}
}

func TestAReadPastItsDeadlineTakesNothing(t *testing.T) {
	ctx := deadline(t)
	root, port, member := pair(t)
	l, err := root.Listen(7070)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, err := member.Dial(ctx, netip.MustParseAddrPort("10.7.0.10:7070"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	// The first byte shows where in its numbers the stream is.
	io.WriteString(out, "w")
	if _, err := io.ReadFull(in, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for port.heard.Load() == 0 {
		runtime.Gosched()
	}
	before := port.heard.Load()
	io.WriteString(out, "x")
	port.await(ctx, t, before+1)

	in.SetReadDeadline(time.Now())
	if n, err := in.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("past the deadline: %d bytes, %v", n, err)
	}
	in.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := in.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("before the deadline: %d bytes, %v", n, err)
	}
}

// linkEnd is links with what they deliver, handed over one by one.
func linkEnd(ctx context.Context, t *testing.T, key, peer ed25519.PrivateKey) (*link.Links,
	<-chan link.Event) {
	t.Helper()
	events := make(chan link.Event)
	l, err := link.New(link.Config{
		Key: key, Pins: []id.Node{id.NodeOf(peer.Public().(ed25519.PublicKey))},
		Deliver: func(e link.Event) {
			select {
			case events <- e:
			case <-ctx.Done():
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, events
}

func next[T link.Event](ctx context.Context, t *testing.T, events <-chan link.Event) T {
	t.Helper()
	var want T
	select {
	case e := <-events:
		got, ok := e.(T)
		if !ok {
			t.Fatalf("%T %+v, want %T", e, e, want)
		}
		return got
	case <-ctx.Done():
		t.Fatalf("no %T", want)
		return want
	}
}

// tlsOverhead is what TLS 1.3 adds to a record: header 5, content type 1, tag 16 (RFC 8446 section
// 5.2).
const tlsOverhead = 22

func TestTheBarrierComesBehindWhatTheStackHolds(t *testing.T) {
	ctx, cancel := context.WithCancel(deadline(t))
	root, port, member := pair(t)
	rootKey := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	memberKey := ed25519.NewKeyFromSeed(append(make([]byte, ed25519.SeedSize-1), 1))
	atRoot, rootEvents := linkEnd(ctx, t, rootKey, memberKey)
	atMember, memberEvents := linkEnd(ctx, t, memberKey, rootKey)
	l, err := root.Listen(7070)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	go func() { ended <- atRoot.Accept(ctx, l) }()
	go func() {
		atMember.Connect(ctx, member.Dial, netip.MustParseAddrPort("10.7.0.10:7070"))
		ended <- nil
	}()
	up := next[link.Up](ctx, t, rootEvents)
	other := next[link.Up](ctx, t, memberEvents)

	// Nobody takes the events: the reader stands still with the first frame, the rest is in the
	// connection when the barrier is asked for.
	const frames = 20
	record := 0
	before := port.heard.Load()
	for i := range frames {
		f := wire.Append(nil, 1, &wire.Ping{Nonce: id.Nonce(i)})
		record = len(f) + tlsOverhead
		atMember.Send(other.Session, true, f)
	}
	port.await(ctx, t, before+uint32(frames*record))
	atRoot.Drain(up.Session)
	for i := range frames {
		_, m, err := wire.Parse(next[link.Arrived](ctx, t, rootEvents).Data)
		if err != nil || m.(*wire.Ping).Nonce != id.Nonce(i) {
			t.Fatalf("frame %d is %+v, %v", i, m, err)
		}
	}
	next[link.Drained](ctx, t, rootEvents)

	// The timeouts have not hurt the session.
	atMember.Send(other.Session, true, wire.Append(nil, 1, &wire.Ping{Nonce: frames}))
	next[link.Arrived](ctx, t, rootEvents)
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
