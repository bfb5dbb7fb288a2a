package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// Disabled asks whether nodes on which a feature is off say so once in each boot, and print nothing
// else under its name but rows with the words that are allowed.
func Disabled(name, prefix string, allowed []string, nodes ...string) Check {
	return Check{
		Name: name, Source: "ADR 8",
		Claim: fmt.Sprintf("every boot says `%s: disabled reason=config` once, and nothing else "+
			"under that name%s", prefix, but(allowed)),
		ask: func(q *inquiry) {
			for _, node := range nodes {
				q.disabled(prefix, allowed, node)
			}
			q.watched()
		},
	}
}

func but(allowed []string) string {
	if len(allowed) == 0 {
		return ""
	}
	return " but " + strings.Join(allowed, ", ")
}

func (q *inquiry) disabled(prefix string, allowed []string, node string) {
	said := make(map[int]int) // by boot
	for _, row := range q.run.rows(node, prefix) {
		word, _, _ := strings.Cut(strings.TrimPrefix(row.Line.String(), prefix+": "), " ")
		switch {
		case word == "disabled":
			said[row.Boot]++
			q.cite(row.N)
			q.want(node, row.Line, "reason=config")
		case !slices.Contains(allowed, word):
			q.cite(row.N)
			q.violated("%s printed: %s", node, row.Line.String())
		}
	}
	boots := 0
	for _, r := range q.run.Records {
		if r.Kind != journal.KindBoot || r.Node != node {
			continue
		}
		boots++
		switch {
		case said[r.Boot] == 0:
			q.missing("boot %d of %s did not say that it is off", r.Boot, node)
		case said[r.Boot] > 1:
			q.violated("boot %d of %s said %d times that it is off", r.Boot, node, said[r.Boot])
		}
	}
	q.fact("%d boots of %s", boots, node)
}

// Unrouted asks whether nodes without routing have no homes, send nothing and commit nothing.
func Unrouted(nodes ...string) Check {
	return Check{
		Name: "nothing-routed", Source: "ADR 3, 8",
		Claim: "no node has a home row, and no counter of routes moves but that of refusals",
		ask: func(q *inquiry) {
			for _, node := range nodes {
				q.unrouted(node)
			}
			q.watched()
		},
	}
}

func (q *inquiry) unrouted(node string) {
	anytime := func(journal.Record) bool { return true }
	if a, ok := q.pick(node, "GET", "/mesh/homes", true, anytime); ok && len(a.homes()) > 0 {
		q.violated("%s has %d homes", node, len(a.homes()))
	}
	a, ok := q.pick(node, "GET", "/mesh/route", true, anytime)
	if !ok {
		return
	}
	l, ok := a.first("mesh-route", "counters")
	if !ok {
		q.violated("GET /mesh/route of %s has no counters", node)
		return
	}
	q.want(node+"'s counters", l, "sends=0", "moved=0", "timeouts=0", "fences=0", "commits=0",
		"replays=0", "last_replay=none")
	q.fact("%s refused %s", node, fieldOf(l, "refused"))
}

// Rejoined asks whether every boot of a member was admitted into one and the same epoch, with one
// digest, as when failure detection is off.
func Rejoined(epoch id.Epoch, authority, member string, boots int) Check {
	return Check{
		Name: "same-epoch", Source: "ADR 8",
		Claim: fmt.Sprintf("each of %d boots of %s is confirmed once, on both kernels, at epoch %v "+
			"with one digest, and no other epoch comes", boots, member, epoch),
		ask: func(q *inquiry) { q.rejoined(epoch, authority, member, boots) },
	}
}

func (q *inquiry) rejoined(epoch id.Epoch, authority, member string, boots int) {
	members := []id.Node{q.run.ID(authority), q.run.ID(member)}
	digest := ""
	for _, node := range []string{authority, member} {
		rows := q.run.rows(node, "mesh-join", "confirmed")
		perBoot := make(map[int]int)
		for _, row := range rows {
			q.cite(row.N)
			perBoot[row.Boot]++
			if digest == "" {
				digest = fieldOf(row.Line, "digest")
			}
			q.want(node+"'s confirmation", row.Line, "node="+q.run.ID(member).String(),
				"epoch="+epoch.String(), fmt.Sprintf("members=%d", len(members)), "digest="+digest,
				"snapshot="+sorted(members), "incarnation="+epoch.String())
		}
		switch {
		case len(rows) < boots:
			q.missing("%s printed %d confirmations, not %d", node, len(rows), boots)
		case len(rows) > boots:
			q.violated("%s printed %d confirmations, not %d", node, len(rows), boots)
		case node == member && len(perBoot) != boots:
			q.violated("%s was confirmed in %d boots, not %d", node, len(perBoot), boots)
		}
	}
	for _, row := range q.run.rows("", "mesh-view", "installed") {
		if e, _ := row.GetEpoch("epoch"); e > epoch {
			q.cite(row.N)
			q.violated("%s printed: %s", row.Node, row.Line.String())
		}
	}
	for _, row := range q.run.rows("", "mesh-join", "refused") {
		q.cite(row.N)
		q.violated("%s printed: %s", row.Node, row.Line.String())
	}
	if q.watched() { // else the last answers are from in between
		for _, node := range []string{authority, member} {
			anytime := func(journal.Record) bool { return true }
			if a, ok := q.pick(node, "GET", "/mesh", true, anytime); ok {
				status, _ := a.nodeRow()
				q.want(node, status, "mesh=joined", "epoch="+epoch.String(), "digest="+digest,
					"mutable=1")
			}
		}
	}
	q.fact("digest %s in %d boots of %s", q.short(digest), boots, member)
}

// Unmissed asks whether a member that was gone for longer than the failure window stayed in the
// authority's view all the same, because failure detection is off.
func Unmissed(window time.Duration, authority, member string) Check {
	return Check{
		Name: "not-missed", Source: "ADR 8",
		Claim: fmt.Sprintf("%s keeps %s in its view while it is dead for more than %v", authority,
			member, window),
		ask: func(q *inquiry) { q.unmissed(window, authority, member) },
	}
}

func (q *inquiry) unmissed(window time.Duration, authority, member string) {
	var longest time.Duration
	kills := q.run.actions(member, journal.ActionKill)
	for _, kill := range kills {
		q.cite(kill.N)
		for _, record := range q.run.requests(authority, "GET", "/mesh") {
			booted := q.run.bootAfter(member, kill.N)
			if record.N < kill.N || record.N > booted || record.HTTP.Status == 0 {
				continue
			}
			a, ok := q.read(record)
			if !ok {
				continue
			}
			longest = max(longest, record.HTTP.Sent.Sub(q.run.done(kill)))
			listed := false
			for _, l := range a.lines {
				if n, ok := l.GetNode("id"); ok && n == q.run.ID(member) {
					listed = true
					q.want(authority+"'s row of "+member, l, "state=alive")
				}
			}
			if !listed {
				q.violated("%s does not list %s, %s after the kill", authority, member,
					seconds(record.At.Sub(kill.At)))
			}
		}
	}
	if longest <= window {
		q.missing("%s was not asked while %s was dead for more than %s", authority, member,
			seconds(window))
	}
	q.fact("killed %d times, dead for %s at most", len(kills), seconds(longest))
}

// bootAfter is the number of the record in which a node starts again after another record, or one
// past the end.
func (r *Run) bootAfter(node string, n int) int {
	for _, record := range r.Records {
		if record.Kind == journal.KindBoot && record.Node == node && record.N > n {
			return record.N
		}
	}
	return len(r.Records) + 1
}
