package scenario

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/wire"
	"holdfast/qemu/relay"
	"holdfast/rig/provision"
	"holdfast/rig/world"
)

// pressEvery is how often a node is asked to commit while it is watched how long it does.
const pressEvery = 250 * time.Millisecond

// cut interrupts the way between two nodes. What peer sends at first is kept by the relay.
type cut struct{ node, peer string }

func (s cut) String() string       { return "the relay to cut " + s.node + " from " + s.peer }
func (s cut) Limit() time.Duration { return answerLimit }
func (s cut) Do(_ context.Context, w *world.World) error {
	return w.Cut(s.node, s.peer)
}

// strand lets a request of an isolated node get as far as the relay and no farther: it stays there
// until late. Whatever the node sends after it is lost.
type strand struct {
	node, peer string
	epoch      id.Epoch
}

func (s strand) String() string       { return "a request of " + s.node + " to get stuck" }
func (s strand) Limit() time.Duration { return answerLimit }
func (s strand) Do(ctx context.Context, w *world.World) error {
	far := homedNth(w, s.peer, 2) // the first has been moved
	token := w.Cast.Mint(far.ID, node(w, s.node).ID, capability.RightStat, s.epoch)
	w.ReadAside(s.node, far.Name, token)
	// Nothing else that a member says without being asked is as long as a request.
	least := len(wire.Append(nil, s.epoch, &wire.RouteReq{
		Request: wire.Request{Client: id.Client(node(w, s.node).ID), Boot: 1, Seq: 1},
		Op:      wire.Stat, Class: wire.Lease, FirstEpoch: s.epoch, IfVersion: wire.AnyVersion,
		Within: 1,
	}))
	if err := w.AwaitFrame(ctx, s.node, s.peer, relay.Held, least); err != nil {
		return err
	}
	return w.Drop(s.node, s.peer)
}

// press has a node try to commit again and again until another one has printed a row, and once
// more.
type press struct {
	node  string
	epoch id.Epoch
	until row
}

func (s press) String() string       { return s.node + " to try commits until " + s.until.String() }
func (s press) Limit() time.Duration { return s.until.limit }
func (s press) Do(ctx context.Context, w *world.World) error {
	held := heldAfterMove(w, s.node)
	return pressUntil(ctx, w, s.until, func(int) {
		token := w.Cast.Mint(held.ID, node(w, s.node).ID, capability.RightCommit, s.epoch)
		w.PutAside(s.node, held.Name, token, "pressed")
	})
}

// pressUntil attempts something, counting from 1, again and again until a row has been printed, and
// once more.
func pressUntil(ctx context.Context, w *world.World, until row, attempt func(n int)) error {
	printed := make(chan error, 1)
	go func() { printed <- until.Do(ctx, w) }()
	ticker := time.NewTicker(pressEvery)
	defer ticker.Stop()
	for n := 1; ; n++ {
		attempt(n)
		select {
		case err := <-printed:
			attempt(n + 1)
			return err
		case <-ticker.C:
		}
	}
}

// late sends on what strand has kept, and lets the peer take it in. That it does is not required
// here: it is for a check to say what it means when it does not.
type late struct{ node, peer string }

func (s late) String() string {
	return "what " + s.node + " said before to arrive late at " + s.peer
}
func (s late) Limit() time.Duration { return answerLimit }
func (s late) Do(ctx context.Context, w *world.World) error {
	const patience = 3 * time.Second
	before, err := replays(ctx, w, s.peer)
	if err != nil {
		return err
	}
	if err := w.Release(s.node, s.peer); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, w.Patience(patience))
	defer cancel()
	err = w.Poll(waiting, s.peer, "/mesh/route", pollSoon, func(a world.Answer) bool {
		now, ok := replaysIn(a)
		return ok && now > before
	})
	if waiting.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// replays is a node's counter of stale and repeated requests.
func replays(ctx context.Context, w *world.World, node string) (uint64, error) {
	a, err := w.Get(ctx, node, "/mesh/route")
	if err != nil {
		return 0, err
	}
	n, ok := replaysIn(a)
	if !ok {
		return 0, &world.Refusal{Reason: node + " has no counters"}
	}
	return n, nil
}

func replaysIn(a world.Answer) (uint64, bool) {
	for _, l := range a.Lines {
		if l.Is("mesh-route", "counters") {
			return l.GetUint("replays")
		}
	}
	return 0, false
}

// heal ends a cut.
type heal struct{ node, peer string }

func (s heal) String() string       { return "the relay to join " + s.node + " and " + s.peer }
func (s heal) Limit() time.Duration { return answerLimit }
func (s heal) Do(_ context.Context, w *world.World) error {
	return w.Heal(s.node, s.peer)
}

// readOut has a node read an object that it homes, under its read lease, until it refuses.
type readOut struct {
	node  string
	epoch id.Epoch
	limit time.Duration
}

func (s readOut) String() string       { return s.node + "'s read lease to run out" }
func (s readOut) Limit() time.Duration { return s.limit }
func (s readOut) Do(ctx context.Context, w *world.World) error {
	for {
		object, err := moved(w)
		if err != nil {
			return err
		}
		token := w.Cast.Mint(object, node(w, s.node).ID, capability.RightStat, s.epoch)
		a, err := w.Post(ctx, s.node, stepPath(3), url.Values{"cap": {token}})
		if err != nil {
			return err
		}
		if len(a.Lines) > 0 && !hasFields(a.Lines[0], []string{"status=ok"}) {
			return nil
		}
		left, err := readLeft(ctx, w, s.node, object)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(max(left/2, readSoon), readLater)):
		}
	}
}

// How often a node is asked to read while its read lease runs out: ever more often.
const (
	readSoon  = 500 * time.Millisecond
	readLater = 20 * time.Second
)

// readLeft is what a node says is left of its read lease of an object.
func readLeft(
	ctx context.Context, w *world.World, node string, object id.Object,
) (time.Duration, error) {
	a, err := w.Get(ctx, node, "/mesh/homes")
	if err != nil {
		return 0, err
	}
	for _, l := range a.Lines {
		if o, ok := l.GetObject("object"); ok && o == object {
			left, _ := l.GetSpan("read_ms")
			return time.Duration(left) * time.Millisecond, nil
		}
	}
	return 0, &world.Refusal{Reason: node + " has no row of the object"}
}

// moved is the lab object that step 2 gives to the member.
func moved(w *world.World) (id.Object, error) { return homedAt(root)(w) }

// heldByMember is heldAfterMove for a lab step.
func heldByMember(w *world.World) (id.Object, error) { return heldAfterMove(w, member).ID, nil }

// heldAfterMove is the lowest-numbered lab object that a member holds after step 2.
func heldAfterMove(w *world.World, member string) provision.LabObject {
	taken := homedNth(w, root, 1)
	for _, o := range provision.LabObjects() {
		if o == taken || w.Cast.HomeOf(o.ID) == node(w, member).ID {
			return o
		}
	}
	panic("scenario: a node homes no lab object")
}

func stepPath(number int) string { return fmt.Sprintf("/mesh/step/%d", number) }
