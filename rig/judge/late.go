package judge

import (
	"fmt"

	"holdfast/mesh/evidence"
	"holdfast/rig/journal"
)

// LateFrames asks what became of a request that a member had sent before the cut and that reached
// the authority after its removal: it is refused as stale, changes nothing and proves no life.
func LateFrames(member, authority string) Check {
	return Check{
		Name: "late-frames", Source: "ADR 3",
		Claim: fmt.Sprintf("a request of %s that reaches %s late, after the removal, is refused with "+
			"stale-epoch, commits nothing and revives nobody", member, authority),
		ask: func(q *inquiry) { q.lateFrames(member, authority) },
	}
}

func (q *inquiry) lateFrames(member, authority string) {
	cut, ok := q.isolated(member)
	if !ok {
		return
	}
	releases := q.run.actions(member, journal.ActionRelease)
	if len(releases) != 1 {
		q.missing("nothing of %s was released", member)
		return
	}
	released := releases[0]
	q.cite(released.N)
	passed := 0
	for _, r := range q.run.Records {
		if r.Kind == journal.KindFrame && r.Node == member && r.Frame.To == authority &&
			r.Frame.Verdict == "forwarded" && cut.within(r.N) && r.At >= released.At {
			passed++
			q.cite(r.N)
		}
	}
	if passed == 0 {
		q.missing("no frame of %s passed the relay late", member)
		return
	}
	earlier, _, ok := q.counters(authority, released.At, released.At)
	later, ok2 := q.lastCounters(authority, cut)
	if !ok || !ok2 {
		return
	}
	a, _ := earlier.GetUint("replays")
	b, _ := later.GetUint("replays")
	if b <= a {
		q.violated("%s refused nothing as stale: its counter replays stayed at %d", authority, b)
	}
	q.want(authority+"'s counters", later, "last_replay=stale-epoch",
		"commits="+fieldOf(earlier, "commits"))
	for _, word := range []string{"recovered", "fork", "refused"} {
		q.none(authority, "mesh-fail", word)
	}
	q.fact("%s after the cut; frames: %d, refused requests: %d",
		seconds(released.At.Sub(cut.cut.At)), passed, b-a)
}

// lastCounters returns a node's last counters of an isolation.
func (q *inquiry) lastCounters(node string, i isolation) (line evidence.Line, ok bool) {
	a, ok := q.pick(node, "GET", "/mesh/route", true, func(r journal.Record) bool {
		return i.within(r.N)
	})
	if !ok {
		return line, false
	}
	if line, ok = a.first("mesh-route", "counters"); !ok {
		q.violated("GET /mesh/route of %s has no counters", node)
	}
	return line, ok
}
