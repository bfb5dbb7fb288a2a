package scenario

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"holdfast/mesh/capability"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/rig/provision"
	"holdfast/rig/world"
)

// How long the rig's steps may take. Machines are slow on a busy host, so these are generous; none
// is a bound of the system's.
const (
	bootLimit   = 40 * time.Second // QEMU's start takes up to 3 s on a loaded host
	joinLimit   = 30 * time.Second
	stateLimit  = 20 * time.Second
	answerLimit = 10 * time.Second
	killLimit   = 10 * time.Second
	rowSlack    = 10 * time.Second // on top of the time after which a row is due
)

// How often a node is asked while something is awaited that it does not print.
const (
	pollSoon  = 100 * time.Millisecond // what comes any moment
	pollLater = time.Second            // what takes its time
)

// boot starts a node's machine.
type boot struct{ node string }

func (s boot) String() string       { return "QEMU to start " + s.node }
func (s boot) Limit() time.Duration { return bootLimit }
func (s boot) Do(ctx context.Context, w *world.World) error {
	return w.Boot(ctx, s.node)
}

// kill ends a node's machine like a power cut.
type kill struct{ node string }

func (s kill) String() string       { return "SIGKILL to end " + s.node }
func (s kill) Limit() time.Duration { return killLimit }
func (s kill) Do(_ context.Context, w *world.World) error {
	return w.Kill(s.node)
}

// row waits for a line of evidence on a node's console, printed since the rig last started or ended
// a machine.
type row struct {
	node  string
	head  string   // such as "mesh-join: confirmed"
	with  []string // fields, "key=value"
	limit time.Duration
}

func (s row) String() string {
	text := s.head
	for _, f := range s.with {
		text += " " + f
	}
	return fmt.Sprintf("`%s` at %s", text, s.node)
}
func (s row) Limit() time.Duration { return s.limit }
func (s row) Do(ctx context.Context, w *world.World) error {
	prefix, words, _ := strings.Cut(s.head, ": ")
	with := named(w.Cast, s.with)
	return w.Await(ctx, s.node, func(l evidence.Line) bool {
		return l.Is(prefix, strings.Fields(words)...) && hasFields(l, with)
	})
}

// named replaces nodes' names in fields by their ids, as evidence has them.
func named(cast *provision.Cast, fields []string) []string {
	var replaced []string
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		for _, n := range cast.Nodes {
			if n.Name == value {
				value = n.ID.String()
			}
		}
		replaced = append(replaced, key+"="+value)
	}
	return replaced
}

func hasFields(l evidence.Line, fields []string) bool {
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		if got, _ := l.Get(key); got != value {
			return false
		}
	}
	return true
}

// state waits until a node says over HTTP that it is at an epoch and may commit.
type state struct {
	node  string
	epoch id.Epoch
}

func (s state) String() string       { return s.node + " to serve at epoch " + s.epoch.String() }
func (s state) Limit() time.Duration { return stateLimit }
func (s state) Do(ctx context.Context, w *world.World) error {
	return w.Poll(ctx, s.node, "/mesh", pollSoon, func(a world.Answer) bool {
		return len(a.Lines) > 0 && hasFields(a.Lines[0], []string{
			"mesh=joined", "epoch=" + s.epoch.String(), "mutable=1",
		})
	})
}

// uptime waits until a node's own clock has passed an instant.
type uptime struct {
	node string
	past time.Duration
}

func (s uptime) String() string       { return fmt.Sprintf("%s to be up for %v", s.node, s.past) }
func (s uptime) Limit() time.Duration { return s.past + rowSlack }
func (s uptime) Do(ctx context.Context, w *world.World) error {
	return w.Poll(ctx, s.node, "/mesh", pollLater, func(a world.Answer) bool {
		now, ok := clockOf(a)
		return ok && now > s.past
	})
}

// uptimeMore waits until so much time has passed on a node's own clock.
type uptimeMore struct {
	node string
	more time.Duration
}

