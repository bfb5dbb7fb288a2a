package mesh_test

import (
	"crypto/ed25519"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// FuzzStep runs a program of bytes: the first says which node, then each instruction hands in one
// input. Some are frames that fit what the node has just sent, so that a program gets as far as
// joins, leases and commits. Whatever comes, a step ends, no table outgrows its bound, the epoch
// does not go back, every row is one of the grammar, and the next tick is due in the future.
func FuzzStep(f *testing.F) {
	join := []byte{opUp, 1, 0, opHello, 1, opJoin, 1, opReady, 1, opAckView, 1, opLease, 1}
	work := []byte{opRoute, 1, 0, opRoute, 1, 9, opLab, 5, opLab, 10, opTick, 100, opLease, 1}
	seeds := [][]byte{
		append([]byte{0}, append(join, work...)...),
		append([]byte{1}, append(join, work...)...),
		append(append([]byte{0}, join...), opGap, 255, opDown, 1, opTick, 250, opLab, 7),
		append(append([]byte{0}, join...), opBack, 9, opTick, 1, opLease, 1, opUp, 2, 0, opHello, 2),
		append(append([]byte{1}, join...), opStale, 1, opTick, 250, opHello, 1, opJoin, 1, opReady, 1),
		append(append([]byte{0}, join...), opTemplate, 1, 7, opDamaged, 1, 3, 4, opRaw, 1, 3, 1, 2, 3),
		append(append([]byte{2}, join...), work...),
		append(append([]byte{4}, join...), opUp, 2, 1, opHello, 2, opJoin, 2, opReady, 2),
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		if len(code) == 0 || len(code) > 400 {
			return
		}
		p := &program{data: code[1:]}
		c := soloConfig(rootKey, rootBoot)
		if code[0]&1 != 0 {
			c = soloConfig(n1Key, n1Boot)
		}
		c.Detect, c.Route = code[0]&2 == 0, code[0]&4 == 0 || code[0]&8 == 0
		s := newSolo(t, c)
		for len(p.data) > 0 {
			before := s.node.Epoch()
			p.instruction(s)
			p.check(s, before)
		}
	})
}

// The instructions of a program. Each takes the session as its first argument, unless it has none.
const (
	opTick     = iota // quarter of milliseconds
	opGap             // tenths of a second
	opBack            // hundredths of a second
	opUp              // and whose key
	opDown            //
	opRaw             // length, bytes
	opTemplate        // which message
	opDamaged         // which message, where
	opDrained         //
	opRecheck         // ticket
	opLab             // number
	opHello           // JoinReq, or Challenge
	opJoin            // Join, or JoinState
	opReady           // JoinReady, or Confirm
	opLease           // LeaseReq, or LeaseAck
	opAckView         // ViewAck, or View
	opRoute           // object and operation
	opStale           // StaleEpoch, or a View of the authority's future
	opMove            // MoveAck, or Move
	opCount
)

type program struct {
	data     []byte
	requests uint64
}

func (p *program) next() byte {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return b
}

func (p *program) instruction(s *solo) {
	op := p.next() % opCount
	arg := p.next()
	session := mesh.Session(arg%4 + 1)
	switch op {
	case opTick:
		s.now += when.Instant(arg)
		s.step(mesh.Tick{})
	case opGap:
		s.now += when.Instant(arg) * 100
		s.step(mesh.Tick{})
	case opBack:
		s.now = max(0, s.now-when.Instant(arg)*10)
		s.step(mesh.Tick{})
	case opUp:
		s.step(mesh.LinkDown{Session: session}) // the adapter never uses a number twice
		s.step(mesh.LinkUp{Session: session, Key: public(s.peerKey(p.next()))})
	case opDown:
		s.step(mesh.LinkDown{Session: session})
	case opRaw:
		n := min(int(p.next()), len(p.data))
		s.step(mesh.Frame{Session: session, Data: p.data[:n]})
		p.data = p.data[n:]
	case opTemplate:
		s.gets(session, p.epoch(s), p.template())
	case opDamaged:
		data := wire.Append(nil, p.epoch(s), p.template())[wire.PrefixSize:]
		data[int(p.next())%len(data)] ^= 1 << (p.next() % 8)
		s.step(mesh.Frame{Session: session, Data: data})
	case opDrained:
		s.step(mesh.Drained{Session: session})
	case opRecheck:
		s.step(mesh.Rechecked{Ticket: mesh.Ticket(arg)})
	case opLab:
		s.step(mesh.LabStep{Ticket: 1, Number: int(arg), Capability: capabilityOf(s, "lab-0")})
	default:
		p.peer(s, session, op, arg)
	}
}

