package mesh

import (
	"slices"

	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/record"
	"holdfast/mesh/refusal"
	"holdfast/mesh/route"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// An authority that has been restarted has lost its records with its memory. In its quarantine it
// asks those who join for theirs (spec/protocol.md, "The authority restarts"): the certificate that
// came with a Join proves how new they are, because whoever installs a view holds its table. Of
// those with the newest certificate, and only of them, it takes the newest record of each object,
// staged ones included: a staged one may have been answered for.
//
//	authority                      joiner
//	JoinState{want}   --------->   Record{proof} ..., each acknowledged
//	                  <---------   JoinReady{table}: that was all
//
// A joiner that is being sent another table drops its own, and has it here until it has installed
// the view for which it learns: the authority may lose its memory before that.
//
// How new is new enough, the mark Activated says. An authority whose marks were lost does not know
// it: a member that was removed long ago would bring its old state back. It waits until every node
// that may be a member is there with a certificate, all at a time. Nobody else can hold a newer one
// then, so the newest of these is what there is (docs/decisions/0011-wiped-marks.md). By the
// operator's word that counts with good marks too: what was activated later, the authority alone
// had, and has lost.

// proofMS is how long after its quarantine an authority waits for a prover that is still sending.
const proofMS = 6_000

// proven is a record that a joiner has sent as proof, or has to.
type proven struct {
	object id.Object
	record record.Record
}

// proof takes a record of a joiner.
func (n *Node) proof(s *session, m *wire.Record, r *record.Record) {
	if s.admission.stage != stageProver {
		n.answerRecord(s, m, r.Digest, refusal.NotCurrent)
		return
	}
	i := slices.IndexFunc(s.proofs, func(p proven) bool { return p.object == m.Object })
	switch {
	case i >= 0:
		s.proofs[i].record = *r
	case len(s.proofs) == ObjectsMax:
		n.answerRecord(s, m, r.Digest, refusal.Full)
		return
	default:
		s.proofs = append(s.proofs, proven{m.Object, *r})
	}
	n.answerRecord(s, m, r.Digest, refusal.OK)
}

// proofReady takes the joiner's word that it has sent everything, if it has.
func (n *Node) proofReady(s *session, m *wire.JoinReady) {
	slices.SortFunc(s.proofs, func(a, b proven) int { return compareObjects(a.object, b.object) })
	var sum record.Sum
	for i := range s.proofs {
		sum.Add(s.proofs[i].object, &s.proofs[i].record)
	}
	s.complete = sum.Table() == m.Table
}

// giveProof sends the authority the records that it has not acknowledged yet; then, that it has
// them all.
func (n *Node) giveProof(s *session) {
	if !s.proving || n.state != Joining {
		return
	}
	all := n.member.former
	if !n.member.torn {
		all = n.held()
	}
	whole := true
	var sum record.Sum
	for i := range all {
		p := &all[i]
		r := &p.record
		sum.Add(p.object, r)
		if slices.Contains(s.proved, r.Digest) {
			continue
		}
		whole = false
		m := r.Message(wire.Record{Mode: wire.Proof, Object: p.object, Home: n.self, Boot: n.c.Boot,
			AuthorityBoot: s.boot})
		if !n.lend(s, m, r.Digest) {
			return
		}
	}
	if whole {
		n.send(s, &wire.JoinReady{Nonce: s.joining, Table: sum.Table()})
	}
}

// held are the newest records here, by object.
func (n *Node) held() (all []proven) {
	for _, i := range n.objects.Sorted() {
		o := &n.objects.All()[i]
		if r := o.Newest(); !r.IsZero() {
			all = append(all, proven{o.ID, *r})
		}
	}
	return
}

// provers are the sessions whose joiners prove the newest epoch, and whether it pays to wait for
// one of them that is still sending.
func (n *Node) provers() (ready []*session, wait bool) {
	newest := n.marks.Activated
	if newest == 0 || n.marks.MayEmpty {
		switch {
		case n.everybodyProves():
			newest = 1
		case newest == 0:
			return nil, false
		}
	}
	for i := range n.sessions {
		if a := &n.sessions[i].admission; a.stage == stageProver {
			newest = max(newest, a.proof)
		}
	}
	late := n.now.Sub(n.started) >= n.c.Timing.Fail+when.Span(proofMS)
	for i := range n.sessions {
		s := &n.sessions[i]
		switch {
		case s.admission.stage != stageProver || s.admission.proof != newest:
		case s.complete:
			ready = append(ready, s)
		default:
			wait = wait || !late
		}
	}
	return ready, wait
}

// everybodyProves reports whether every node that may be a member shows a certificate now.
func (n *Node) everybodyProves() bool {
	for _, peer := range n.c.Allow {
		shows := func(s session) bool {
			return s.peer == peer && s.admission.stage == stageProver && s.admission.proof > 0
		}
		if !slices.ContainsFunc(n.sessions, shows) {
			return false
		}
	}
	return true
}

// showsFork halts the authority when two joiners show two views of one epoch: there are two
// histories, and no state to go on with.
func (n *Node) showsFork(v *view.View) {
	for i := range n.sessions {
		a := &n.sessions[i].admission
		if a.stage == stageProver && a.proof == v.Epoch && a.digest != v.Digest() {
			n.halt(refusal.Fork, evidence.New("mesh-fail", "fork").Epoch("epoch", v.Epoch).
				Digest("have", a.digest).Digest("got", v.Digest()))
			return
		}
	}
}

// takeProofs makes the provers' records this authority's own: of each object the newest.
func (n *Node) takeProofs(from []*session) {
	for _, s := range from {
		for i := range s.proofs {
			p := &s.proofs[i]
			o := n.rowFor(p.object)
			if o != nil && p.record.After(o.Newest()) {
				o.Replace(&p.record)
				o.Held = []route.Holding{{Boot: s.boot, Digest: p.record.Digest}}
			} else if o != nil && p.record.Digest == o.Newest().Digest {
				o.Hold(s.boot, p.record.Digest)
			}
		}
	}
}
