package judge

import (
	"fmt"
	"time"

	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/rig/journal"
)

// Alone asks whether an authority without a second machine stays as it began for longer than the
// failure window: same epoch, nobody confirmed or removed, serving to the end.
func Alone(authority string) []Check {
	const window = timing.FailMS * time.Millisecond
	return []Check{
		{Name: "first-epoch-kept", Source: "ADR 2",
			Claim: fmt.Sprintf("%s stays at epoch 1 with one digest for longer than %v",
				authority, window),
			ask: func(q *inquiry) { q.keptEpoch(authority, window) }},
		{Name: "nobody-confirmed", Source: "spec 8",
			Claim: "nobody joins and no link comes up",
			ask: func(q *inquiry) {
				q.none("", "mesh-join", "confirmed")
				q.none("", "mesh-link", "up")
				q.watched()
			}},
		{Name: "serves-alone", Source: "spec 8",
			Claim: fmt.Sprintf("%s ends mutable, with every lab object at home", authority),
			ask:   func(q *inquiry) { q.servesAlone(authority) }},
	}
}

func (q *inquiry) keptEpoch(authority string, window time.Duration) {
	digest := ""
	var latest time.Duration
	for _, record := range q.run.requests(authority, "GET", "/mesh") {
		if record.HTTP.Status == 0 {
			continue // not up yet
		}
		a, ok := q.read(record)
		if !ok {
			return
		}
		status, ok := a.nodeRow()
		if !ok {
			q.violated("GET /mesh of %s has no node row", authority)
			return
		}
		if digest == "" {
			digest = fieldOf(status, "digest")
		}
		q.want(authority, status, "role=authority", "mesh=joined", "epoch=1", "digest="+digest)
		if now, ok := status.GetInstant("now_ms"); ok {
			latest = guest(now)
		}
	}
	if latest <= window {
		q.missing("%s was watched for %s of its own time only", authority, seconds(latest))
	}
	q.fact("for %s of its own time", seconds(latest))
}

func (q *inquiry) servesAlone(authority string) {
	anytime := func(journal.Record) bool { return true }
	status, ok := q.pick(authority, "GET", "/mesh", true, anytime)
	if ok {
		line, _ := status.nodeRow()
		q.want(authority, line, "mutable=1")
	}
	a, ok := q.pick(authority, "GET", "/mesh/homes", true, anytime)
	if !ok {
		return
	}
	rows := a.homes()
	q.complete(authority, rows)
	for _, h := range rows {
		q.want("the row of "+q.run.object(h.object), h.line, "home="+q.run.ID(authority).String(),
			"home_epoch="+id.Epoch(1).String(), "lease=active")
	}
	q.watched()
	q.fact("%d objects", len(rows))
}
