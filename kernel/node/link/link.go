// Package link is the node's links: authenticated, encrypted connections to its peers that carry
// whole frames. It owns the TLS handshake and what may get past it, the sessions with their queues,
// and every time limit of a connection. It must never look into a frame beyond its length, decide
// who is a member, or make its caller wait.
//
// A member dials the authority, the authority accepts (spec/system.md section 3). Both prove an
// Ed25519 key with a self-signed certificate and pin the other's: no CA, no names, no dates. A
// connection's life:
//
//	          admitted            pinned, greeted                   any reason
//	accepted ----------> handshake ---------------> session: up ------------------> down
//	   |                     |
//	   | over the rate       | wrong-key, not-allowed, no-certificate, timeout, full, tls
//	   v                     v
//	 closed               refused
//
// On the wire, inside TLS 1.3: the authority greets with an empty frame, then both sides send
// frames of package wire.
//
//	greeting  0x0000          authority to member, once, first
//	frame     u16 n, n bytes  as package wire has it
//
// The greeting is there because in TLS 1.3 a client has finished before the server has looked at
// its certificate: a member that did not wait for the authority's first byte would call a link up
// that is about to be refused.
//
// What happens on one session is delivered in order by one goroutine: Up, then Arrived and Drained
// as they come, then Down. Rules L12 and L13 of spec/system.md section 9; protocol.md, "Sessions".
package link

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/kernel/node/clock"
	"holdfast/mesh/id"
)

// The limits of a connection (spec/system.md section 3; protocol.md, "Sessions").
const (
	// Slots is how many peers may be authenticated at once.
	Slots = 4
	// slotSessions is how many sessions one peer may have: the one that it has and the one that it
	// opens because the first does not answer. A third replaces the oldest.
	slotSessions = 2

	// HandshakesMax is how many handshakes are in progress at once; one more ends the oldest.
	HandshakesMax = 4
	// HandshakeRate is how many connections in any second get as far as a handshake, which costs
	// some 30 ms of the processor, and addressRate how many of them from one address.
	HandshakeRate = 5
	addressRate   = HandshakeRate - 1
	// HandshakeTime is how long a handshake may take, greeting included.
	HandshakeTime = 2 * time.Second

	// FrameTime is how long after its first byte a frame must be whole.
	FrameTime = 2 * time.Second
	// BackstopTime is the silence after which a session ends, whatever the mesh thinks of it.
	BackstopTime = 300 * time.Second

	// controlQueue and bulkQueue are how many frames wait for transmission, in a queue each. A
	// member in a cut sends a lease request every 2 s and a ping every 5 s at most, and TCP's own
	// buffer comes first: a full control queue is a peer that reads nothing for a minute.
	controlQueue = 32
	bulkQueue    = 16

	// flushTime is how long a session that is closed by Close may take to send what it has queued:
	// the frame that tells the peer why.
	flushTime = 250 * time.Millisecond
	// lingerTime is how long a refused connection is kept for the peer to read the refusal.
	lingerTime = 250 * time.Millisecond
)

// Session names one session. Numbers count from 1 and are never used again.
type Session uint32

// Config says whom to talk to, and where to put what happens.
type Config struct {
	Key  ed25519.PrivateKey // this node's
	Pins []id.Node          // the peers that get past the handshake
	// Deliver takes each event. It may wait, which holds up the session that the event is about and
	// nothing else. It must come back once the context of Accept or Connect is done.
	Deliver func(Event)
	// Clock is the one that the deadlines of the network's connections go by; nil is package time's.
	Clock clock.Clock
}

// Event is what happens on a link: one of the types below.
type Event interface{ event() }

// Up says that a session is open: the peer has proved that it holds Key, and Key is pinned.
type Up struct {
	Session Session
	Key     ed25519.PublicKey
	Remote  string // address:port
	Slot    int    // the peer's, 0 to Slots-1
}

// Arrived is one whole frame, without its length prefix. Data belongs to the receiver.
type Arrived struct {
	Session Session
	Data    []byte
}

// Drained answers Drain.
type Drained struct{ Session Session }

// Down says that a session is over.
type Down struct {
	Session Session
	Peer    id.Node
	Reason  Reason
}

// Refused says that a connection did not become a session.
type Refused struct {
	Remote string // address:port
	Reason Reason
}

func (Up) event()      {}
func (Arrived) event() {}
func (Drained) event() {}
func (Down) event()    {}
func (Refused) event() {}

