package node

import (
	"crypto/ed25519"
	"slices"
	"sync"

	"holdfast/kernel/node/web"
	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/wire"
)

// admission refuses, before the protocol sees it, a request whose capability no home could ever
// accept. The home judges every request by itself; this is for the node's own sake: what a stranger
// sends takes no turn of the loop, no place among the operations under way, no frame and no line of
// evidence. It also has words for what exactly is wrong, where the home has one for all of it. When
// the home is this node, the signature that was verified here is not verified again on the loop.
//
// Epochs are not judged here: which one is current is the protocol's to know.
type admission struct {
	mu       sync.Mutex
	verified [verifiedMax][capability.Size]byte // whose signature is known to be good; zero: none
	next     int                                // the one to be replaced next
}

// verifiedMax bounds the tokens whose signature is not verified again, which costs milliseconds. It
// is as many as there are clients at once.
const verifiedMax = web.ConnectionsMax

// judge returns what is wrong with a request's capability at this node, nothing when it may go on.
func (a *admission) judge(q *mesh.Request, self id.Node, root ed25519.PublicKey) (wrong string) {
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
	case !a.signed(&q.Capability, root):
		return "its signature is not the authority's"
	}
	return ""
}

// signed reports whether the authority signed the token.
func (a *admission) signed(token *[capability.Size]byte, root ed25519.PublicKey) bool {
	if a.known(token) {
		return true
	}
	// Not under the lock: it takes long, and two that verify the same token do no harm.
	if _, err := capability.Verify(token[:], root); err != nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.verified[a.next] = *token
	a.next = (a.next + 1) % verifiedMax
	return true
}

func (a *admission) known(token *[capability.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.verified[:], *token)
}
