package mesh

import (
	"slices"

	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
)

// Marks are what an authority must not forget: they are durable before they count (rule L8;
// spec/protocol.md, "NVRAM marks"). With them no epoch is ever signed twice, and after a restart
// the authority knows who can tell it the truth.
type Marks struct {
	Signed    id.Epoch // highest epoch ever signed
	Activated id.Epoch // highest one under which anything was acknowledged or served, 0: not known
	NeverRan  bool     // from provisioning, cleared before the first signature
	MayEmpty  bool     // one shot, by the operator: may start although nobody proves the newest state

	// Lost says that neither slot could be read. The authority then refuses to run, unless the
	// operator has set an epoch above every certificate (Config.Epoch above 1): that is what it may
	// sign from, and says nothing of what was activated.
	Lost bool
}

// An authority with marks goes through these states (rules L7, L8):
//
//	New --never ran--------------------------------> founding --> running
//	 |                                                  ^
//	 +-> quarantined, for F --nobody was there------- (MayEmpty)
//	        | collects Joins     |
//	        |                    +-> unproven: waits for a prover, or for the operator (StartEmpty)
//	        v                             |
//	     one that proves the newest state (proof.go): a view of it and of itself, at Signed + 1
//
// While it is quarantined, members of before it was restarted may hold leases, and what it knows is
// older than what they know: it signs nothing, acknowledges nothing and serves nothing.

// change is the one view change that is under way: it waits for the marks.
type change struct {
	stage   changeStage
	members []view.Member
	epoch   id.Epoch
	removed id.Node  // who is convicted, zero for none
	joiners []joiner // who joins by it
	retry   when.Instant
}

type joiner struct {
	node    id.Node
	session Session
}

type changeStage uint8

// The stages, in order. Between Signing and Activating the view has been signed and installed.
const (
	changeNone changeStage = iota
	changeSigning
	changeActivating
)

// founded starts an authority: with a view of one, or in quarantine.
func (n *Node) founded() {
	m := n.c.Marks
	if m == nil {
		n.marks = Marks{Signed: n.c.Epoch - 1, NeverRan: true}
		n.alone()
		return
	}
	n.marks = *m
	if m.Lost && n.c.Epoch > 1 {
		n.marks = Marks{Signed: n.c.Epoch - 1}
	} else if m.Lost {
		n.halt(refusal.NoAuthority, evidence.New("mesh-fail", "refused").Str("reason", "marks"))
		return
	}
	if n.marks.NeverRan {
		n.marks.Signed = max(n.marks.Signed, n.c.Epoch-1)
		n.alone()
		return
	}
	n.print(evidence.New("mesh-fail", "refused").Str("reason", "quarantine"))
}

// alone proposes the view of one that an authority starts with.
func (n *Node) alone() {
	n.propose(change{members: []view.Member{n.itself(n.marks.Signed + 1)}})
}

// itself is the authority as a member, admitted by that epoch.
func (n *Node) itself(epoch id.Epoch) view.Member {
	m := view.Member{ID: n.self, Incarnation: epoch, Boot: n.c.Boot}
	copy(m.Key[:], n.c.public())
	return m
}

// quarantineLeft is how long the authority still has to wait, 0 when it is over (rule L7).
func (n *Node) quarantineLeft() when.Span {
	return max(0, n.c.Timing.Fail-n.now.Sub(n.started))
}

// noView is what an authority without a view answers requests with.
func (n *Node) noView() refusal.Word {
	switch {
	case n.halted != refusal.OK:
		return n.halted
	case n.quarantineLeft() > 0:
		return refusal.NotCurrent
	}
	return refusal.Unknown
}

// recover ends the quarantine of an authority once somebody proves the newest state, or the
// operator has said that it may start without.
func (n *Node) recover() {
	if n.state == Joined || !n.mayChange() {
		return
	}
	if n.marks.NeverRan {
		n.alone() // the first attempt could not be written
		return
	}
	if n.quarantineLeft() > 0 {
		return
	}
	ready, wait := n.provers()
	if wait {
		return
	}
	epoch := n.marks.Signed + 1
	c := change{members: []view.Member{n.itself(epoch)}}
	for _, s := range ready {
		c.add(s, epoch)
	}
	switch {
	case len(c.joiners) > 0:
		n.takeProofs(ready)
		n.propose(c)
	case n.marks.MayEmpty:
		n.alone()
	case !n.authority.waiting:
		n.authority.waiting = true
		n.print(evidence.New("mesh-fail", "refused").Str("reason", "unproven"))
	}
}

// startEmpty takes the operator's word that this authority may start although nobody proves the
// newest state: with the newest of what everybody shows, else with nothing. It is for one that
// waits: whoever has a view needs none.
func (n *Node) startEmpty(in StartEmpty) {
	status := Done
	switch {
	case n.c.Role != Authority:
		status = WrongRole
	case n.state == Joined || n.halted != refusal.OK:
		status = WrongOrder
	default:
		n.marks.MayEmpty = true
	}
	n.out.add(Answer{Ticket: in.Ticket, Status: status})
}

