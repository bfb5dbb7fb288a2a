package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/mesh/capability"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/wire"
	"holdfast/rig/journal"
)

// Lane is an object that one node is asked to commit again and again, and now and then to read.
type Lane struct {
	Node       string
	Object     string // its name
	Every      time.Duration
	Durability wire.Durability // of its commits: Replicated or Local
	Epoch      string          // whose epoch the capabilities are for; the asked node's when empty
}

const (
	// laneWithin is how long a node is given for a local commit or a read: it needs some ten
	// milliseconds. What is answered laneSlack later has been given up, and proves nothing. A
	// replicated commit has the node's own time: it may have to outlast the removal of a member.
	laneWithin = 1200 * time.Millisecond
	laneSlack  = 300 * time.Millisecond
	// laneMost is how many requests of a lane may be under way. A node takes 16 connections and
	// carries out 16 requests, and its lanes must leave some for whoever else asks.
	laneMost = 2
	// laneRead: so many commits are followed by a read.
	laneRead = 3
	// laneTries is how often a replicated commit is sent at most, until it is known what has become
	// of it.
	laneTries = 2
)

// traffic is the lanes at work.
type traffic struct {
	all     []*driven
	numbers map[Lane]*atomic.Uint64 // of the newest commit
	objects []string                // that lanes were about, in the order in which they began
}

// driven is a lane at work.
type driven struct {
	Lane
	stop context.CancelFunc
	over chan struct{} // closed when nothing of it is under way any more
}

// Traffic starts lanes, which go on until Hush or the end of the run, whatever is done to the nodes
// meanwhile. Every request is journalled; every value is asked for once. A lane leaves a node alone
// that has no view yet. More lanes may follow.
func (w *World) Traffic(lanes ...Lane) {
	t := &w.traffic
	if t.numbers == nil {
		t.numbers = make(map[Lane]*atomic.Uint64)
	}
	for _, l := range lanes {
		if t.numbers[l] == nil {
			t.numbers[l] = new(atomic.Uint64)
		}
		w.about(l.Object)
		ctx, stop := context.WithCancel(w.ctx)
		d := &driven{Lane: l, stop: stop, over: make(chan struct{})}
		t.all = append(t.all, d)
		number := t.numbers[l]
		go func() {
			defer close(d.over)
			w.drive(ctx, l, number)
		}()
	}
}

// about notes that the run asks for an object.
func (w *World) about(object string) {
	if t := &w.traffic; !slices.Contains(t.objects, object) {
		t.objects = append(t.objects, object)
	}
}

// Hush ends the traffic through these nodes, through all when none is named, and waits for what is
// under way.
func (w *World) Hush(nodes ...string) {
	var over []*driven
	w.traffic.all = slices.DeleteFunc(w.traffic.all, func(d *driven) bool {
		ends := len(nodes) == 0 || slices.Contains(nodes, d.Node)
		if ends {
			over = append(over, d)
		}
		return ends
	})
	for _, d := range over {
		d.stop()
	}
	for _, d := range over {
		<-d.over
	}
}

