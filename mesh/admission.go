package mesh

import (
	"crypto/ed25519"
	"errors"
	"slices"

	"holdfast/mesh/evidence"
	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/mesh/member"
	"holdfast/mesh/refusal"
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
// A Join is idempotent by (id, boot): while that boot is in the view the answer is the current view
// and no new epoch, whatever the nonces.
const (
	probeMS   = 1_000 // how long an old boot has to answer before it is replaced
	readyMS   = 6_000 // how long a learner has to hold all records
	refusalMS = 5_000 // when a refused joiner may ask again
)

type stage uint8

const (
	stageNone stage = iota
	stageChallenged
	stageProbing
	stageLearner
)

type admission struct {
	stage     stage
	challenge id.Nonce // single use
	nonce     id.Nonce // the joiner's
	until     when.Instant
	probed    when.Instant // when the old boot was asked
}

func (n *Node) joinReq(s *session, m *wire.JoinReq) {
	if m.Boot == 0 {
		n.refuseJoin(s, 0, refusal.Malformed, 0)
		return
	}
	n.names(s, m.Boot)
	s.admission = admission{stage: stageChallenged, challenge: n.random.nonce()}
	n.send(s, &wire.Challenge{Nonce: s.admission.challenge, AuthorityBoot: n.c.Boot})
}

// join judges a signed Join and starts the admission.
func (n *Node) join(s *session, m *wire.Join) {
	if w := n.judgeJoin(s, m); w != refusal.OK {
		n.refuseJoin(s, m.Nonce, w, refusalMS)
		return
	}
	if n.authority.halted {
		return // the certificate that came with the Join has just proved a fork
	}
	a := &s.admission
	a.challenge, a.nonce = 0, m.Nonce
	if n.view().HasBoot(s.peer, s.boot) {
		n.confirm(s)
		return
	}
	if old := n.members.Find(s.peer); old != nil && n.probe(old) {
		a.stage, a.until, a.probed = stageProbing, n.now.Add(probeMS), n.now
		return
	}
	n.learn(s)
}

// judgeJoin returns the word to refuse with, if any. Signatures come last: they cost the most.
func (n *Node) judgeJoin(s *session, m *wire.Join) refusal.Word {
	a := &s.admission
	switch {
	case a.stage != stageChallenged || m.Challenge != a.challenge || m.Boot != s.boot ||
		m.AuthorityBoot != n.c.Boot:
		return refusal.NotAllowed // not an answer to this session's Challenge: replayed, or late
	case !slices.Contains(n.c.Allow, s.peer):
		return refusal.NotAllowed
	case m.Timing != n.c.Timing:
		return refusal.Timing
	case !ed25519.Verify(s.key, wire.SignedJoin(m, s.peer), m.Signature[:]):
		return refusal.BadSignature
	}
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
	return refusal.OK
}

// compare halts the authority when a certificate with its own signature proves that another view
// was signed under the current epoch, or a later one.
func (n *Node) compare(v *view.View) {
	have := n.view()
	switch {
	case v.Epoch > have.Epoch:
		n.halt(evidence.New("mesh-fail", "refused").Str("reason", "marks"))
	case v.Epoch == have.Epoch && v.Digest() != have.Digest():
		n.halt(n.forkRow(have, v))
	}
}

func (n *Node) refuseJoin(s *session, nonce id.Nonce, w refusal.Word, retry uint32) {
	s.admission = admission{}
	n.print(evidence.New("mesh-join", "refused").Node("node", s.peer).Word("reason", w))
	n.send(s, &wire.Refuse{Nonce: nonce, Word: w, RetryMS: retry})
}

// probe asks the boot of a member that is still in the view to show that it lives, and reports
// whether that is worth waiting for: only one heard of within the suspicion time can.
func (n *Node) probe(old *member.Entry) bool {
	s := n.best(old.ID, old.Boot)
	if s == nil || old.Silence(n.now) >= n.c.Timing.Suspect {
		return false
	}
	n.send(s, &wire.Ping{Nonce: n.random.nonce()})
	return true
}

// learn makes the joiner a learner: it may hold records but is in no view yet. Without replication
// there are no records to hold, and the joiner says at once that it is ready.
func (n *Node) learn(s *session) {
	s.admission.stage, s.admission.until = stageLearner, n.now.Add(readyMS)
	n.send(s, &wire.JoinState{Nonce: s.admission.nonce})
}

func (n *Node) joinReady(s *session, m *wire.JoinReady) {
	if s.admission.stage == stageLearner && m.Nonce == s.admission.nonce {
		n.admit(s)
	}
}

// admissionTime ends probes and learners whose time is up.
func (n *Node) admissionTime() {
	for i := range n.sessions {
		s := &n.sessions[i]
		a := &s.admission
		switch {
		case a.stage == stageProbing && n.heardSince(s.peer, a.probed):
			n.refuseJoin(s, a.nonce, refusal.Duplicate, refusalMS)
		case a.stage == stageProbing && n.now >= a.until:
			n.learn(s)
		case a.stage == stageLearner && n.now >= a.until:
			n.refuseJoin(s, a.nonce, refusal.NotReady, refusalMS)
		}
	}
}

// heardSince reports whether the member's boot in the view has been heard after t.
func (n *Node) heardSince(peer id.Node, t when.Instant) bool {
	e := n.members.Find(peer)
	return e != nil && e.Heard > t
}

// admit puts the joiner's boot into a view and confirms it. A new boot always costs an epoch when
// failure detection is on; else only once something was committed (spec/system.md section 4).
func (n *Node) admit(s *session) {
	v := n.view()
	if v.HasBoot(s.peer, s.boot) {
		n.confirm(s) // admitted through another session while this one learned
		return
	}
	m := view.Member{ID: s.peer, Incarnation: v.Epoch + 1, Boot: s.boot}
	copy(m.Key[:], s.key)
	old, was := v.Find(s.peer)
	waits := n.formerHolders(s.peer, v.With(m))
	if was && !n.c.Detect && !n.authority.committed {
		m.Incarnation = old.Incarnation
		same := *v
		same.Members = v.With(m)
		n.establish(same)
	} else {
		n.change(v.With(m), s.peer)
	}
	e := n.members.Find(s.peer)
	e.Waits, e.Pushed = waits, n.now
	n.print(n.viewRow(evidence.New("mesh-join", "confirmed").Node("node", s.peer)).
		Epoch("incarnation", m.Incarnation))
	n.confirm(s)
}

// formerHolders are the boots whose write leases may still cover objects that the joiner is to get:
// its own predecessor, and every member that loses an object to it (rule L16). The authority itself
// loses what it loses in this very step.
func (n *Node) formerHolders(joiner id.Node, next []view.Member) []member.Wait {
	var waits []member.Wait
	for i := range n.members.All() {
		e := &n.members.All()[i]
		if e.Acked && (e.ID == joiner || n.losesTo(e.ID, joiner, next)) {
			w := member.Wait{Node: e.ID, Boot: e.Boot, Until: e.LastAck.Add(n.c.Timing.Fence())}
			waits = append(waits, w)
		}
	}
	return waits
}

// losesTo reports whether any known object moves from one node to another when next is installed.
func (n *Node) losesTo(from, to id.Node, next []view.Member) bool {
	v := view.View{Members: next}
	ids := v.IDs()
	for i := range n.objects.All() {
		if o := &n.objects.All()[i]; o.Home == from && home.Of(o.ID, ids) == to {
			return true
		}
	}
	return false
}

// confirm sends the joiner the current view as the answer to its Join.
func (n *Node) confirm(s *session) {
	n.send(s, &wire.Confirm{Nonce: s.admission.nonce, Certificate: n.cert.Append(nil)})
	s.admission = admission{}
}

// viewRow adds the fields of the current view to a row.
func (n *Node) viewRow(l evidence.Line) evidence.Line {
	v := n.view()
	return l.Epoch("epoch", v.Epoch).Int("members", int64(len(v.Members))).
		Digest("digest", v.Digest()).Nodes("snapshot", v.IDs())
}

func (n *Node) forkRow(have, got *view.View) evidence.Line {
	return evidence.New("mesh-fail", "fork").Epoch("epoch", have.Epoch).
		Digest("have", have.Digest()).Digest("got", got.Digest())
}

// sign puts the node's signature of body into dst.
func (n *Node) sign(dst, body []byte) { copy(dst, ed25519.Sign(n.c.Key, body)) }