// peer plays a step of a join, a lease or a request: the member's side at an authority, the
// authority's at a member. It answers what the node has sent last, if it has sent something.
func (p *program) peer(s *solo, session mesh.Session, op, arg byte) {
	if s.config.Role == mesh.Authority {
		p.member(s, session, op, arg)
		return
	}
	p.authority(s, session, op, arg)
}

func (p *program) member(s *solo, session mesh.Session, op, arg byte) {
	boot := id.Boot(n1Boot + arg/4%2)
	switch op {
	case opHello:
		s.gets(session, 0, &wire.JoinReq{Boot: boot})
	case opJoin:
		if c, ok := newest[*wire.Challenge](s); ok {
			s.gets(session, 0, signedJoin(n1Key, boot, c))
		}
	case opReady:
		if m, ok := newest[*wire.JoinState](s); ok {
			s.gets(session, 0, &wire.JoinReady{Nonce: m.Nonce})
		}
	case opLease:
		s.gets(session, s.node.Epoch(), s.leaseReq(n1Key, boot, 3))
	case opAckView:
		s.gets(session, s.node.Epoch(), &wire.ViewAck{Epoch: s.node.Epoch(), Digest: s.node.Digest()})
	case opRoute:
		s.gets(session, s.node.Epoch(), p.request(n1ID, s.node.Epoch(), p.next()))
	case opMove:
		if m, ok := newest[*wire.Move](s); ok {
			s.gets(session, m.Epoch, &wire.MoveAck{Object: m.Object, MoveEpoch: m.MoveEpoch,
				Active: arg&4 != 0})
		}
	case opStale:
		s.gets(session, 9, viewFrame(pairView(9, true), rootKey))
	}
}

func (p *program) authority(s *solo, session mesh.Session, op, arg byte) {
	epoch := max(2, s.node.Epoch())
	switch op {
	case opHello:
		s.gets(session, epoch, &wire.Challenge{Nonce: id.Nonce(arg), AuthorityBoot: rootBoot})
	case opJoin:
		if j, ok := newest[*wire.Join](s); ok {
			s.gets(session, epoch, &wire.JoinState{Nonce: j.Nonce})
		}
	case opReady:
		if j, ok := newest[*wire.Join](s); ok {
			v := pairView(epoch+id.Epoch(arg/4%2), s.config.Detect)
			s.gets(session, epoch, &wire.Confirm{Nonce: j.Nonce, Certificate: certificate(v, rootKey)})
		}
	case opLease:
		if q, ok := newest[*wire.LeaseReq](s); ok {
			s.gets(session, epoch, &wire.LeaseAck{Incarnation: q.Incarnation,
				Digest: q.Digest, AuthorityBoot: q.AuthorityBoot, Nonce: q.Nonce,
				Moved: id.Epoch(arg)})
		}
	case opAckView:
		v := pairView(epoch+id.Epoch(arg/4%3), s.config.Detect)
		s.gets(session, v.Epoch, viewFrame(v, rootKey))
	case opRoute:
		s.gets(session, epoch, p.request(rootID, epoch, p.next()))
	case opMove:
		m := &wire.Move{Object: objects[arg%8], From: rootID, To: n1ID, Epoch: epoch,
			MoveEpoch: epoch + id.Epoch(arg), Window: make([]byte, 1+arg/128)}
		copy(m.Signature[:], ed25519.Sign(rootKey, wire.SignedMove(m)))
		s.gets(session, epoch, m)
	case opStale:
		m := &wire.StaleEpoch{Current: id.Epoch(arg) + 1, AuthorityBoot: rootBoot, Node: n1ID,
			Boot: n1Boot}
		copy(m.Signature[:], ed25519.Sign(rootKey, wire.SignedStale(m)))
		s.gets(session, m.Current, m)
	}
}

// newest is the newest frame of the type that the node has sent.
func newest[M wire.Message](s *solo) (M, bool) {
	for i := len(s.sent) - 1; i >= 0; i-- {
		if m, ok := s.sent[i].message.(M); ok {
			return m, true
		}
	}
	var none M
	return none, false
}

