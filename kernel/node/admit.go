package node

import (
	"crypto/ed25519"
	"sync"

	"holdfast/kernel/node/web"
	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// judge refuses, before the protocol sees it, a request whose capability no home could ever accept:
// it returns what is wrong with it at this node, nothing when it may go on. It has words for what
// exactly is wrong, where the home has one for all of it. Epochs are not judged here: which one is
// current is the protocol's to know. Nor is the signature, which takes milliseconds (admission).
func judge(q *mesh.Request, self id.Node) (wrong string) {
	right := capability.RightStat
	if q.Op == wire.Commit {
		right = capability.RightCommit
	}
	c, err := capability.Parse(q.Capability[:])
	switch {
	case err != nil:
		return "its content makes no sense"
	case c.Object != id.ObjectOf(q.Name):
		return "it is for another object"
	case c.Holder != self:
		return "it is for requests to another node, " + c.Holder.String()
	case !c.Rights.Has(right):
		return "it does not allow to " + q.Op.String()
	}
	return ""
}

// forged is what is wrong with a capability that the authority has not signed.
const forged = "its signature is not the authority's"

// admission decides who verifies the signature of a request's capability, and remembers what became
// of it (decision 0014). An object's home always does, unless it is this node, which takes its own
// word for it: no signature is verified on the loop for the node's own clients. When the home is
// another node, verifying here as well would only keep forged requests from it, at the price of a
// second verification for everybody. So the home does it alone, until it finds one to be forged:
// then this node is wary for a while, and lets nothing through that it has not verified. What a
// stranger sends takes no turn of the loop meanwhile, no place among the operations under way and
// no frame.
//
// The home's word is good for sending it more of the same, and for nothing else.
type admission struct {
	mu    sync.Mutex
	seen  [seenMax]seenToken // zero: none
	next  int                // the one to be replaced next
	until when.Instant       // it is wary until then
}

// seenToken is a capability and what is known of its signature.
type seenToken struct {
	text  [capability.Size]byte
	known standing
}

// standing is what is known of a token's signature.
type standing uint8

const (
	unseen       standing = iota // nothing
	unseenWary                   // nothing, and this node is wary
	goodAtHome                   // another node, the object's home, has taken it
	verifiedHere                 // it is the authority's
)

const (
	// seenMax bounds the tokens of which something is known. It is as many as there are clients at
	// once.
	seenMax = web.ConnectionsMax
	// waryMS is how long one that came back makes this node wary. As many can be on the way to a home
	// when the first one comes back as there are clients: strangers who try it again and again cost
	// the home sixteen verifications in that time, a hundredth of its processor.
	waryMS when.Span = 10_000
)

// standing tells what is known of a token.
func (a *admission) standing(now when.Instant, text *[capability.Size]byte) standing {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.seen {
		if t := &a.seen[i]; t.known != unseen && t.text == *text {
			return t.known
		}
	}
	if now < a.until {
		return unseenWary
	}
	return unseen
}

// verify reports whether the authority signed the token, which is not verified again as long as it
// is remembered.
func (a *admission) verify(now when.Instant, text *[capability.Size]byte,
	root ed25519.PublicKey) bool {
	if a.standing(now, text) == verifiedHere {
		return true
	}
	// Not under the lock: it takes long, and two that verify the same token do no harm.
	if _, err := capability.Verify(text[:], root); err != nil {
		a.beWary(now)
		return false
	}
	a.remember(text, verifiedHere)
	return true
}

// refused takes the word with which a request was answered whose token another node was left to
// verify, and reports whether that found it to be forged: there was nothing else that it could
// find wrong.
func (a *admission) refused(now when.Instant, text *[capability.Size]byte, w refusal.Word) bool {
	switch w {
	case refusal.BadCapability:
		a.beWary(now)
		return true
	case refusal.OK:
		if a.standing(now, text) < goodAtHome {
			a.remember(text, goodAtHome)
		}
	}
	return false
}

func (a *admission) beWary(now when.Instant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = now.Add(waryMS)
}

// remember notes what is known of a token now, in the place of the oldest one unless it has one.
func (a *admission) remember(text *[capability.Size]byte, known standing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.seen {
		if t := &a.seen[i]; t.known != unseen && t.text == *text {
			t.known = max(t.known, known)
			return
		}
	}
	a.seen[a.next] = seenToken{*text, known}
	a.next = (a.next + 1) % seenMax
}
