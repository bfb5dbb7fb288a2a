package judge

import (
	"fmt"
	"slices"
	"time"

	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// Quarantine asks whether an authority that was started again signed and served nothing before the
// failure window had passed since it started, and then an epoch that nobody had seen (rules L7,
// L8).
func Quarantine(authority string, window time.Duration, boots ...int) Check {
	return Check{
		Name: "quarantine", Source: "L7, L8",
		Claim: fmt.Sprintf("in boots %v %s signs and serves nothing for %v, and then an epoch above "+
			"all earlier ones", boots, authority, window),
		ask: func(q *inquiry) {
			for _, count := range boots {
				q.quarantine(authority, window, count)
			}
		},
	}
}

// serveMost is by when an authority serves again, with a busy host's slack.
const serveMost = 30 * time.Second

func (q *inquiry) quarantine(authority string, window time.Duration, count int) {
	begun := slices.IndexFunc(q.run.Records, func(r journal.Record) bool {
		return r.Kind == journal.KindBoot && r.Node == authority && r.Boot == count
	})
	at := slices.IndexFunc(q.run.Rows, func(row Row) bool {
		return row.Node == authority && row.Boot == count && row.Is("mesh-view", "installed")
	})
	if at < 0 {
		q.missing("boot %d of %s signed nothing", count, authority)
		return
	}
	row := q.run.Rows[at]
	q.cite(row.N)
	signedAt, _ := row.Time()
	q.margin(fmt.Sprintf("boot %d signs after", count), guest(signedAt), 0, window, serveMost)
	epoch, _ := row.GetEpoch("epoch")
	highest := q.highest(q.run.Rows[:at], row, begun)
	if epoch <= highest {
		q.violated("boot %d of %s signs epoch %v, and %v was signed before", count, authority, epoch,
			highest)
	}
	q.fact("epoch %v after %v", epoch, highest)
	q.silentUntil(authority, count, row)
}

// highest is the highest epoch of these rows' views. A member's word that it has installed the view
// of the row signed may be read before that row: it does not count, once the boot has begun.
func (q *inquiry) highest(rows []Row, signed Row, begun int) (highest id.Epoch) {
	for _, row := range rows {
		epoch, _ := row.GetEpoch("epoch")
		digest, view := row.Get("digest")
		if !view || begun >= 0 && row.N > begun && hasAll(signed.Line, []string{"epoch=" + epoch.String(),
			"digest=" + digest}) {
			continue
		}
		highest = max(highest, epoch)
	}
	return highest
}

// silentUntil violates when a boot of a node did a request before it had a view.
func (q *inquiry) silentUntil(node string, count int, view Row) {
	for _, d := range q.history() {
		r := q.run.Records[d.n-1]
		if d.node == node && r.Boot == count && d.to < view.Seen && d.local() {
			q.cite(d.n)
			q.violated("%s did %s before it had a view", node, d.what())
		}
	}
}

// NoMarks asks whether an authority that has lost its marks does nothing until somebody helps it.
func NoMarks(authority string, count int) Check {
	return Check{
		Name: "no-marks", Source: "L8",
		Claim: fmt.Sprintf("in boot %d %s says that it has no marks, signs nothing and serves nothing",
			count, authority),
		ask: func(q *inquiry) {
			said := false
			for _, row := range q.run.Rows {
				if row.Node != authority || row.Boot != count {
					continue
				}
				if row.Is("mesh-fail", "refused") && fieldOf(row.Line, "reason") == "marks" {
					said = true
					q.cite(row.N)
				}
				if _, view := row.Get("digest"); view {
					q.cite(row.N)
					q.violated("%s printed: %s", authority, row.Line.String())
				}
			}
			if !said {
				q.missing("%s did not say so in boot %d", authority, count)
			}
			for _, d := range q.history() {
				if r := q.run.Records[d.n-1]; d.node == authority && r.Boot == count {
					q.cite(d.n)
					q.violated("%s answered %s", authority, d.what())
				}
			}
			q.restarted(authority, count)
		},
	}
}

// restarted leaves a question about what a boot did not do open while that boot was not ended.
func (q *inquiry) restarted(node string, count int) {
	if !slices.ContainsFunc(q.run.Records, func(r journal.Record) bool {
		return r.Kind == journal.KindBoot && r.Node == node && r.Boot == count+1
	}) {
		q.missing("boot %d of %s was not watched to its end", count, node)
	}
}

// Duplicate asks whether a machine with the key of a living member was kept out.
func Duplicate(authority, twin string) Check {
	return Check{
		Name: "duplicate-refused", Source: "protocol",
		Claim: fmt.Sprintf("%s refuses %s as a duplicate; %s joins nothing and commits nothing",
			authority, twin, twin),
		ask: func(q *inquiry) {
			refusals := 0
			for _, row := range q.run.rows(authority, "mesh-join", "refused") {
				if fieldOf(row.Line, "reason") == "duplicate" {
					q.cite(row.N)
					refusals++
				}
			}
			if refusals == 0 {
				q.missing("%s refused no duplicate", authority)
			}
			for _, word := range []string{"installed", "confirmed"} {
				q.none(twin, "mesh-view", word)
				q.none(twin, "mesh-join", word)
			}
			words := make(map[string]int)
			for _, r := range q.run.Records {
				if r.Kind != journal.KindHTTP || r.Node != twin || r.HTTP.Method != "PUT" {
					continue
				}
				switch {
				case r.HTTP.Status == 200:
					q.cite(r.N)
					q.violated("%s committed %s", twin, r.HTTP.Value)
				case r.HTTP.Status != 0:
					words[word(r.HTTP)]++
				}
			}
			if len(words) == 0 {
				q.missing("%s was not asked for a commit", twin)
			}
			q.watched()
			q.fact("refused %d times; to commits it said %v", refusals, words)
		},
	}
}
