package judge

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/mesh/id"
)

// Recomputed asks whether the survivor's table of homes is the new view's after the removal.
func Recomputed(epoch id.Epoch, survivor, victim string) Check {
	return Check{
		Name: "homes-recomputed", Source: "ADR 3",
		Claim: fmt.Sprintf("at epoch %v every home row of %s names %s and that epoch",
			epoch, survivor, survivor),
		ask: func(q *inquiry) { q.recomputed(epoch, survivor, victim) },
	}
}

func (q *inquiry) recomputed(epoch id.Epoch, survivor, victim string) {
	removal, ok := q.only(survivor, "epoch="+epoch.String(), "mesh-fail", "removed")
	if !ok {
		return
	}
	a, ok := q.pick(survivor, "GET", "/mesh/homes", false, after(removal.Seen))
	if !ok {
		return
	}
	rows := a.homes()
	q.complete(survivor, rows)
	for _, h := range rows {
		q.want("the row of "+q.run.object(h.object), h.line,
			"home="+q.run.ID(survivor).String(), "home_epoch="+epoch.String(), "lease=active")
	}
	moved, _ := q.cached(survivor, victim)
	q.fact("%d rows, %d of them taken over from %s", len(rows), len(moved), victim)
}

// cached returns the objects that the survivor had at the victim in its last table before the loss.
func (q *inquiry) cached(survivor, victim string) ([]homeRow, bool) {
	loss, ok := q.loss(survivor, victim)
	if !ok {
		return nil, false
	}
	a, ok := q.pick(survivor, "GET", "/mesh/homes", true, before(loss.At))
	if !ok {
		return nil, false
	}
	var at []homeRow
	for _, h := range a.homes() {
		if h.node == q.run.ID(victim) {
			at = append(at, h)
		}
	}
	return at, true
}

// Fenced asks whether the survivor fenced every route into the removed node, each one once.
func Fenced(epoch id.Epoch, survivor, victim string) Check {
	return Check{
		Name: "fences", Source: "ADR 3",
		Claim: fmt.Sprintf("%s prints exactly one fence for each cached route to %s, at least one, "+
			"with %s as the stale home at the epoch of its assignment and %s as the new one",
			survivor, victim, victim, survivor),
		ask: func(q *inquiry) { q.fences(epoch, survivor, victim) },
	}
}

func (q *inquiry) fences(epoch id.Epoch, survivor, victim string) {
	if _, ok := q.only(survivor, "epoch="+epoch.String(), "mesh-fail", "removed"); !ok {
		return // whether a fence is missing cannot be said before the removal
	}
	cached, ok := q.cached(survivor, victim)
	if !ok {
		return
	}
	if len(cached) == 0 {
		q.missing("%s had no route to %s that could be fenced", survivor, victim)
		return
	}
	printed, assigned := make(map[id.Object]int), make(map[id.Object]string)
	for _, h := range cached {
		assigned[h.object] = fieldOf(h.line, "home_epoch")
	}
	for _, row := range q.run.leftView(survivor) {
		q.cite(row.N)
		o, _ := row.GetObject("object")
		printed[o]++
		q.want("the fence of "+q.run.object(o), row.Line, "stale_home="+q.run.ID(victim).String(),
			"home="+q.run.ID(survivor).String(), "home_epoch="+epoch.String())
		if since, ok := assigned[o]; ok {
			q.want("the fence of "+q.run.object(o), row.Line, "stale_home_epoch="+since)
		}
	}
	var names []string
	for _, h := range cached {
		name := q.run.object(h.object)
		names = append(names, name)
		if n := printed[h.object]; n != 1 {
			q.violated("%s was cached at %s and fenced %d times", name, victim, n)
		}
		delete(printed, h.object)
	}
	for _, o := range q.run.Info.Objects {
		object, _ := id.ParseObject(o.ID)
		if printed[object] > 0 {
			q.violated("%s was not cached at %s and yet fenced", o.Name, victim)
		}
		delete(printed, object)
	}
	if len(printed) > 0 {
		q.violated("%d fences for objects that this run does not have", len(printed))
	}
	q.fact("one each for %s", strings.Join(names, ", "))
}

// leftView returns a node's fences of routes to a home that left the view; an empty node means all.
// The other reason, lease-left-view, is a lease that the node itself gave up, as at every join.
func (r *Run) leftView(node string) []Row {
	return slices.DeleteFunc(r.rows(node, "mesh-route", "fence"), func(row Row) bool {
		return fieldOf(row.Line, "reason") != "left-view"
	})
}
