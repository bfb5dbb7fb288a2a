package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
	"holdfast/rig/journal"
)

// UnknownState asks whether an authority that was started again, and to which nobody proves a
// state, says so of every object, and neither that it is empty nor what it may have been.
func UnknownState(authority string, boot int) Check {
	return Check{
		Name: "unknown-not-empty", Source: "protocol",
		Claim: fmt.Sprintf("in boot %d %s answers that the state is unknown until somebody proves it, "+
			"and never that an object is empty", boot, authority),
		ask: func(q *inquiry) { q.unknownState(authority, boot) },
	}
}

func (q *inquiry) unknownState(authority string, count int) {
	said, first := false, journal.Time(-1) // when it served first
	for _, row := range q.run.Rows {
		if row.Node != authority || row.Boot != count {
			continue
		}
		switch {
		case row.Is("mesh-fail", "refused") && fieldOf(row.Line, "reason") == "unproven":
			said = true
			q.cite(row.N)
		case row.Is("mesh-view", "installed") && first < 0:
			first = row.Seen
		}
	}
	unproven := 0
	for _, r := range q.run.Records {
		if !traffic(r) || r.Node != authority || r.Boot != count || r.HTTP.Status == 0 ||
			first >= 0 && r.At >= first || r.HTTP.Header["class"] == wire.StaleOK.String() {
			continue
		}
		switch w := word(r.HTTP); {
		case r.HTTP.Status == 200:
			q.cite(r.N)
			q.violated("%s answered %s %s with ok in boot %d, before it had a view", authority,
				r.HTTP.Method, r.HTTP.Path, count)
		case w == refusal.NoObject.String():
			q.cite(r.N)
			q.violated("%s answered that %s is empty", authority, r.HTTP.Path)
		case w == refusal.Unknown.String():
			unproven++
			q.cite(r.N)
		}
	}
	if !said {
		q.missing("boot %d of %s did not say that nothing is proven", count, authority)
	}
	if unproven == 0 {
		q.missing("%s was not asked while nothing was proven", authority)
	}
	q.fact("%d answers with unknown", unproven)
}

// StartedEmpty asks whether an authority that may start empty does so: what was committed before is
// not there, and it serves.
func StartedEmpty(authority string, boot int) Check {
	return Check{
		Name: "started-empty", Source: "protocol",
		Claim: fmt.Sprintf("in boot %d %s may start empty: nothing of before is there, and it serves",
			boot, authority),
		ask: func(q *inquiry) { q.startedEmpty(authority, boot) },
	}
}

func (q *inquiry) startedEmpty(authority string, count int) {
	began := journal.Time(-1)
	for _, r := range q.run.Records {
		if r.Kind == journal.KindBoot && r.Node == authority && r.Boot == count {
			began = r.At
		}
	}
	if began < 0 {
		q.missing("%s was not booted %d times", authority, count)
		return
	}
	old := make(map[[2]string]bool)
	for _, w := range q.run.wishes() {
		if w.requests[0].HTTP.Sent < began {
			old[[2]string{w.object, w.value}] = true
		}
	}
	empty, commits := 0, 0
	for _, r := range q.run.Records {
		if !traffic(r) || r.Boot != count || r.Node != authority {
			continue
		}
		object := strings.TrimPrefix(r.HTTP.Path, ObjectsPath)
		switch {
		case word(r.HTTP) == refusal.NoObject.String():
			empty++
			q.cite(r.N)
		case r.HTTP.Status == 200 && r.HTTP.Method == "PUT":
			if commits++; commits == 1 {
				q.cite(r.N)
			}
		case r.HTTP.Status == 200 && old[[2]string{object, r.HTTP.Body}]:
			q.cite(r.N)
			q.violated("%s gives %q, which was committed before", r.Node, r.HTTP.Body)
		}
	}
	if empty == 0 || commits == 0 {
		q.missing("%d answers that an object is empty, %d commits", empty, commits)
	}
	q.fact("%d answers that an object is empty, then %d commits", empty, commits)
}

// StaleReads asks whether a node reads its own copies while its authority is away, and is honest
// about their age: a commit that was acknowledged longer ago than that is in them.
func StaleReads(node, authority string) Check {
	return Check{
		Name: "stale-reads", Source: "protocol",
		Claim: fmt.Sprintf("while %s is away %s reads its own copies, and they are no older than it "+
			"says", authority, node),
		ask: func(q *inquiry) { q.staleReads(node, authority) },
	}
}

func (q *inquiry) staleReads(node, authority string) {
	wishes := q.run.wishes()
	reads := 0
	least := time.Duration(1<<63 - 1)
	for _, r := range q.run.Records {
		if !traffic(r) || r.Node != node || r.HTTP.Status != 200 ||
			r.HTTP.Header["class"] != wire.StaleOK.String() {
			continue
		}
		ms, err1 := strconv.ParseInt(r.HTTP.Header["age-ms"], 10, 64)
		version, err2 := strconv.ParseUint(r.HTTP.Header["version"], 10, 64)
		if err1 != nil || err2 != nil {
			q.cite(r.N)
			q.violated("%s read its copy of %s without an age or a version", node, r.HTTP.Path)
			continue
		}
		age := time.Duration(ms) * time.Millisecond
		if since, away := q.awaySince(authority, r.HTTP.Sent); away {
			reads++
			least = min(least, age)
			q.cite(r.N)
			if gone := r.HTTP.Sent.Sub(since); age+grain < gone {
				q.violated("%s read its copy of %s, %s old, and %s had been away for %s", node,
					r.HTTP.Path, seconds(age), authority, seconds(gone))
			}
		}
		object := strings.TrimPrefix(r.HTTP.Path, ObjectsPath)
		q.noOlder(wishes, object, r, version, r.HTTP.Sent.Add(-age-grain))
	}
	if reads == 0 {
		q.missing("%s read no copy while %s was away", node, authority)
		return
	}
	q.watched()
	q.fact("%d reads, at least %s old", reads, seconds(least))
}

// noOlder violates when a copy lacks a commit that was acknowledged before an instant.
func (q *inquiry) noOlder(
	wishes []*wish, object string, read journal.Record, version uint64, fresh journal.Time,
) {
	for _, w := range wishes {
		if w.object == object && w.outcome == acknowledged && w.copied && w.answered.At < fresh &&
			w.version > version {
			q.cite(w.answered.N, read.N)
			q.violated("%s: version %d was acknowledged at %s, and the copy of %s, which was the newest "+
				"at %s, is version %d", object, w.version, w.answered.At, read.Node, fresh, version)
			return
		}
	}
}

// awaySince is since when a node that the rig had killed had no view, at an instant.
func (q *inquiry) awaySince(node string, at journal.Time) (since journal.Time, away bool) {
	for _, kill := range q.run.actions(node, journal.ActionKill) {
		if kill.At <= at {
			since, away = q.run.done(kill), true
		}
	}
	back := slices.ContainsFunc(q.run.rows(node, "mesh-view", "installed"), func(row Row) bool {
		return since < row.Seen && row.Seen <= at
	})
	return since, away && !back
}