// Links is the sessions of one node. Its methods may be called by any goroutine and do not wait for
// a peer, a connection or Deliver.
type Links struct {
	deliver func(Event)
	clock   clock.Clock
	server  *tls.Config
	client  *tls.Config
	redial  chan struct{} // capacity 1: one more session is wanted
	lost    chan struct{} // capacity 1: a session has ended

	handshakes handshakes
	begun      atomic.Uint64
	overrate   atomic.Uint64
	group      sync.WaitGroup

	mu       sync.Mutex // guards what follows; never held across anything that can wait
	last     Session
	sessions map[Session]*session
	slots    [Slots]slot
}

// slot is the sessions of one peer, oldest first.
type slot struct {
	peer     id.Node
	sessions []*session
}

// New makes the links of a node. They are idle until Accept or Connect.
func New(c Config) (*Links, error) {
	certificate, err := selfSigned(c.Key)
	if err != nil {
		return nil, err
	}
	if c.Clock == nil {
		c.Clock = clock.System
	}
	return &Links{
		deliver:  c.Deliver,
		clock:    c.Clock,
		server:   serverConfig(certificate, c.Pins),
		client:   clientConfig(certificate, c.Pins),
		redial:   make(chan struct{}, 1),
		lost:     make(chan struct{}, 1),
		sessions: make(map[Session]*session),
	}, nil
}

// Send queues a frame, its length prefix included; the queue owns it from then on. Control frames
// go before bulk ones that still wait. A session whose queue is full ends with reason Full: a
// frame is never dropped in silence. Sending on a session that is over does nothing.
func (l *Links) Send(id Session, control bool, frame []byte) {
	if s := l.find(id); s != nil && !s.queue(control, frame) {
		s.end(Full)
	}
}

// Close ends a session for a reason of the caller's, after what is queued has been sent or
// flushTime has passed. Down follows.
func (l *Links) Close(id Session, reason Reason) {
	if s := l.find(id); s != nil {
		s.flush.Store(true)
		s.end(reason)
	}
}

// Drain asks for a barrier: Drained follows when every frame that had arrived on the session by now
// has been delivered. A session that ends first delivers Down instead.
func (l *Links) Drain(id Session) {
	if s := l.find(id); s != nil {
		s.drain()
	}
}

// Redial asks Connect for one more session. While it is dialling, nothing changes.
func (l *Links) Redial() { post(l.redial) }

// post leaves a token in a channel of capacity 1, unless there is one.
func post(token chan<- struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// Begun is how many connections got as far as a handshake.
func (l *Links) Begun() uint64 { return l.begun.Load() }

// Overrate is how many connections were closed before any cryptography, because too many came.
func (l *Links) Overrate() uint64 { return l.overrate.Load() }

func (l *Links) find(id Session) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[id]
}

// live is how many sessions there are.
func (l *Links) live() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sessions)
}

// register gives an authenticated connection its number and slot, or reports that every slot
// belongs to somebody else.
func (l *Links) register(raw net.Conn, conn *tls.Conn) (*session, bool) {
	key := peerKey(conn)
	peer := id.NodeOf(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.slotOf(peer)
	if !ok {
		return nil, false
	}
	l.last++
	s := newSession(l.last, raw, conn, l.clock)
	s.key, s.peer, s.slot = key, peer, at
	l.sessions[s.id] = s
	sl := &l.slots[at]
	sl.peer = peer
	sl.sessions = append(sl.sessions, s)
	if len(sl.sessions) > slotSessions {
		sl.sessions[0].end(Replaced)
	}
	return s, true
}

// slotOf is the peer's slot, or a free one.
func (l *Links) slotOf(peer id.Node) (int, bool) {
	free := -1
	for i, sl := range l.slots {
		switch {
		case len(sl.sessions) > 0 && sl.peer == peer:
			return i, true
		case len(sl.sessions) == 0 && free < 0:
			free = i
		}
	}
	return free, free >= 0
}

func (l *Links) unregister(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sl := &l.slots[s.slot]
	at := slices.Index(sl.sessions, s)
	if at < 0 {
		panic("link: a session without a slot")
	}
	sl.sessions = slices.Delete(sl.sessions, at, at+1)
	delete(l.sessions, s.id)
	post(l.lost)
}

// run is a session's life, from the end of its handshake on.
func (l *Links) run(ctx context.Context, s *session) {
	defer context.AfterFunc(ctx, func() { s.end(Local) })()
	l.deliver(Up{s.id, s.key, s.raw.RemoteAddr().String(), s.slot})
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.write()
	}()
	s.end(newReader(s).run(l.deliver))
	<-written
	// The slot is free only once Down is on its way, so that the receiver never has more sessions
	// than there are places.
	l.deliver(Down{s.id, s.peer, s.reason()})
	l.unregister(s)
}
