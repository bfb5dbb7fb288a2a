package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
	"holdfast/rig/journal"
)

// What is asked of nodes without leases, where every commit needs the acknowledgements of all
// (docs/decisions/0012-acks-all.md).

// Acknowledged asks whether each commit of a member was acknowledged by the authority, as the
// Ethernet saw it: after the client had asked, something of the member's has passed to the
// authority, and then, before the answer, something of the authority's to the member. Neither
// node's word is needed for that, and no guest's clock. It is a necessary condition: the relay
// cannot read the frames.
func Acknowledged(member, authority string) Check {
	return Check{
		Name: "acked-commits", Source: "spec 5",
		Claim: fmt.Sprintf("between the request for each commit of %s and its answer something of it "+
			"has passed to %s, and something of %s back", member, authority, authority),
		ask: func(q *inquiry) {
			q.tripBefore(member, authority, func(d *done, since time.Duration, _ journal.Time) {
				q.margin("a commit was asked for, from when its record can have left,", since, 0,
					-requestMost, 0)
			})
		},
	}
}

// Steady is the check where no node was kept from running. A node that was notices too late, or too
// often, and what it says is true all the same: then what would violate leaves the question open.
func Steady(checks ...Check) []Check {
	steady := make([]Check, len(checks))
	for i, c := range checks {
		ask := c.ask
		c.ask = func(q *inquiry) {
			ask(q)
			if q.kept() {
				q.unknown, q.wrong = append(q.unknown, q.wrong...), nil
			}
		}
		steady[i] = c
	}
	return steady
}

// kept reports whether a node was kept from running, and not by the rig.
func (q *inquiry) kept() bool {
	for _, h := range q.run.hazards {
		if h == paused {
			return true
		}
	}
	return false
}

// OnlyAcked asks whether nodes refuse what rests on a lease alone.
func OnlyAcked(nodes ...string) Check {
	return Check{
		Name: "only-acked", Source: "L14",
		Claim: fmt.Sprintf("%v refuse local commits and authoritative reads as disabled, "+
			"whoever is the home", nodes),
		ask: func(q *inquiry) { q.onlyAcked(nodes) },
	}
}

func (q *inquiry) onlyAcked(nodes []string) {
	refused := make(map[lane]int)
	for _, r := range q.run.Records {
		if !traffic(r) {
			continue
		}
		h := r.HTTP
		local := h.Durability == wire.Local.String()
		read := h.Method == "GET" && (h.Status != 200 || h.Header["class"] != wire.StaleOK.String())
		switch {
		case !local && !read:
		case h.Status == 200:
			q.cite(r.N)
			q.violated("%s answered %s %s with ok: local %t, class %s", r.Node, h.Method, h.Path, local,
				h.Header["class"])
		case word(h) == refusal.Disabled.String():
			refused[lane{r.Node, h.Method, strings.TrimPrefix(h.Path, ObjectsPath)}]++
			q.cite(r.N)
		}
	}
	for _, node := range nodes {
		for _, method := range []string{"PUT", "GET"} {
			objects := 0
			for l := range refused {
				if l.node == node && l.op == method {
					objects++
				}
			}
			if objects < len(nodes) {
				q.missing("%s refused %s as disabled of %d objects, not of one at every home", node,
					method, objects)
			}
		}
	}
	q.watched()
	q.fact("%d refused", len(refused))
}

// DurableByCopies is Durable where no read is authoritative: a copy at the authority whose age is 0
// is the newest, since a commit that the authority does not hold is not acknowledged to anybody.
func DurableByCopies(authority string, epochs ...id.Epoch) Check {
	c := Durable(epochs...)
	c.ask = func(q *inquiry) {
		q.run = q.run.byCopies(authority)
		q.durable(epochs)
	}
	return c
}

// LinearizableByCopies is Linearizable where no read is authoritative.
func LinearizableByCopies(authority string) Check {
	c := Linearizable()
	ask := c.ask
	c.ask = func(q *inquiry) {
		q.run = q.run.byCopies(authority)
		ask(q)
	}
	return c
}

// byCopies is the run in which the authority's copies of age 0 were read as authoritative ones.
func (r *Run) byCopies(authority string) *Run {
	run := *r
	run.Records = slices.Clone(r.Records)
	for i := range run.Records {
		record := &run.Records[i]
		if !newestCopy(*record, authority) {
			continue
		}
		h := *record.HTTP
		h.Header = maps.Clone(h.Header)
		h.Header["class"] = wire.Authoritative.String()
		record.HTTP = &h
	}
	return &run
}

func newestCopy(r journal.Record, authority string) bool {
	return traffic(r) && r.Node == authority && r.HTTP.Status == 200 && r.HTTP.Method == "GET" &&
		r.HTTP.Header["class"] == wire.StaleOK.String() && r.HTTP.Header["age-ms"] == "0"
}
