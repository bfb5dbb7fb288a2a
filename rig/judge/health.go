package judge

import (
	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// Health returns the checks that every run has, whatever its fault.
func Health() []Check {
	return []Check{
		{Name: "no-panic", Source: "spec 8",
			Claim: "no kernel panics",
			ask:   func(q *inquiry) { q.hazards(panicked, q.violated) }},
		{Name: "evidence-parses", Source: "ADR 7",
			Claim: "every console line that claims to be evidence is evidence",
			ask:   func(q *inquiry) { q.hazards(unparsable, q.violated) }},
		{Name: "one-view-an-epoch", Source: "spec 4",
			Claim: "an epoch has one digest and one snapshot, wherever it is printed",
			ask:   (*inquiry).oneViewAnEpoch},
		{Name: "no-reset", Source: "spec 8",
			Claim: "no machine ends or starts again but by the rig",
			ask: func(q *inquiry) {
				q.hazards(restarted, q.missing)
				q.hazards(died, q.missing)
			}},
		{Name: "no-pause", Source: "spec 8",
			Claim: "no node was kept from running",
			ask:   func(q *inquiry) { q.hazards(paused, q.missing) }},
		{Name: "console-complete", Source: "spec 8",
			Claim: "no console line was lost and every machine was watched to its end",
			ask:   (*inquiry).consoleComplete},
		{Name: "rig-well", Source: "spec 8",
			Claim: "the rig kept up and could write everything down",
			ask:   (*inquiry).rigWell},
		{Name: "clocks-even", Source: "spec 6",
			Claim: "each guest's clock runs as the rig's does",
			ask:   (*inquiry).clocksEven},
	}
}

// hazards reports every record of a kind of hazard. What it holds rests on the consoles' whole
// length, so that it cites each node's first and last line.
func (q *inquiry) hazards(kind hazard, report func(string, ...any)) {
	first, last := make(map[string]int), make(map[string]int)
	for _, r := range q.run.Records {
		if q.run.hazards[r.N] == kind {
			q.cite(r.N)
			report("%s", describe(r))
		}
		if r.Kind == journal.KindConsole {
			if first[r.Node] == 0 {
				first[r.Node] = r.N
			}
			last[r.Node] = r.N
		}
	}
	for _, n := range q.run.Info.Nodes {
		if first[n.Name] > 0 {
			q.cite(first[n.Name], last[n.Name])
		}
	}
}

func (q *inquiry) oneViewAnEpoch() {
	type content struct{ digest, snapshot, where string }
	seen := make(map[id.Epoch]content)
	for _, row := range q.run.Rows {
		epoch, ok := row.GetEpoch("epoch")
		digest, ok1 := row.Get("digest")
		snapshot, ok2 := row.Get("snapshot")
		if !ok || !ok1 || !ok2 {
			continue
		}
		q.cite(row.N)
		now := content{digest, snapshot, row.Node}
		first, known := seen[epoch]
		if !known {
			seen[epoch] = now
			continue
		}
		if first.digest != now.digest || first.snapshot != now.snapshot {
			q.violated("epoch %v is %s of %s at %s and %s of %s at %s", epoch,
				q.short(first.digest), q.short(first.snapshot), first.where,
				q.short(now.digest), q.short(now.snapshot), now.where)
		}
	}
	for _, row := range q.run.rows("", "mesh-fail", "fork") {
		q.cite(row.N)
		q.violated("%s printed: %s", row.Node, row.Line.String())
	}
	q.cite(1) // a run without a second view has nothing that could differ
	q.fact("%d epochs with a view", len(seen))
}

func (q *inquiry) consoleComplete() {
	q.hazards(incomplete, q.missing)
	ended := make(map[boot]bool)
	for _, r := range q.run.Records {
		if r.Kind == journal.KindExit {
			ended[boot{r.Node, r.Boot}] = true
			q.cite(r.N)
		}
	}
	for _, r := range q.run.Records {
		if r.Kind == journal.KindBoot && !ended[boot{r.Node, r.Boot}] {
			q.missing("boot %d of %s was not watched to its end", r.Boot, r.Node)
		}
	}
}

func (q *inquiry) rigWell() {
	q.cite(1, len(q.run.Records))
	if q.run.End.Outcome == "" {
		q.missing("the journal has no end")
	}
	for _, r := range q.run.Records {
		if r.Kind == journal.KindTrouble {
			q.cite(r.N)
			q.missing("%s", r.Trouble)
		}
	}
}

func (q *inquiry) clocksEven() {
	for _, n := range q.run.Info.Nodes {
		read := make(map[int]bool) // by boot
		for _, s := range q.run.stretches(n.Name) {
			q.cite(s.from)
			c, ok := q.run.clock(s)
			switch {
			case c.bounded && !ok:
				q.missing("the clock of %s, boot %d, jumped against the rig's by at least %s",
					n.Name, s.boot, seconds(c.low-c.high))
			case ok:
				q.fact("%s to %s", n.Name, seconds(c.unsharp()))
			}
			read[s.boot] = read[s.boot] || c.bounded
		}
		for _, r := range q.run.Records {
			if r.Kind == journal.KindBoot && r.Node == n.Name && !read[r.Boot] {
				q.missing("no reading of the clock of %s, boot %d", n.Name, r.Boot)
			}
		}
	}
}
