package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// The pages with what a node counts.
const (
	MetricsPath = "/metrics"
	HealthPath  = "/mesh/health"
)

const (
	// offeredLeast is how many wrong keys the rig must have offered for the question to be asked:
	// 1,000 a second for 30 s, less a tenth for a busy host.
	offeredLeast = 27_000
	wrongKeys    = "wrong-keys" // the attack's name
	// admittedMost is how many connections a second a node may take to cryptography.
	admittedMost = 5
	// tickMost is how late a tick may be, and tickBucket the upper end of the bucket of the node's
	// histogram that has it.
	tickMost   = 250 * time.Millisecond
	tickBucket = 255
	// memoryMost is how much more memory than before the attacks the runtime may have, and heapMost
	// how much more of the heap may be in use when they are over. Both are small at first, because
	// a node that has just joined has not collected its heap yet.
	memoryMost = 8 << 20
	heapMost   = 4 << 20
	// servedMost is the longest that a lane may be without an answer of ok during an attack.
	servedMost = 4 * time.Second
	// starvedMost is the part of an attack, 1 in so many, for which the attacked machine's QEMU may
	// have waited for this host: when it waited longer, nothing that came late is the node's doing.
	// On two processors that do nothing else it waits for up to 27 of 100: the attacker, the relay
	// and the other machine run on them too.
	starvedMost = 2
)

// Attacked asks whether the rig did what the run is about.
func Attacked(node string, names ...string) Check {
	return Check{
		Name: "attacks-made", Source: "spec 8",
		Claim: fmt.Sprintf("%s was attacked by %s, with 1,000 wrong keys a second", node,
			strings.Join(names, ", ")),
		ask: func(q *inquiry) {
			made := make(map[string]journal.Action)
			for _, r := range q.run.actions(node, journal.ActionAttack) {
				q.cite(r.N)
				made[r.Action.Detail] = *r.Action
			}
			for _, name := range names {
				a, ok := made[name]
				switch {
				case !ok || a.Offered == 0:
					q.missing("%s was not made", name)
				case name == wrongKeys && a.Offered < offeredLeast:
					q.missing("%s offered only %d connections", name, a.Offered)
				default:
					q.fact("%s %d", name, a.Offered)
				}
			}
		},
	}
}

// StillJoined asks whether nobody left, rebooted or was suspected, at any time: the epoch is the
// one of the join to the end. When the ticks of the node that nobody attacked were late, it was the
// host that had no time.
func StillJoined(epoch id.Epoch, attacked, other string) Check {
	return Check{
		Name: "still-joined", Source: "issue Robust",
		Claim: fmt.Sprintf("%s and %s stay joined at epoch %v", attacked, other, epoch),
		ask: func(q *inquiry) {
			report := q.blame(0, q.run.EndAt)
			if late, _, ok := q.lateTicks(other); !ok || !q.watched() || late > 0 {
				q.missing("%s, which nobody attacked, had %d late ticks", other, late)
				report = q.missing
			}
			for _, row := range q.run.Rows {
				e, ok := row.GetEpoch("epoch")
				_, view := row.Get("snapshot")
				if view && ok && e > epoch || row.Is("mesh-fail", "suspect") ||
					row.Is("mesh-fail", "authority") {
					q.cite(row.N)
					report("%s printed: %s", row.Node, row.Line.String())
				}
			}
			q.joinedAt(epoch, attacked, report)
			q.joinedAt(epoch, other, report)
		},
	}
}

// joinedAt asks what a node said of itself since the first attack.
func (q *inquiry) joinedAt(epoch id.Epoch, node string, report func(string, ...any)) {
	if starts := q.run.rows(node, "mesh-node", "start"); len(starts) > 1 {
		q.cite(starts[1].N)
		report("%s started %d times", node, len(starts))
	}
	answers := 0
	for _, r := range q.run.requests(node, "GET", "/mesh") {
		if r.HTTP.Status != 200 || r.At < q.attacked() {
			continue
		}
		a, ok := q.read(r)
		row, has := a.nodeRow()
		if !ok || !has {
			continue
		}
		answers++
		if !hasAll(row, []string{"mesh=joined", "epoch=" + epoch.String()}) {
			report("%s said: %s", node, row.String())
		}
	}
	if answers == 0 {
		q.missing("%s was not asked after the first attack", node)
	}
}

// attacked is when the first attack began; the run's end when there was none.
func (q *inquiry) attacked() journal.Time {
	at := q.run.EndAt
	for _, r := range q.run.Records {
		if r.Kind == journal.KindAction && r.Action.Name == journal.ActionAttack {
			at = min(at, r.At)
		}
	}
	return at
}

