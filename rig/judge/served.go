package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// Served asks whether the traffic got through where nothing is wrong: whatever a node was asked for
// again and again was answered with ok before the rig first broke something, and after it last
// mended something.
func Served(nodes ...string) Check {
	return Check{
		Name: "served-around", Source: "spec 8",
		Claim: fmt.Sprintf("before the fault and after it every object was committed and read "+
			"through each of %v", nodes),
		ask: func(q *inquiry) { q.served(nodes) },
	}
}

// lane is what was asked of a node again and again.
type lane struct {
	node, op, object string // op is the method of the request
}

func (q *inquiry) served(nodes []string) {
	broke, mended, ok := q.disturbed()
	if !ok {
		return
	}
	var lanes []lane // in the order in which they began
	before, after := make(map[lane]int), make(map[lane]int)
	for _, r := range q.run.Records {
		if !traffic(r) || !slices.Contains(nodes, r.Node) {
			continue
		}
		l := lane{r.Node, r.HTTP.Method, strings.TrimPrefix(r.HTTP.Path, ObjectsPath)}
		if !slices.Contains(lanes, l) {
			lanes = append(lanes, l)
		}
		switch {
		case r.HTTP.Status != 200:
		case r.At <= broke:
			before[l] = r.N
		case r.HTTP.Sent >= mended && after[l] == 0:
			after[l] = r.N
		}
	}
	latest := mended
	for _, l := range lanes {
		if before[l] == 0 || after[l] == 0 {
			q.missing("%s of %s through %s: answered with ok before the fault: %t, after it: %t",
				l.op, l.object, l.node, before[l] > 0, after[l] > 0)
			continue
		}
		q.cite(before[l], after[l])
		latest = max(latest, q.run.Records[after[l]-1].At)
	}
	q.fact("all of it again %s after the last mending", seconds(latest.Sub(mended)))
}

// goesMost is the longest that an object may be without a home in a new view: a fence, and a busy
// host.
const goesMost = 15 * time.Second

// GoesOn asks whether commits were made at an epoch through each of these nodes, to every object
// that they were asked for.
func GoesOn(epoch id.Epoch, nodes ...string) Check {
	return Check{
		Name: "goes-on", Source: "spec 4",
		Claim: fmt.Sprintf("at epoch %v every object is committed through each of %v", epoch, nodes),
		ask:   func(q *inquiry) { q.goesOn(epoch, nodes) },
	}
}

func (q *inquiry) goesOn(epoch id.Epoch, nodes []string) {
	type tried struct {
		lane
		made        int
		first, last journal.Record // refused at the epoch
	}
	var all []*tried
	for _, r := range q.run.Records {
		if !traffic(r) || r.HTTP.Method != "PUT" || !slices.Contains(nodes, r.Node) {
			continue
		}
		l := lane{r.Node, r.HTTP.Method, strings.TrimPrefix(r.HTTP.Path, ObjectsPath)}
		i := slices.IndexFunc(all, func(t *tried) bool { return t.lane == l })
		if i < 0 {
			i = len(all)
			all = append(all, &tried{lane: l})
		}
		t := all[i]
		switch {
		case r.HTTP.Header["epoch"] != epoch.String():
		case r.HTTP.Status == 200:
			if t.made++; t.made == 1 {
				q.cite(r.N)
			}
		default:
			if t.first.N == 0 {
				t.first = r
			}
			t.last = r
		}
	}
	commits := 0
	for _, t := range all {
		commits += t.made
		switch {
		case t.made > 0:
		case t.last.N > 0 && t.last.HTTP.Sent.Sub(t.first.HTTP.Sent) > goesMost:
			q.cite(t.first.N, t.last.N)
			q.violated("%s committed nothing to %s for %s at epoch %v", t.node, t.object,
				seconds(t.last.HTTP.Sent.Sub(t.first.HTTP.Sent)), epoch)
		default:
			q.missing("no commit of %s through %s at epoch %v", t.object, t.node, epoch)
		}
	}
	q.fact("%d commits", commits)
}

// traffic says whether a record is a request for an object.
func traffic(r journal.Record) bool {
	return r.Kind == journal.KindHTTP && strings.HasPrefix(r.HTTP.Path, ObjectsPath)
}

// disturbed is when the rig first did something to a mesh with traffic, and when it was done with
// what it did last.
func (q *inquiry) disturbed() (broke, mended journal.Time, ok bool) {
	begun := false
	for _, r := range q.run.Records {
		begun = begun || traffic(r)
		at := r.At
		switch {
		case !begun:
			continue
		case r.Kind == journal.KindBoot:
		case r.Kind == journal.KindAction && r.Action.Name != journal.ActionQuit:
			at = r.Action.Done
		default:
			continue
		}
		if !ok {
			broke, ok = r.At, true
		}
		mended = at
		q.cite(r.N)
	}
	if !ok {
		q.missing("the rig did nothing to a mesh with traffic")
	}
	return broke, mended, ok
}