// AwaitServed waits until, from now on, every lane through these nodes, through all when none is
// named, has been answered with ok to a commit and to a read that it sent from now on.
func (w *World) AwaitServed(ctx context.Context, nodes ...string) error {
	now, since := w.Journal.Now(), w.Journal.Len()
	for _, l := range w.traffic.all {
		if l.Epoch != "" || len(nodes) > 0 && !slices.Contains(nodes, l.Node) {
			continue // it has no view of its own to serve in, or is not meant
		}
		for _, method := range []string{http.MethodPut, http.MethodGet} {
			_, err := w.Journal.Await(ctx, since, func(r journal.Record) bool {
				return r.Kind == journal.KindHTTP && r.Node == l.Node && r.HTTP.Method == method &&
					r.HTTP.Path == objectPath(l.Object) && r.HTTP.Status == http.StatusOK &&
					r.HTTP.Sent >= now
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Audit reads every object that the run has asked for so far through each of these nodes, again and
// again until each is answered with a value.
func (w *World) Audit(ctx context.Context, nodes ...string) error {
	for _, node := range nodes {
		for _, object := range w.traffic.objects {
			if err := w.audit(ctx, node, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// Ask reads every object that the run has asked for so far through a node once, whatever the
// answer: at its home, or with stale the copy of the node that is asked.
func (w *World) Ask(ctx context.Context, node string, stale bool) error {
	for _, object := range w.traffic.objects {
		// A node without a view says why before it looks at a capability's epoch.
		c := get(object, w.mint(node, object, capability.RightStat, max(1, w.Epoch(node))))
		if stale {
			c.header.Set(classKey, wire.StaleOK.String())
		}
		_, err := w.request(ctx, node, c.within(laneWithin))
		var refusal *Refusal
		if err != nil && !errors.As(err, &refusal) {
			return err
		}
	}
	return nil
}

// auditEvery is how often a node is asked for an object that it does not serve yet.
const auditEvery = 200 * time.Millisecond

func (w *World) audit(ctx context.Context, node, object string) error {
	ticker := time.NewTicker(auditEvery)
	defer ticker.Stop()
	for {
		if epoch := w.Epoch(node); epoch != 0 {
			token := w.mint(node, object, capability.RightStat, epoch)
			if _, err := w.request(ctx, node, get(object, token).within(laneWithin)); err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// drive is one lane until ctx ends.
func (w *World) drive(ctx context.Context, l Lane, number *atomic.Uint64) {
	var calls sync.WaitGroup
	defer calls.Wait()
	var under atomic.Int32 // way
	send := func(do func()) {
		if under.Add(1) > laneMost {
			under.Add(-1)
			return
		}
		calls.Go(func() {
			defer under.Add(-1)
			do()
		})
	}
	ticker := time.NewTicker(l.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		epoch := w.Epoch(cmp.Or(l.Epoch, l.Node))
		if epoch == 0 {
			continue
		}
		n := number.Add(1)
		send(func() { w.commitOf(ctx, l, epoch, n) })
		if n%laneRead == 0 {
			token := w.mint(l.Node, l.Object, capability.RightStat, epoch)
			send(func() { w.request(w.ctx, l.Node, get(l.Object, token).within(laneWithin)) })
		}
	}
}

// commitOf makes the nth commit of a lane. What is under way when the lane ends is waited for, but
// not sent again.
func (w *World) commitOf(lane context.Context, l Lane, epoch id.Epoch, n uint64) {
	value := fmt.Sprintf("%s %v %d", l.Node, l.Durability, n)
	if l.Durability == wire.Local {
		token := w.mint(l.Node, l.Object, capability.RightCommit, epoch)
		w.request(w.ctx, l.Node, put(l.Object, token, value).within(laneWithin))
		return
	}
	c := Commit{l.Object, value, wire.Request{
		Client: clientOf("lane of " + l.Node + " for " + l.Object), Boot: 1, Seq: n}, epoch}
	for range laneTries {
		under := w.Epoch(cmp.Or(l.Epoch, l.Node))
		if under == 0 || lane.Err() != nil {
			return
		}
		answer, err := w.request(w.ctx, l.Node, w.replicated(l.Node, under, c))
		if !undecided(answer, err) {
			return
		}
	}
}

// mint makes a capability for a node.
func (w *World) mint(
	node, object string, rights capability.Rights, epoch id.Epoch,
) string {
	return w.Cast.Mint(id.ObjectOf(object), w.machine(node).node.ID, rights, epoch)
}

// Epoch is that of the newest view which a node has printed since it started; 0 for none. It may be
// called from any goroutine.
func (w *World) Epoch(node string) id.Epoch { return id.Epoch(w.machine(node).epoch.Load()) }

// noteEpoch keeps what Epoch returns, from a record.
func (w *World) noteEpoch(r journal.Record) {
	if r.Kind != journal.KindConsole {
		return
	}
	line, err := evidence.Parse(r.Line)
	if err != nil {
		return
	}
	epoch := &w.machine(r.Node).epoch
	_, view := line.Get("digest")
	newest, ok := line.GetEpoch("epoch")
	switch {
	case line.Is("mesh-node", "start"):
		epoch.Store(0)
	case view && ok:
		epoch.Store(max(epoch.Load(), uint64(newest)))
	}
}
