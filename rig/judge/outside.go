package judge

import "fmt"

// LinksRefused asks whether two nodes refused each other's link, and both for the right reason.
func LinksRefused(reason, authority, member string) Check {
	return Check{
		Name: "refused-by-both", Source: "spec 3",
		Claim: fmt.Sprintf("%s and %s each say that they refused the link, because of %s",
			authority, member, reason),
		ask: func(q *inquiry) {
			for _, node := range []string{authority, member} {
				q.linksRefused(reason, node)
			}
		},
	}
}

func (q *inquiry) linksRefused(reason, node string) {
	rows := q.run.rows(node, "mesh-link", "refused")
	count := make(map[string]int)
	for _, row := range rows {
		count[fieldOf(row.Line, "reason")]++
		q.cite(row.N)
	}
	if len(rows) == 0 {
		q.missing("%s printed no refusal", node)
		return
	}
	if count[reason] == 0 {
		q.violated("%s refused %d times, and never for %s", node, len(rows), reason)
	}
	q.fact("%d of %d refusals at %s", count[reason], len(rows), node)
}

// Outside asks whether a node that cannot join stays without a view, and serves HTTP all the same.
func Outside(node string) Check {
	return Check{
		Name: "stays-outside", Source: "spec 8",
		Claim: node + " serves its pages as joining to the end, with no epoch, home or lease",
		ask:   func(q *inquiry) { q.outside(node) },
	}
}

func (q *inquiry) outside(node string) {
	for _, head := range [][2]string{{"mesh-view", "installed"}, {"mesh-join", "confirmed"},
		{"mesh-route", "lease"}, {"mesh-route", "fence"}} {
		q.none(node, head[0], head[1])
	}
	answers := 0
	for _, record := range q.run.requests(node, "GET", "/mesh") {
		if record.HTTP.Status == 0 {
			continue // not up yet
		}
		a, ok := q.read(record)
		if !ok {
			continue
		}
		answers++
		status, _ := a.nodeRow()
		q.want(node, status, "role=member", "mesh=joining", "epoch=none", "digest=none", "mutable=0")
		if n := a.members(); n != 0 {
			q.violated("%s lists %d members", node, n)
		}
	}
	if answers == 0 {
		q.missing("%s was not asked", node)
	}
	for _, record := range q.run.requests(node, "GET", "/mesh/homes") {
		if record.HTTP.Status == 0 {
			continue
		}
		if a, ok := q.read(record); ok && len(a.lines) > 0 {
			q.violated("%s has %d homes", node, len(a.lines))
		}
	}
	q.watched()
	q.fact("%d answers", answers)
}