// Punctual asks whether the attacked node's ticks were in time. When those of the other one, which
// nobody attacked, were not either, it was the host that had no time, as it is for HonestServed.
func Punctual(node, other string) Check {
	return Check{
		Name: "ticks-punctual", Source: "issue Robust",
		Claim: fmt.Sprintf("under attack no tick of %s comes more than %v late", node, tickMost),
		ask: func(q *inquiry) {
			late, worst, ok := q.lateTicks(node)
			others, _, known := q.lateTicks(other)
			switch {
			case !ok || !known:
			case late > 0 && others > 0:
				q.missing("%d ticks of %s were late, but also %d of %s: the host had no time", late, node,
					others, other)
			case late > 0:
				q.blame(0, q.run.EndAt)("%d ticks of %s came more than %v late", late, node, tickMost)
			default:
				q.fact("none of %s; the latest since its start by %s", node, seconds(worst))
			}
		},
	}
}

// blame is how what the attacked node did wrong between two instants is reported: as a violation,
// or as missing when the host had no time for its machine during an attack of then.
func (q *inquiry) blame(from, to journal.Time) func(string, ...any) {
	for _, r := range q.run.Records {
		a := r.Action
		attack := r.Kind == journal.KindAction && a.Name == journal.ActionAttack
		if !attack || a.Done < from || r.At > to {
			continue
		}
		starved := time.Duration(a.StarvedMS) * time.Millisecond
		if starved <= a.Done.Sub(r.At)/starvedMost {
			continue
		}
		return func(format string, args ...any) {
			q.cite(r.N)
			q.missing("%s; but %s's machine waited %s for this host during %s",
				fmt.Sprintf(format, args...), r.Node, seconds(starved), a.Detail)
		}
	}
	return q.violated
}

// lateTicks is how many ticks came too late between the first and the last answer of a node's
// histogram, and how late the latest was since the node began.
func (q *inquiry) lateTicks(node string) (late uint64, worst time.Duration, ok bool) {
	var counts []uint64
	for _, r := range q.run.requests(node, "GET", HealthPath) {
		if r.HTTP.Status != 200 {
			continue
		}
		a, readable := q.read(r)
		if !readable {
			return 0, 0, false
		}
		n := uint64(0)
		for _, l := range a.lines {
			text := l.String()
			most, _ := l.GetSpan("most_ms")
			count, _ := l.GetUint("n")
			switch {
			case strings.HasPrefix(text, "bucket id=none ") && most > tickBucket:
				n += count
			case strings.HasPrefix(text, "tick "):
				ms, _ := l.GetSpan("worst_ms")
				worst = time.Duration(ms) * time.Millisecond
			}
		}
		counts = append(counts, n)
	}
	if len(counts) < 2 {
		q.missing("%s was not asked for its health before and after", node)
		return 0, 0, false
	}
	return counts[len(counts)-1] - counts[0], worst, true
}

// sample is an answer with a node's figures.
type sample struct {
	n        int
	sent, at journal.Time
	values   map[string]float64
}

// samples are the figures of a node, in the order in which they came.
func (q *inquiry) samples(node string) []sample {
	var all []sample
	for _, r := range q.run.requests(node, "GET", MetricsPath) {
		if r.HTTP.Status != 200 || r.HTTP.Error != "" {
			continue
		}
		s := sample{r.N, r.HTTP.Sent, r.At, make(map[string]float64)}
		for line := range strings.Lines(r.HTTP.Body) {
			name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				s.values[name] = v
			}
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b sample) int { return int(a.at - b.at) })
	return all
}

// The figures that are judged.
const (
	memoryFigure    = "go_memory_classes_total_bytes"
	heapFigure      = "go_gc_heap_live_bytes"
	handshakeFigure = "holdfast_link_handshakes_total"
)

// bounds are the first sample with the figures, and the last.
func (q *inquiry) bounds(node string, figures ...string) (all []sample, ok bool) {
	all = slices.DeleteFunc(q.samples(node), func(s sample) bool {
		names := slices.Collect(maps.Keys(s.values))
		return slices.ContainsFunc(figures, func(f string) bool { return !slices.Contains(names, f) })
	})
	begin := q.attacked()
	before := slices.ContainsFunc(all, func(s sample) bool { return s.at <= begin })
	after := slices.ContainsFunc(all, func(s sample) bool { return s.sent >= q.relented() })
	if !before || !after {
		q.missing("%s did not tell %s before the attacks and after them", node,
			strings.Join(figures, " and "))
		return nil, false
	}
	q.cite(all[0].n, all[len(all)-1].n)
	return all, true
}

// relented is when the last attack was over.
func (q *inquiry) relented() journal.Time {
	var at journal.Time
	for _, r := range q.run.Records {
		if r.Kind == journal.KindAction && r.Action.Name == journal.ActionAttack {
			at = max(at, r.Action.Done)
		}
	}
	return at
}

