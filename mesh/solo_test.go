package mesh_test

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// solo is one node whose peers are the test itself: it says what arrives, at which millisecond, and
// looks at what the node does. The node's first step is at zero.
type solo struct {
	t       testing.TB
	config  mesh.Config
	node    *mesh.Node
	now     when.Instant
	effects mesh.Effects

	lines   []evidence.Line
	answers []mesh.Answer
	sent    []sent
	others  []mesh.Effect // Close, Dial, Drain, Recheck
	held    bool          // Rechecked is left to the test
	second  when.Calendar // what the second clock shows
}

// sent is a frame that the node has transmitted.
type sent struct {
	session mesh.Session
	epoch   id.Epoch
	message wire.Message
}

var (
	rootKey = keyOf("root")
	rootID  = id.NodeOf(public(rootKey))
	n1Key   = keyOf("n1")
	n1ID    = id.NodeOf(public(n1Key))
	n2Key   = keyOf("n2")
)

// Boots of the peers that tests play.
const (
	rootBoot = 0xA0
	n1Boot   = 0xB1
)

func soloConfig(key ed25519.PrivateKey, boot id.Boot) mesh.Config {
	c := mesh.Config{Role: mesh.Member, Key: key, Root: public(rootKey), Boot: boot, Epoch: 1,
		Timing: timing.Default, Detect: true, Route: true, Lab: true, LabObject: labNames}
	if key.Equal(rootKey) {
		c.Role = mesh.Authority
		c.Allow = []id.Node{n1ID, id.NodeOf(public(n2Key))}
	}
	return c
}

func newSolo(t testing.TB, c mesh.Config) *solo {
	t.Helper()
	s := &solo{t: t, config: c}
	node, err := mesh.New(0, c, &s.effects)
	if err != nil {
		t.Fatal(err)
	}
	s.node = node
	s.collect()
	return s
}

// step hands in one input now.
func (s *solo) step(in mesh.Input) {
	s.node.Step(s.now, in, &s.effects)
	s.collect()
}

func (s *solo) collect() {
	var rechecks []mesh.Ticket
	for _, e := range s.effects.List {
		switch e := e.(type) {
		case mesh.Print:
			s.lines = append(s.lines, e.Line)
		case mesh.Answer:
			s.answers = append(s.answers, e)
		case mesh.Send:
			epoch, m, err := wire.Parse(e.Data[wire.PrefixSize:])
			if err != nil {
				s.t.Fatalf("the node sent a malformed frame: %v", err)
			}
			s.sent = append(s.sent, sent{e.Session, epoch, m})
		case mesh.Recheck:
			s.others = append(s.others, e)
			rechecks = append(rechecks, e.Ticket)
		default:
			s.others = append(s.others, e)
		}
	}
	for _, ticket := range rechecks {
		if !s.held {
			s.step(mesh.Rechecked{Ticket: ticket, Second: s.second})
		}
	}
}

// clear forgets what the node has done so far.
func (s *solo) clear() { s.lines, s.answers, s.sent, s.others = nil, nil, nil, nil }

// until ticks as an adapter does, and leaves now at t without a step there.
func (s *solo) until(t when.Instant) {
	for tick := s.config.Timing.Tick(); s.now.Add(tick) < t; {
		s.now = s.now.Add(tick)
		s.step(mesh.Tick{Second: s.second})
	}
	s.now = t
}

// tickAt ticks until t, and at t.
func (s *solo) tickAt(t when.Instant) {
	s.until(t)
	s.step(mesh.Tick{Second: s.second})
}

// gets hands in a frame.
func (s *solo) gets(session mesh.Session, epoch id.Epoch, m wire.Message) {
	s.step(mesh.Frame{Session: session, Data: wire.Append(nil, epoch, m)[wire.PrefixSize:]})
}

// has reports whether the node has printed a line that starts like this.
func (s *solo) has(start string) bool {
	for _, l := range s.lines {
		if strings.HasPrefix(l.String(), start) {
			return true
		}
	}
	return false
}

// count is how many frames of that kind the node has sent.
func (s *solo) count(k wire.Kind) int {
	n := 0
	for _, f := range s.sent {
		if f.message.Kind() == k {
			n++
		}
	}
	return n
}

// latest returns the newest frame of the type that the node has sent.
func latest[M wire.Message](s *solo) M {
	s.t.Helper()
	for i := len(s.sent) - 1; i >= 0; i-- {
		if m, ok := s.sent[i].message.(M); ok {
			return m
		}
	}
	var none M
	s.t.Fatalf("the node has not sent a %v", none.Kind())
	return none
}

func did[E mesh.Effect](s *solo) bool {
	for _, e := range s.others {
		if _, ok := e.(E); ok {
			return true
		}
	}
	return false
}

// joins plays a member's whole join at an authority, in one millisecond.
func (s *solo) joins(session mesh.Session, key ed25519.PrivateKey, boot id.Boot) {
	s.t.Helper()
	s.asksToJoin(session, key, boot)
	s.gets(session, 0, &wire.JoinReady{Nonce: latest[*wire.JoinState](s).Nonce})
	latest[*wire.Confirm](s)
}