func (s uptimeMore) String() string       { return fmt.Sprintf("%v to pass at %s", s.more, s.node) }
func (s uptimeMore) Limit() time.Duration { return s.more + rowSlack }
func (s uptimeMore) Do(ctx context.Context, w *world.World) error {
	var first time.Duration
	return w.Poll(ctx, s.node, "/mesh", pollLater, func(a world.Answer) bool {
		now, ok := clockOf(a)
		if ok && first == 0 {
			first = now
		}
		return ok && now > first+s.more
	})
}

// clockOf is what an answer to GET /mesh says of the node's clock.
func clockOf(a world.Answer) (time.Duration, bool) {
	if len(a.Lines) == 0 {
		return 0, false
	}
	now, ok := a.Lines[0].GetInstant("now_ms")
	return time.Duration(now) * time.Millisecond, ok
}

// survey asks a node for what it knows, for the checks to look at.
type survey struct{ node string }

func (s survey) String() string       { return s.node + " to tell its homes and routes" }
func (s survey) Limit() time.Duration { return answerLimit }
func (s survey) Do(ctx context.Context, w *world.World) error {
	for _, path := range []string{"/mesh", "/mesh/homes", "/mesh/route"} {
		if _, err := w.Get(ctx, s.node, path); err != nil {
			return err
		}
	}
	return nil
}

// lab asks a node for a lab step, with a capability for the object that the node will take.
type lab struct {
	number int
	at     string
	epoch  id.Epoch
	rights capability.Rights
	// object says which one the node will take: the lowest-numbered that fits (spec 7). Nil is for
	// a step that takes no capability.
	object func(w *world.World) (id.Object, error)
}

func (s lab) String() string       { return fmt.Sprintf("step %d at %s", s.number, s.at) }
func (s lab) Limit() time.Duration { return answerLimit }
func (s lab) Do(ctx context.Context, w *world.World) error {
	token := ""
	if s.object != nil {
		object, err := s.object(w)
		if err != nil {
			return err
		}
		token = w.Cast.Mint(object, node(w, s.at).ID, s.rights, s.epoch)
	}
	answer, err := w.Post(ctx, s.at, stepPath(s.number), url.Values{"cap": {token}})
	if err != nil {
		return err
	}
	// A machine may be ended next, and its console with it.
	for _, want := range answer.Lines {
		if !want.Is("mesh-route", "result") {
			continue
		}
		if err := w.Await(ctx, s.at, func(l evidence.Line) bool { return l == want }); err != nil {
			return err
		}
	}
	return nil
}

// node returns a node of the cast; a fault that names another is a bug.
func node(w *world.World, name string) *provision.Node {
	for i := range w.Cast.Nodes {
		if n := &w.Cast.Nodes[i]; n.Name == name {
			return n
		}
	}
	panic("scenario: no node " + name)
}

// homedAt chooses the lowest-numbered lab object that a node homes while every node is a member.
func homedAt(name string) func(*world.World) (id.Object, error) {
	return func(w *world.World) (id.Object, error) { return homedNth(w, name, 1).ID, nil }
}

// homedNth is the nth such object, from 1; every node of a cast homes two.
func homedNth(w *world.World, name string, nth int) provision.LabObject {
	for _, o := range provision.LabObjects() {
		if w.Cast.HomeOf(o.ID) != node(w, name).ID {
			continue
		}
		if nth--; nth == 0 {
			return o
		}
	}
	panic("scenario: a node homes too few lab objects")
}

// fencedAt chooses the lowest-numbered lab object that a node fenced at an epoch.
func fencedAt(name string, epoch id.Epoch) func(*world.World) (id.Object, error) {
	return func(w *world.World) (id.Object, error) {
		rows := w.Rows(name)
		for _, o := range provision.LabObjects() {
			for _, r := range rows {
				if r.Is("mesh-route", "fence") && hasFields(r, []string{
					"object=" + o.ID.String(), "home_epoch=" + epoch.String(), "reason=left-view",
				}) {
					return o.ID, nil
				}
			}
		}
		return id.Object{}, &world.Refusal{Reason: name + " has fenced no lab object"}
	}
}
