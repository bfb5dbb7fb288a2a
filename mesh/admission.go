package mesh

import (
	"crypto/ed25519"
	"errors"
	"slices"

	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/member"
	"holdfast/mesh/refusal"
	"holdfast/mesh/route"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// The authority's side of a join, per session (protocol.md, "Join"; rule L10):
//
//	  JoinReq          Join, not in the view              no other boot lives
//	-----------> challenged -----------------> probing -------------------------> learner
//	                 |                            | the old boot answers             | JoinReady
//	                 | Join, in the view          v                                  v
//	                 +-------> Confirm         Refuse duplicate       view change, then Confirm
//
// Every step can be repeated. A JoinReq or Join that comes again gets the answer that the first one
// got: it never starts the admission anew, or a joiner that asks every second would never get past
// a probe of one. A Join is idempotent by (id, boot): while that boot is in the view the answer is
// the current view and no new epoch, whatever the nonces.
const (
	probeMS   = 1_000 // how long an old boot has to answer before it is replaced
	readyMS   = 6_000 // how long a learner has to hold all records
	refusalMS = 5_000 // when a refused joiner may ask again

	refusalMaxMS = 600_000 // the longest that a joiner lets itself be told to wait
)

type stage uint8

const (
	stageNone stage = iota
	stageChallenged
	stageProver // accepted, and waits for the end of the quarantine
	stageProbing
	stageLearner
	stageReady     // waits for another view change to end
	stageAdmitting // waits for its own
)

// admission is about the boot that its session names: naming another one ends it.
type admission struct {
	stage     stage
	challenge id.Nonce // good for one admission
	nonce     id.Nonce // the joiner's
	over      id.Boot  // which boot in the view it is to replace, 0 for none
	probe     id.Nonce // what that boot was asked with
	proof     id.Epoch // of the certificate that came with the Join, 0 for none
	digest    id.Digest
	until     when.Instant
}

func (n *Node) joinReq(s *session, m *wire.JoinReq) {
	n.names(s, m.Boot)
	a := &s.admission
	switch a.stage {
	case stageNone:
		*a = admission{stage: stageChallenged, challenge: n.random.nonce()}
		fallthrough
	case stageChallenged:
		n.send(s, &wire.Challenge{Nonce: a.challenge, AuthorityBoot: n.c.Boot})
	case stageProver:
		if !s.complete {
			n.send(s, &wire.JoinState{Nonce: a.nonce, Want: true})
		}
	case stageLearner:
		if !s.synchronizes {
			n.send(s, &wire.JoinState{Nonce: a.nonce, Table: n.tableBut(nil)})
		}
	default: // the answer is not known yet
	}
}

// join judges a signed Join and starts the admission.
func (n *Node) join(s *session, m *wire.Join) {
	a := &s.admission
	if a.stage > stageChallenged && m.Challenge == a.challenge && m.Nonce == a.nonce {
		return // the same one again, and the admission goes on
	}
	if w := n.judgeJoin(s, m); w != refusal.OK {
		n.refuseJoin(s, m.Nonce, w, refusalMS)
		return
	}
	if n.halted != refusal.OK {
		return // the certificate that came with the Join has just proved a fork
	}
	a.nonce = m.Nonce
	if n.state == Joining {
		a.stage = stageProver
		s.proofs, s.complete = nil, false
		n.send(s, &wire.JoinState{Nonce: a.nonce, Want: true})
		return
	}
	if n.view().HasBoot(s.peer, s.boot) {
		n.confirm(s)
		return
	}
	if wait := n.heldBack(s.peer); wait > 0 {
		n.refuseJoin(s, m.Nonce, refusal.NotReady, uint32(wait))
		return
	}
	n.consider(s)
}

// judgeJoin returns the word to refuse with, if any. Signatures come last: they cost the most.
func (n *Node) judgeJoin(s *session, m *wire.Join) refusal.Word {
	a := &s.admission
	answers := a.stage == stageChallenged && m.Challenge == a.challenge ||
		n.view().HasBoot(s.peer, m.Boot)
	switch {
	case !answers || m.Boot != s.boot || m.AuthorityBoot != n.c.Boot:
		return refusal.NotAllowed // not an answer to this session's Challenge: replayed, or late
	case s.peer == n.self || !slices.Contains(n.c.Allow, s.peer):
		return refusal.NotAllowed
	case m.Timing != n.c.Timing:
		return refusal.Timing
	case !ed25519.Verify(s.key, wire.SignedJoin(m, s.peer), m.Signature[:]):
		return refusal.BadSignature
	}
	a.proof = 0 // also of another's certificate: it says nothing of what this boot holds
	if len(m.Certificate) == 0 {
		return refusal.OK
	}
	c, err := view.Parse(m.Certificate, n.c.Root)
	if errors.Is(err, view.ErrSignature) {
		return refusal.WrongAuthority
	} else if err != nil {
		return refusal.Malformed
	}
	n.compare(&c.View)
	n.showsFork(&c.View)
	if c.View.HasBoot(s.peer, s.boot) {
		a.proof, a.digest = c.View.Epoch, c.View.Digest()
	}
	return refusal.OK
}

// compare halts the authority when a certificate with its own signature proves that another view
// was signed under the current epoch, or a later one.
func (n *Node) compare(v *view.View) {
	have := n.view()
	switch {
	case have.Epoch == 0 && v.Epoch <= n.marks.Signed:
	case v.Epoch > have.Epoch:
		n.halt(refusal.NoAuthority, evidence.New("mesh-fail", "refused").Str("reason", "marks"))
	case v.Epoch == have.Epoch && v.Digest() != have.Digest():
		n.halt(refusal.Fork, n.forkRow(have, v))
	}
}

func (n *Node) refuseJoin(s *session, nonce id.Nonce, w refusal.Word, retry uint32) {
	s.admission = admission{}
	if s.refusals.due(n.now) {
		n.print(evidence.New("mesh-join", "refused").Node("node", s.peer).Word("reason", w))
	}
	n.send(s, &wire.Refuse{Nonce: nonce, Word: w, RetryMS: retry})
}

// consider goes on with an accepted Join: another boot of the same node that is in the view, and
// may live, is asked first.
func (n *Node) consider(s *session) {
	a := &s.admission
	a.over = 0
	old := n.members.Find(s.peer)
	if old != nil {
		a.over = old.Boot
	}
	if old == nil || !n.probe(s, old) {
		n.learn(s)
	}
}

// probe asks the boot of a member that is still in the view to show that it lives, and reports
// whether that is worth waiting for: only one heard of within the suspicion time can.
func (n *Node) probe(s *session, old *member.Entry) bool {
	if old.Silence(n.now) >= n.c.Timing.Suspect {
		return false
	}
	a := &s.admission
	a.probe, a.until = n.random.nonce(), n.now.Add(probeMS)
	asked := false
	for i := range n.sessions {
		if o := &n.sessions[i]; o.peer == old.ID && o.boot == old.Boot {
			n.send(o, &wire.Ping{Nonce: a.probe})
			asked = true
		}
	}
	if asked {
		a.stage = stageProbing
	}
	return asked
}

// pong takes the answer to a Ping: the peer hears. One to a probe shows that the boot in the view
// lives: whoever wanted to replace it is a second machine with the same key. Frames that the old
// boot had sent before show nothing.
func (n *Node) pong(s *session, m *wire.Pong) {
	if e := n.members.Find(s.peer); e != nil && e.Boot == s.boot {
		e.Echo(m.Nonce)
		n.credit(s)
	}
	for i := range n.sessions {
		o := &n.sessions[i]
		a := &o.admission
		if a.stage == stageProbing && o.peer == s.peer && a.over == s.boot && a.probe == m.Nonce {
			n.refuseJoin(o, a.nonce, refusal.Duplicate, refusalMS)
		}
	}
}

// learn makes the joiner a learner: it gets the records but is in no view yet, and no commit waits
// for it.
func (n *Node) learn(s *session) {
	s.admission.stage, s.admission.until = stageLearner, n.now.Add(readyMS)
	s.synchronizes = false
	for i := range n.objects.All() {
		n.objects.All()[i].Forget(func(b id.Boot) bool { return b == s.boot })
	}
	n.send(s, &wire.JoinState{Nonce: s.admission.nonce, Table: n.tableBut(nil)})
}

// joinReady ends the learning. When meanwhile another boot of the node has been admitted, that one
// is considered as the old one was.
func (n *Node) joinReady(s *session, m *wire.JoinReady) {
	a := &s.admission
	if a.stage == stageProver && m.Nonce == a.nonce {
		n.proofReady(s, m)
		return
	}
	if a.stage != stageLearner || m.Nonce != a.nonce {
		return
	}
	s.synchronizes = false
	var over id.Boot
	if e := n.members.Find(s.peer); e != nil {
		over = e.Boot
	}
	switch over {
	case s.boot:
		n.confirm(s) // admitted through another session
	case a.over:
		n.admit(s)
	default:
		n.consider(s)
	}
}

// admissionTime ends probes and learners whose time is up.
func (n *Node) admissionTime() {
	for i := range n.sessions {
		s := &n.sessions[i]
		a := &s.admission
		switch {
		case a.stage == stageProver && n.state == Joined:
			n.consider(s)
		case a.stage < stageProbing || a.stage == stageAdmitting:
		case n.view().HasBoot(s.peer, s.boot):
			n.confirm(s) // admitted through another session
		case a.stage == stageReady && n.mayChange():
			n.admit(s)
		case a.stage == stageReady || n.now < a.until:
		case a.stage == stageProbing:
			n.learn(s)
		default:
			n.refuseJoin(s, a.nonce, refusal.NotReady, refusalMS)
		}
	}
}

// excuseAdmissions gives probed boots and learners the time back in which this node did not listen
// (rule L5).
func (n *Node) excuseAdmissions(pause when.Span) {
	for i := range n.sessions {
		if a := &n.sessions[i].admission; a.stage >= stageProbing {
			a.until = a.until.Add(pause)
		}
	}
}

// admit puts the joiner's boot into a view and confirms it. A new boot always costs an epoch when
// failure detection is on; else only once something was committed (spec/system.md section 4).
func (n *Node) admit(s *session) {
	v := n.view()
	old, was := v.Find(s.peer)
	if was && !n.c.Detect && !n.everCommitted() && !n.anyMoved() {
		n.admitAgain(s, old)
		return
	}
	if !n.mayChange() {
		s.admission.stage = stageReady
		return
	}
	s.admission.stage = stageAdmitting
	m := view.Member{ID: s.peer, Incarnation: n.marks.Signed + 1, Boot: s.boot}
	copy(m.Key[:], s.key)
	n.propose(change{members: v.With(m), joiners: []joiner{{s.peer, s.id}}})
}

// everCommitted reports whether an object was ever committed, as far as the authority can know. Its
// own records tell of every object but those of the lab, which may begin with a local commit at a
// member; that is told within a second.
func (n *Node) everCommitted() bool {
	return n.authority.committed || slices.ContainsFunc(n.objects.All(),
		func(o route.Object) bool { return !o.Newest().IsZero() })
}

// admitAgain replaces the boot of a member under the same epoch and digest.
func (n *Node) admitAgain(s *session, old view.Member) {
	waits := n.formerHolders()
	old.Boot = s.boot
	same := *n.view()
	same.Members = same.With(old)
	n.establish(same)
	e := n.members.Find(s.peer)
	e.Waits, e.Pushed = waits, n.now
	n.print(n.viewRow(evidence.New("mesh-join", "confirmed").Node("node", s.peer)).
		Epoch("incarnation", old.Incarnation))
	n.confirm(s)
	n.unsteady(s.peer)
}

// formerHolders are the boots whose write leases may still cover objects that the joiner is to get:
// its own predecessor, every other member, and whoever those wait for themselves (rule L16). That
// each member loses something to the joiner is taken for granted: it may be the home of objects
// that only it knows. The authority itself loses what it loses in this very step.
func (n *Node) formerHolders() []member.Wait {
	var waits []member.Wait
	for i := range n.members.All() {
		e := &n.members.All()[i]
		if e.Waiting(n.now) {
			waits = member.Merge(waits, e.Waits...)
		}
		if e.Acked {
			waits = member.Merge(waits, e.Fenced(n.c.Timing))
		}
	}
	return waits
}

// confirm sends the joiner the current view as the answer to its Join.
func (n *Node) confirm(s *session) {
	n.send(s, &wire.Confirm{Nonce: s.admission.nonce, Certificate: n.cert.Append(nil),
		Table: n.tableBut(nil)})
	s.admission = admission{}
}

// viewRow adds the fields of the current view to a row.
func (n *Node) viewRow(l evidence.Line) evidence.Line {
	v := n.view()
	return l.Epoch("epoch", v.Epoch).Int("members", int64(len(v.Members))).
		Digest("digest", n.digest).Nodes("snapshot", v.IDs())
}

func (n *Node) forkRow(have, got *view.View) evidence.Line {
	return evidence.New("mesh-fail", "fork").Epoch("epoch", have.Epoch).
		Digest("have", have.Digest()).Digest("got", got.Digest())
}

// sign puts the node's signature of body into dst.
func (n *Node) sign(dst, body []byte) { copy(dst, ed25519.Sign(n.c.Key, body)) }
