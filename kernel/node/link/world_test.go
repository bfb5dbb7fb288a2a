package link

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/kernel/node/internal/memnet"
	"holdfast/mesh/id"
	"holdfast/mesh/wire"
)

// keyOf is the key of test node n.
func keyOf(n byte) ed25519.PrivateKey {
	seed := [ed25519.SeedSize]byte{n}
	return ed25519.NewKeyFromSeed(seed[:])
}

func nodeOf(key ed25519.PrivateKey) id.Node { return id.NodeOf(key.Public().(ed25519.PublicKey)) }

// The nodes of the tests: the authority and members, and one that nobody trusts.
var (
	rootKey    = keyOf(1)
	memberKeys = []ed25519.PrivateKey{keyOf(11), keyOf(12), keyOf(13), keyOf(14), keyOf(15)}
	strangeKey = keyOf(99)
)

const (
	rootAddress   = "10.7.0.10"
	memberAddress = "10.7.0.11"
)

var rootPort = netip.MustParseAddrPort(rootAddress + ":7070")

// end is one node's links with what they delivered.
type end struct {
	t      *testing.T
	links  *Links
	host   *memnet.Host
	events chan Event
	stop   func()
}

// world is a network with an authority on it, inside a synctest bubble.
type world struct {
	t    *testing.T
	net  *memnet.Net
	root *end
}

// inWorld runs f in a bubble. Whatever f started has ended when inWorld returns, or the bubble
// fails.
func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, net: memnet.New()}
		f(t, w)
	})
}

func (w *world) end(address string, key ed25519.PrivateKey, pins ...ed25519.PrivateKey) *end {
	e := &end{t: w.t, host: w.net.Host(address), events: make(chan Event, 256)}
	ctx, cancel := context.WithCancel(w.t.Context())
	c := Config{Key: key, Deliver: func(ev Event) {
		select {
		case e.events <- ev:
		case <-ctx.Done():
		}
	}}
	for _, p := range pins {
		c.Pins = append(c.Pins, nodeOf(p))
	}
	links, err := New(c)
	if err != nil {
		w.t.Fatal(err)
	}
	e.links, e.stop = links, cancel
	w.t.Cleanup(cancel)
	return e
}

// authority starts an authority that admits the keys.
func (w *world) authority(allowed ...ed25519.PrivateKey) *end {
	w.t.Helper()
	e := w.end(rootAddress, rootKey, allowed...)
	l, err := e.host.Listen(rootPort.Port())
	if err != nil {
		w.t.Fatal(err)
	}
	e.run(func(ctx context.Context) {
		if err := e.links.Accept(ctx, l); err != nil {
			w.t.Error(err)
		}
	})
	w.root = e
	return e
}

// member starts a member that trusts the key.
func (w *world) member(address string, key, trusts ed25519.PrivateKey) *end {
	e := w.end(address, key, trusts)
	e.run(func(ctx context.Context) { e.links.Connect(ctx, e.host.Dial, rootPort) })
	return e
}

// run runs f until the end is stopped, which waits for it.
func (e *end) run(f func(context.Context)) {
	ctx, cancel := context.WithCancel(e.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	old := e.stop
	e.stop = func() {
		old()
		cancel()
		<-done
	}
	e.t.Cleanup(e.stop)
}

// patience is more virtual time than anything here may take.
const patience = time.Hour

func (e *end) event() Event {
	e.t.Helper()
	select {
	case ev := <-e.events:
		return ev
	case <-time.After(patience):
		e.t.Fatal("no event came")
		return nil
	}
}

// expect is the next event, which must be a T.
func expect[T Event](e *end) T {
	e.t.Helper()
	ev := e.event()
	got, ok := ev.(T)
	if !ok {
		e.t.Fatalf("event is %T %+v, want %T", ev, ev, got)
	}
	return got
}

// silent fails when anything was delivered by the time that nothing more can happen.
func (e *end) silent() {
	e.t.Helper()
	synctest.Wait()
	select {
	case ev := <-e.events:
		e.t.Fatalf("event %T %+v, want none", ev, ev)
	default:
	}
}

func (e *end) expectRefused(want Reason) {
	e.t.Helper()
	if got := expect[Refused](e); got.Reason != want {
		e.t.Fatalf("refused for %q, want %q", got.Reason, want)
	}
}

func (e *end) expectDown(s Session, want Reason) {
	e.t.Helper()
	if got := expect[Down](e); got.Session != s || got.Reason != want {
		e.t.Fatalf("down %d for %q, want %d for %q", got.Session, got.Reason, s, want)
	}
}

// pair is an authority and a member with a session between them.
func (w *world) pair() (root, member *end, atRoot, atMember Up) {
	w.t.Helper()
	root = w.authority(memberKeys[0])
	member = w.member(memberAddress, memberKeys[0], rootKey)
	return root, member, expect[Up](root), expect[Up](member)
}

// rawClient connects to the authority past the link layer, with a key when key is not nil.
func (w *world) rawClient(address string, key ed25519.PrivateKey) (net.Conn, *tls.Conn) {
	w.t.Helper()
	raw, err := w.net.Host(address).Dial(w.t.Context(), rootPort)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { raw.Close() })
	c := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}
	if key != nil {
		own, err := selfSigned(key)
		if err != nil {
			w.t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{own}
	}
	return raw, tls.Client(raw, c)
}

// rawSession is a member whose bytes the test writes.
func (w *world) rawSession(address string, key ed25519.PrivateKey) (*tls.Conn, Up) {
	w.t.Helper()
	_, conn := w.rawClient(address, key)
	if err := conn.Handshake(); err != nil {
		w.t.Fatal(err)
	}
	return conn, expect[Up](w.root)
}

func write(t *testing.T, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

// frame is a frame of package wire whose nonce tells it from others.
func frame(nonce int) []byte { return wire.Append(nil, 1, &wire.Ping{Nonce: id.Nonce(nonce)}) }

func nonceOf(t *testing.T, data []byte) int {
	t.Helper()
	_, m, err := wire.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return int(m.(*wire.Ping).Nonce)
}
