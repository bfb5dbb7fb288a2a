package world

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/mesh/capability"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// Lane is an object that one node is asked to commit again and again, and now and then to read.
type Lane struct {
	Node   string
	Object string // its name
	Every  time.Duration
	Epoch  string // the node whose epoch the capabilities are for; the asked one when empty
}

const (
	// laneWait is how long a lane waits for an answer: a node that lives and is heard answers in
	// some ten milliseconds. What is answered later has been given up, and proves nothing.
	laneWait = 1500 * time.Millisecond
	// laneMost is how many requests of a lane may be under way. A node takes 16 connections, and
	// the lanes of one must leave some for whoever else asks.
	laneMost = 3
	// laneRead: so many commits are followed by a read.
	laneRead = 5
)

// traffic is the lanes at work.
type traffic struct {
	ctx   context.Context
	stop  context.CancelFunc // nil when there are none
	all   []Lane
	lanes sync.WaitGroup
}

// Traffic starts lanes, which go on until Hush or the end of the run, whatever is done to the nodes
// meanwhile. Every request is journalled; every value is asked for once. A lane leaves a node alone
// that has no view yet. More lanes may follow.
func (w *World) Traffic(lanes ...Lane) {
	t := &w.traffic
	if t.stop == nil {
		t.ctx, t.stop = context.WithCancel(w.ctx)
	}
	t.all = append(t.all, lanes...)
	for _, l := range lanes {
		ctx := t.ctx
		t.lanes.Go(func() { w.drive(ctx, l) })
	}
}

// Hush ends the traffic and waits for what is under way.
func (w *World) Hush() {
	if w.traffic.stop == nil {
		return
	}
	w.traffic.stop()
	w.traffic.lanes.Wait()
	w.traffic.stop, w.traffic.all = nil, nil
}

// AwaitServed waits until, from now on, every lane has been answered with ok to a commit and to a
// read that it sent from now on.
func (w *World) AwaitServed(ctx context.Context) error {
	now, since := w.Journal.Now(), w.Journal.Len()
	for _, l := range w.traffic.all {
		if l.Epoch != "" {
			continue // it has no view of its own to serve in
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

// drive is one lane until ctx ends.
func (w *World) drive(ctx context.Context, l Lane) {
	var calls sync.WaitGroup
	defer calls.Wait()
	var under atomic.Int32 // way
	send := func(c call) {
		under.Add(1)
		calls.Go(func() {
			defer under.Add(-1)
			ctx, cancel := context.WithTimeout(w.ctx, w.Patience(laneWait))
			defer cancel()
			w.request(ctx, l.Node, c)
		})
	}
	ticker := time.NewTicker(l.Every)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		epoch := w.Epoch(cmp.Or(l.Epoch, l.Node))
		if epoch == 0 || under.Load() >= laneMost {
			continue
		}
		send(put(l.Object, w.mint(l, capability.RightCommit, epoch), fmt.Sprintf("%s %d", l.Node, n)))
		if n%laneRead == 0 {
			send(get(l.Object, w.mint(l, capability.RightStat, epoch)))
		}
	}
}

// mint makes a capability for a lane.
func (w *World) mint(l Lane, rights capability.Rights, epoch id.Epoch) string {
	return w.Cast.Mint(id.ObjectOf(l.Object), w.machine(l.Node).node.ID, rights, epoch)
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