// asksToJoin plays a join up to the Join.
func (s *solo) asksToJoin(session mesh.Session, key ed25519.PrivateKey, boot id.Boot) {
	s.step(mesh.LinkUp{Session: session, Key: public(key)})
	s.gets(session, 0, &wire.JoinReq{Boot: boot})
	j := signedJoin(key, boot, latest[*wire.Challenge](s))
	j.Timing = s.config.Timing
	sign(j, key)
	s.gets(session, 0, j)
}

func signedJoin(key ed25519.PrivateKey, boot id.Boot, c *wire.Challenge) *wire.Join {
	j := &wire.Join{Challenge: c.Nonce, AuthorityBoot: c.AuthorityBoot, Nonce: 77, Boot: boot,
		Timing: timing.Default}
	sign(j, key)
	return j
}

func sign(j *wire.Join, key ed25519.PrivateKey) {
	copy(j.Signature[:], ed25519.Sign(key, wire.SignedJoin(j, id.NodeOf(public(key)))))
}

// leaseReq is what a member in the authority's current view asks.
func (s *solo) leaseReq(key ed25519.PrivateKey, boot id.Boot, nonce id.Nonce) *wire.LeaseReq {
	n := id.NodeOf(public(key))
	st := s.node.Status(s.now)
	m := &wire.LeaseReq{Node: n, Boot: boot, Incarnation: 1, Digest: st.Digest,
		AuthorityBoot: s.config.Boot, Nonce: nonce}
	for _, row := range st.Members {
		if row.ID == n {
			m.Incarnation = row.Incarnation
		}
	}
	return m
}

// asks plays a LeaseReq at the authority, under its current epoch.
func (s *solo) asks(session mesh.Session, key ed25519.PrivateKey, boot id.Boot) {
	s.gets(session, s.node.Status(s.now).Epoch, s.leaseReq(key, boot, 99))
}

// newMember is a node that has joined at epoch 2 through session 1, at zero, and has its lease; the
// test plays its authority.
func newMember(t testing.TB, change func(*mesh.Config)) *solo {
	t.Helper()
	c := soloConfig(n1Key, n1Boot)
	if change != nil {
		change(&c)
	}
	s := newSolo(t, c)
	s.step(mesh.LinkUp{Session: 1, Key: public(rootKey)})
	s.confirm(1, pairView(2, c.Detect))
	s.ack(1, 2)
	s.clear()
	return s
}

// pairView is the view of the authority and n1 as an authority would have it.
func pairView(epoch id.Epoch, boots bool) view.View {
	return viewOf(epoch, boots, map[*ed25519.PrivateKey]id.Boot{&rootKey: rootBoot, &n1Key: n1Boot})
}

func viewOf(epoch id.Epoch, boots bool, members map[*ed25519.PrivateKey]id.Boot) view.View {
	v := view.View{Epoch: epoch, Authority: rootID, AuthorityBoot: rootBoot, BootsCount: boots}
	for key, boot := range members {
		m := view.Member{ID: id.NodeOf(public(*key)), Incarnation: 1, Boot: boot}
		copy(m.Key[:], public(*key))
		v.Members = v.With(m)
	}
	return v
}

func certificate(v view.View, key ed25519.PrivateKey) []byte {
	c := view.Sign(v, key)
	return c.Append(nil)
}

func viewFrame(v view.View, key ed25519.PrivateKey) *wire.View {
	return &wire.View{Certificate: certificate(v, key)}
}

// confirm plays the authority's side of a join.
func (s *solo) confirm(session mesh.Session, v view.View) {
	s.gets(session, v.Epoch, &wire.Challenge{Nonce: 5, AuthorityBoot: rootBoot})
	j := latest[*wire.Join](s)
	s.gets(session, v.Epoch, &wire.JoinState{Nonce: j.Nonce})
	s.gets(session, v.Epoch, &wire.Confirm{Nonce: j.Nonce, Certificate: certificate(v, rootKey)})
}

// ack answers the member's latest LeaseReq.
func (s *solo) ack(session mesh.Session, epoch id.Epoch) {
	s.ackOf(latest[*wire.LeaseReq](s), session, epoch)
}

// ackOf acknowledges that request.
func (s *solo) ackOf(q *wire.LeaseReq, session mesh.Session, epoch id.Epoch) {
	s.gets(session, epoch, &wire.LeaseAck{Incarnation: q.Incarnation, Digest: q.Digest,
		AuthorityBoot: q.AuthorityBoot, Nonce: q.Nonce})
}

// request is an operation on an object, by the holder, under an epoch.
func request(holder id.Node, object string, op wire.Op, epoch id.Epoch, seq uint64) *wire.RouteReq {
	q := &wire.RouteReq{Request: wire.Request{Client: id.Client(holder), Boot: 1, Seq: seq},
		FirstEpoch: epoch, Object: id.ObjectOf(object), Op: op, Class: wire.Lease,
		IfVersion: wire.AnyVersion, Within: 5_000}
	if op == wire.Commit {
		q.Durability, q.Value = wire.Local, []byte("v")
	}
	q.Capability = capability.Mint(capability.Capability{Object: q.Object, Holder: holder,
		Epoch: epoch, Rights: capability.RightStat | capability.RightCommit, Serial: 1}, rootKey)
	return q
}

// ageOf is the silence of a member as the node sees it.
func (s *solo) ageOf(n id.Node) int64 {
	for _, m := range s.node.Status(s.now).Members {
		if m.ID == n {
			return m.AgeMS
		}
	}
	return -1
}