// MemoryFlat asks whether the attacks took memory: at no time more than a few megabytes from the
// kernel, and of the heap nothing to speak of that is still in use when they are over.
func MemoryFlat(node string) Check {
	return Check{
		Name: "memory-flat", Source: "issue Robust",
		Claim: fmt.Sprintf("the runtime of %s takes at most %d MB more than before, and %d MB of the "+
			"heap stay in use", node, memoryMost>>20, heapMost>>20),
		ask: func(q *inquiry) {
			all, ok := q.bounds(node, memoryFigure, heapFigure)
			if !ok {
				return
			}
			first, last := all[0].values, all[len(all)-1].values
			for _, s := range all {
				if more := s.values[memoryFigure] - first[memoryFigure]; more > memoryMost {
					q.cite(s.n)
					q.violated("the runtime had %s more at %s", megabytes(more), s.at)
				}
			}
			if more := last[heapFigure] - first[heapFigure]; more > heapMost {
				q.violated("%s more of the heap were in use at the end", megabytes(more))
			}
			q.fact("the runtime had %s before and %s after, heap in use %s and %s",
				megabytes(first[memoryFigure]), megabytes(last[memoryFigure]),
				megabytes(first[heapFigure]), megabytes(last[heapFigure]))
		},
	}
}

func megabytes(v float64) string { return fmt.Sprintf("%.1f MB", v/(1<<20)) }

// Admitted asks whether the node took no more connections to cryptography than it may, between any
// two answers with its counter: five in any second, however many were offered.
func Admitted(node string) Check {
	return Check{
		Name: "handshakes-admitted", Source: "issue Robust",
		Claim: fmt.Sprintf("%s admits at most %d connections a second to cryptography", node,
			admittedMost),
		ask: func(q *inquiry) {
			all, ok := q.bounds(node, handshakeFigure)
			if !ok {
				return
			}
			for i, s := range all {
				for _, t := range all[i+1:] {
					n := t.values[handshakeFigure] - s.values[handshakeFigure]
					whole := t.at.Sub(s.sent)/time.Second + 1 // seconds that the counter's time touches
					if n > float64(whole*admittedMost) {
						q.cite(s.n, t.n)
						q.violated("%.0f in %s", n, seconds(t.at.Sub(s.sent)))
						return
					}
				}
			}
			first, last := all[0], all[len(all)-1]
			q.fact("%.0f in %s", last.values[handshakeFigure]-first.values[handshakeFigure],
				seconds(last.at.Sub(first.sent)))
		},
	}
}

// HonestServed asks whether those who are no strangers were served all the while: during the
// attacks on a node no lane, through it or through its peer, was without an ok for long.
func HonestServed(nodes []string, other string) Check {
	return Check{
		Name: "honest-served", Source: "issue Robust",
		Claim: fmt.Sprintf("during the attacks every lane through %v is answered with ok at least "+
			"every %v", nodes, servedMost),
		ask: func(q *inquiry) {
			if !q.watched() {
				return
			}
			late, _, ok := q.lateTicks(other)
			if late > 0 {
				q.missing("%d ticks of %s, which nobody attacked, were late: the host had no time", late,
					other)
			}
			if ok && late == 0 {
				q.honestServed(nodes)
			}
		},
	}
}

func (q *inquiry) honestServed(nodes []string) {
	begin, end := q.attacked(), q.relented()
	if begin >= end {
		q.missing("there was no attack")
		return
	}
	type state struct {
		served journal.Time // until then without a gap
		n      int
		asked  int
		ok     int
	}
	lanes := make(map[lane]*state)
	var order []lane
	for _, r := range q.run.Records {
		if !traffic(r) || r.HTTP.Method != "PUT" || !slices.Contains(nodes, r.Node) {
			continue
		}
		l := lane{r.Node, r.HTTP.Method, strings.TrimPrefix(r.HTTP.Path, ObjectsPath)}
		if lanes[l] == nil {
			lanes[l] = &state{served: begin}
			order = append(order, l)
		}
		s := lanes[l]
		if r.At < begin || r.HTTP.Sent > end {
			continue
		}
		s.asked++
		if r.HTTP.Status != 200 {
			continue
		}
		q.gap(l, s.served, r.At, s.n, r.N)
		s.served, s.n = max(s.served, r.At), r.N
		s.ok++
	}
	asked, ok := 0, 0
	for _, l := range order {
		s := lanes[l]
		if s.asked == 0 {
			q.missing("%s was not asked for %s during the attacks", l.node, l.object)
			continue
		}
		q.gap(l, s.served, end, s.n, s.n)
		asked, ok = asked+s.asked, ok+s.ok
	}
	if len(order) == 0 {
		q.missing("nobody asked for anything")
		return
	}
	q.fact("%d of %d commits answered with ok", ok, asked)
}

// gap judges the time between two answers of ok.
func (q *inquiry) gap(l lane, from, to journal.Time, before, after int) {
	d := to.Sub(from)
	if q.tightest == nil || servedMost-d < q.tightest.Slack {
		q.tightest = &Margin{What: "longest without an ok", Value: d, Most: servedMost,
			Slack: servedMost - d}
		q.cite(max(1, before), max(1, after))
	}
	if d > servedMost {
		q.cite(max(1, before), max(1, after))
		q.blame(from, to)("%s through %s was without an ok for %s, from %s", l.object, l.node,
			seconds(d), from)
	}
}