func (p *program) request(holder id.Node, epoch id.Epoch, arg byte) *wire.RouteReq {
	op := wire.Stat
	if arg&1 != 0 {
		op = wire.Commit
	}
	p.requests++
	return request(holder, objectNames[int(arg/2)%len(objectNames)], op, max(1, epoch), p.requests)
}

// epoch is one near the node's.
func (p *program) epoch(s *solo) id.Epoch { return max(1, s.node.Epoch()+id.Epoch(p.next()%3)-1) }

// template is a message of any kind, valid in itself.
func (p *program) template() wire.Message {
	boot, epoch := id.Boot(p.next())+1, id.Epoch(p.next())+1
	messages := []wire.Message{
		&wire.Ping{Nonce: 1}, &wire.Pong{}, &wire.ViewReq{}, &wire.JoinReq{Boot: boot},
		&wire.JoinReady{}, &wire.LeaseReq{Node: n1ID, Incarnation: epoch, Boot: boot,
			AuthorityBoot: rootBoot},
		&wire.LeaseAck{Incarnation: epoch, AuthorityBoot: boot},
		&wire.Challenge{Nonce: 1, AuthorityBoot: boot},
		&wire.Join{AuthorityBoot: boot, Boot: boot, Timing: timing.Default},
		&wire.JoinState{}, &wire.Confirm{Certificate: []byte{1}},
		&wire.Refuse{Word: refusal.Fork, RetryMS: uint32(boot) << 20}, &wire.View{Certificate: []byte{1}},
		&wire.ViewAck{Epoch: epoch},
		&wire.StaleEpoch{Current: epoch, AuthorityBoot: boot, Node: n1ID, Boot: boot},
		&wire.MoveAck{Object: objects[0], MoveEpoch: epoch, Active: true},
		&wire.RouteRep{Request: wire.Request{Client: id.Client(n1ID), Boot: n1Boot, Seq: uint64(epoch)},
			Word: refusal.Moved, Home: n1ID, HomeEpoch: epoch, Class: wire.Lease},
		madeBy(objectNames[0], n1ID, n1Boot, epoch, uint64(boot), "a commit"),
		p.record(wire.State, rootID, rootBoot, epoch), p.record(wire.HandOver, n1ID, n1Boot, epoch),
		p.record(wire.Proof, n1ID, n1Boot, epoch),
		ackFor(p.record(wire.Replicate, n1ID, n1Boot, epoch), epoch, rootID, rootBoot),
		&wire.RecordRefuse{Ack: *ackFor(p.record(wire.Replicate, rootID, rootBoot, epoch), epoch, n1ID,
			n1Boot), Word: refusal.Full},
		&wire.Published{Rows: []wire.PublishedRow{{Object: objects[0], Epoch: epoch, Version: 1}}},
		&wire.Forward{From: n1ID, To: rootID, Frame: wire.Append(nil, epoch,
			request(n1ID, objectNames[0], wire.Commit, epoch, 1))[wire.PrefixSize:]},
		&wire.ViewReq{All: true}, &wire.JoinState{Nonce: 1, Want: true},
	}
	return messages[int(p.next())%len(messages)]
}

// record is one of an object that the program chooses.
func (p *program) record(mode wire.Mode, home id.Node, boot id.Boot, epoch id.Epoch) *wire.Record {
	m := madeBy(objectNames[int(p.next())%len(objectNames)], home, boot, epoch, 1, "a record")
	m.Mode = mode
	return m
}

// check looks for what no input may bring about.
func (p *program) check(s *solo, before id.Epoch) {
	if s.node.Epoch() < before {
		s.t.Fatalf("from epoch %d back to %d", before, s.node.Epoch())
	}
	if err := s.node.CheckBounds(); err != nil {
		s.t.Fatalf("too many %v", err)
	}
	if due := s.node.Deadline(); due <= s.now || due > s.now+timing.TickMS {
		s.t.Fatalf("at %d the next tick is due at %d", s.now, due)
	}
	for _, l := range s.lines {
		if err := l.Check(); err != nil {
			s.t.Fatal(err)
		}
	}
	s.lines, s.answers, s.others = nil, nil, nil
	if len(s.sent) > 64 {
		s.sent = s.sent[len(s.sent)-64:]
	}
}

// peerKey is whose session a peer may open: another node's at the authority, the authority's at a
// member.
func (s *solo) peerKey(arg byte) ed25519.PrivateKey {
	switch {
	case s.config.Role == mesh.Member:
		return rootKey
	case arg&1 == 0:
		return n1Key
	}
	return n2Key
}