// add puts the boot that a session names into the change, admitted by that epoch.
func (c *change) add(s *session, epoch id.Epoch) {
	m := view.Member{ID: s.peer, Incarnation: epoch, Boot: s.boot}
	copy(m.Key[:], s.key)
	v := view.View{Members: c.members}
	if !v.Has(s.peer) { // a second session of the same node joins later
		c.members = v.With(m)
		c.joiners = append(c.joiners, joiner{s.peer, s.id})
	}
}

func (c *change) joins(n id.Node) bool {
	return slices.ContainsFunc(c.joiners, func(j joiner) bool { return j.node == n })
}

// propose starts a view change: the epoch is durable as signed before anything is signed. Meanwhile
// acknowledgements of the current epoch go on, but for a node that is to be removed.
func (n *Node) propose(c change) {
	if n.authority.change.stage != changeNone {
		panic("mesh: two view changes at a time")
	}
	c.stage, c.epoch = changeSigning, n.marks.Signed+1
	n.authority.change = c
	next := n.marks
	next.Signed, next.NeverRan, next.MayEmpty = c.epoch, false, false
	n.persist(next)
}

// persist makes marks durable. Without NVRAM they count at once.
func (n *Node) persist(m Marks) {
	n.authority.next = m
	if n.c.Marks == nil {
		n.persisted(Persisted{})
		return
	}
	n.out.add(Persist{Marks: m})
}

// persisted goes on with the view change when its marks are durable. If they cannot be, the
// authority goes on in its view, changes none, and says so.
func (n *Node) persisted(in Persisted) {
	c := &n.authority.change
	switch {
	case n.halted != refusal.OK || n.c.Role != Authority:
		return
	case in.Err == PersistHigher:
		n.halt(refusal.NoAuthority, evidence.New("mesh-fail", "refused").Str("reason", "marks"))
		return
	case n.authority.looking:
		n.authority.looking = false
		return
	case c.stage == changeNone:
		return // nobody asked
	case in.Err != PersistOK:
		n.print(evidence.New("mesh-fail", "refused").Str("reason", "marks"))
		n.putOff()
		return
	}
	n.marks = n.authority.next
	if c.stage == changeSigning {
		n.signed()
		c.stage = changeActivating
		next := n.marks
		next.Activated = c.epoch
		n.persist(next)
		return
	}
	*c = change{}
}

// putOff is what a view change does whose marks could not be written: one that is not signed yet
// ends, and its cause will bring another; one that is signed tries again.
func (n *Node) putOff() {
	c := &n.authority.change
	if c.stage == changeSigning {
		for _, j := range c.joiners {
			if s := n.find(j.session); s != nil {
				n.refuseJoin(s, s.admission.nonce, refusal.NotReady, refusalMS)
			}
		}
		*c = change{}
		n.authority.pause = n.now.Add(resendMS)
		return
	}
	c.retry = n.now.Add(resendMS)
}

// changeTime tries again to write marks that could not be written.
func (n *Node) changeTime() {
	c := &n.authority.change
	if c.stage == changeActivating && c.retry != 0 && n.now >= c.retry {
		c.retry = 0
		n.persist(n.authority.next)
	}
}

// mayChange reports whether a view change can begin now.
func (n *Node) mayChange() bool {
	a := &n.authority
	return a.change.stage == changeNone && !a.looking && n.now >= a.pause
}

// signed signs and installs the view of the change under way, in one turn: acknowledging the old
// epoch ends where the new one begins (spec/protocol.md, "View change", step 3).
func (n *Node) signed() {
	c := &n.authority.change
	waits := n.formerHolders()
	v := view.View{Epoch: c.epoch, Authority: n.self, AuthorityBoot: n.c.Boot, Members: c.members}
	n.establish(v)
	for i := range n.members.All() {
		e := &n.members.All()[i]
		if c.joins(e.ID) {
			e.Waits, e.Pushed = waits, n.now // it gets the view as its Confirm
			continue
		}
		n.push(e)
	}
	if !c.removed.IsZero() {
		n.print(n.viewRow(evidence.New("mesh-fail", "removed").Node("node", c.removed)))
	}
	for _, j := range c.joiners {
		m, _ := n.view().Find(j.node)
		n.print(n.viewRow(evidence.New("mesh-join", "confirmed").Node("node", j.node)).
			Epoch("incarnation", m.Incarnation))
		n.unsteady(j.node)
		if s := n.find(j.session); s != nil && s.boot == m.Boot {
			n.confirm(s)
		}
	}
}

// lookAgain compares the marks with the chip after a pause: while this node did not run, another
// holder of its key and chip may have.
func (n *Node) lookAgain() {
	a := &n.authority
	if n.c.Marks != nil && n.halted == refusal.OK && a.change.stage == changeNone && !a.looking {
		a.looking = true
		n.persist(n.marks)
	}
}

// active reports whether the current view's epoch is durable as activated: before that nothing is
// acknowledged and nothing is served under it.
func (n *Node) active() bool { return n.marks.Activated >= n.view().Epoch }
