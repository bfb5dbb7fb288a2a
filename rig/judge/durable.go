package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
	"holdfast/rig/journal"
	"holdfast/rig/judge/linear"
)

// outcome is what a client knows of a commit of its.
type outcome uint8

const (
	unknown      outcome = iota // it may have been done, or be done later
	refusedOne                  // it was not done, and never will be
	acknowledged                // it was done
)

// wish is a commit as its client sees it: all requests of one name are one.
type wish struct {
	object, value string
	requests      []journal.Record // in the order in which they were sent
	outcome       outcome
	answered      journal.Record // the first answer with ok
	version       uint64
	copied        bool // every member of the view stores it
	asked         bool // for that
}

// wishes returns the commits that clients asked for, in the order in which they first did.
func (r *Run) wishes() []*wish {
	var all []*wish
	named := make(map[[2]string]*wish)
	for _, record := range r.Records {
		name, object := "", ""
		if traffic(record) && record.HTTP.Method == "PUT" {
			object = strings.TrimPrefix(record.HTTP.Path, ObjectsPath)
			name = cmp.Or(record.HTTP.Request, strconv.Itoa(record.N))
		}
		if object == "" {
			continue
		}
		w := named[[2]string{object, name}]
		if w == nil {
			w = &wish{object: object, value: record.HTTP.Value}
			named[[2]string{object, name}] = w
			all = append(all, w)
		}
		w.requests = append(w.requests, record)
	}
	for _, w := range all {
		slices.SortStableFunc(w.requests, func(a, b journal.Record) int {
			return cmp.Compare(a.HTTP.Sent, b.HTTP.Sent)
		})
		r.settle(w)
	}
	slices.SortStableFunc(all, func(a, b *wish) int {
		return cmp.Compare(a.requests[0].HTTP.Sent, b.requests[0].HTTP.Sent)
	})
	return all
}

// settle finds out what the client knows at the end.
func (r *Run) settle(w *wish) {
	w.outcome = refusedOne
	w.asked = w.requests[0].HTTP.Durability == wire.Replicated.String()
	for _, record := range w.requests {
		d, err := r.readDone(record)
		switch h := record.HTTP; {
		case h.Status == 200 && h.Error == "" && err == nil:
			if w.outcome == acknowledged && record.At >= w.answered.At {
				continue
			}
			w.outcome, w.answered, w.version = acknowledged, record, d.version
			w.copied = h.Header["durability"] == wire.Replicated.String()
		case w.outcome == acknowledged:
		case h.Status == 0 || h.Error != "" || h.Status == 200 ||
			word(h) == refusal.UnknownOutcome.String() || word(h) == refusal.Replay.String():
			w.outcome = unknown
		}
	}
}

// KeptPrefix begins the names of the objects that steps commit one by one.
const KeptPrefix = "kept-"

// Durable asks whether every commit that was acknowledged as replicated is found afterwards: a read
// that was asked for later gives its value, or one of a later version.
//
// With epochs, objects were committed before the first of them, and all were read in each of them.
// What was asked for as replicated counts then, also where a node that was alone in its view
// answered that it has one copy: in faults that name epochs, nobody dies that held the only copy.
func Durable(epochs ...id.Epoch) Check {
	claim := "every commit that was acknowledged as replicated is found by every later read: its " +
		"value, or a later one; nothing that was refused is found, and nothing twice"
	if len(epochs) > 0 {
		claim += fmt.Sprintf("; everything was looked for at epochs %v", epochs)
	}
	return Check{
		Name: "nothing-lost", Source: "spec 5",
		Claim: claim,
		ask:   func(q *inquiry) { q.durable(epochs) },
	}
}

func (q *inquiry) durable(epochs []id.Epoch) {
	wishes := q.run.wishes()
	reads := make(map[string][]done) // by object, in the order in which they were asked for
	for _, d := range append(q.history(), q.nothings()...) {
		if !d.commit {
			reads[d.object] = append(reads[d.object], d)
		}
	}
	for _, all := range reads {
		slices.SortStableFunc(all, func(a, b done) int { return cmp.Compare(a.from, b.from) })
	}
	if len(epochs) > 0 {
		for _, w := range wishes {
			w.copied = w.copied || w.asked && w.outcome == acknowledged
		}
	}
	counts := make(map[outcome]int)
	local, lost := 0, 0
	for _, w := range wishes {
		counts[w.outcome]++
		if w.outcome == acknowledged && !w.copied {
			local++
			continue
		}
		lost += q.keeps(w, reads[w.object])
	}
	lost += q.distinct(wishes)
	q.neverDone(wishes, reads)
	q.lookedFor(wishes, reads, epochs)
	if counts[acknowledged] == local {
		q.missing("no commit was acknowledged as replicated")
	}
	if n := len(q.wrong); n > wrongMost {
		q.wrong = append(q.wrong[:wrongMost], fmt.Sprintf("and %d more", n-wrongMost))
	}
	q.watched()
	q.fact("commits acknowledged %d, unknown %d, refused %d, lost %d; %d local ones besides",
		counts[acknowledged]-local, counts[unknown], counts[refusedOne], lost, local)
}

// wrongMost is how many findings are told one by one.
const wrongMost = 3

// keeps returns 1 when an acknowledged commit has been lost, and else 0.
func (q *inquiry) keeps(w *wish, reads []done) int {
	if w.outcome != acknowledged {
		return 0
	}
	for _, d := range reads {
		if d.from < w.answered.At || d.version > w.version ||
			d.version == w.version && d.value == w.value {
			continue
		}
		q.cite(w.answered.N, d.n)
		q.violated("%s: version %d, %q, was acknowledged to %s at %s, and %s gives version %d, %q",
			w.object, w.version, w.value, w.answered.Node, w.answered.At, d.what(), d.version, d.value)
		return 1
	}
	return 0
}

// distinct returns how many acknowledged commits have another one's version.
func (q *inquiry) distinct(wishes []*wish) (lost int) {
	type version struct {
		object string
		number uint64
	}
	made := make(map[version]*wish)
	for _, w := range wishes {
		if w.outcome != acknowledged || !w.copied {
			continue
		}
		v := version{w.object, w.version}
		if other := made[v]; other != nil {
			lost++
			q.cite(other.answered.N, w.answered.N)
			q.violated("%s: version %d was acknowledged for %q and for %q", w.object, w.version,
				other.value, w.value)
		}
		made[v] = w
	}
	return lost
}

// neverDone violates when something that was refused was done, or something was done twice: a value
// that was asked for under one name has one version wherever it is seen.
func (q *inquiry) neverDone(wishes []*wish, reads map[string][]done) {
	byValue := make(map[[2]string]*wish) // nil: of several
	for _, w := range wishes {
		key := [2]string{w.object, w.value}
		if _, another := byValue[key]; another {
			byValue[key] = nil
			continue
		}
		byValue[key] = w
		for _, record := range w.requests {
			d, err := q.run.readDone(record)
			if err == nil && record.HTTP.Status == 200 && d.version != w.version {
				q.cite(w.answered.N, record.N)
				q.violated("%s: %q was done as version %d and as version %d", w.object, w.value,
					w.version, d.version)
			}
		}
	}
	seen := make(map[*wish]done)
	for _, object := range slices.Sorted(maps.Keys(reads)) {
		for _, d := range reads[object] {
			w := byValue[[2]string{object, d.value}]
			if w == nil {
				continue
			}
			before, again := seen[w]
			seen[w] = d
			switch {
			case w.outcome == refusedOne:
				q.cite(w.requests[0].N, d.n)
				q.violated("%s: %q was refused with %s, and %s gives it", object, w.value,
					word(w.requests[0].HTTP), d.what())
			case w.outcome == acknowledged && d.version != w.version:
				q.cite(w.answered.N, d.n)
				q.violated("%s: %q was acknowledged as version %d, and %s gives it", object, w.value,
					w.version, d.what())
			case again && before.version != d.version:
				q.cite(before.n, d.n)
				q.violated("%s: %q is found as version %d and as version %d", object, w.value,
					before.version, d.version)
			}
		}
	}
}

// lookedFor leaves the question open for objects that nobody has read since the last acknowledged
// commit, or in one of the epochs.
func (q *inquiry) lookedFor(wishes []*wish, reads map[string][]done, epochs []id.Epoch) {
	last := make(map[string]*wish) // acknowledged, by object
	before := false
	for _, w := range wishes {
		if w.outcome == acknowledged && w.copied && len(epochs) > 0 {
			d, err := q.run.readDone(w.answered)
			before = before || err == nil && d.homeEpoch < epochs[0]
		}
		if b := last[w.object]; w.outcome == acknowledged && w.copied &&
			(b == nil || w.answered.At > b.answered.At) {
			last[w.object] = w
		}
	}
	if len(epochs) > 0 && !before {
		q.missing("no commit was acknowledged before epoch %v", epochs[0])
	}
	for _, object := range slices.Sorted(maps.Keys(last)) {
		w := last[object]
		q.cite(w.answered.N)
		n := len(reads[object])
		if n == 0 || reads[object][n-1].from < w.answered.At {
			q.missing("%s was not read after its last commit", object)
			continue
		}
		q.cite(reads[object][n-1].n)
		for _, e := range epochs {
			at := slices.IndexFunc(reads[object], func(d done) bool { return d.epoch == e })
			if at < 0 {
				q.missing("%s was not read at epoch %v", object, e)
				continue
			}
			q.cite(reads[object][at].n)
		}
	}
}

// historyLimit bounds the search for an order of one object's history.
const historyLimit = 10 * time.Second

// Linearizable asks whether the history of each object is one that a register can have had: package
// linear has the question, history.html the picture. The lab's objects are left out: a lab move
// gives its home an epoch that a later view may have too, so that two homes of theirs look like
// one.
func Linearizable() Check {
	return Check{
		Name: "linearizable", Source: "spec 5",
		Claim: "each commit and each read took place at one instant between its request and its " +
			"answer, as at a single register; only local commits may be lost when the home changes",
		ask: func(q *inquiry) {
			answer := linear.Check(q.run.withoutLab(), historyLimit)
			q.cite(answer.Records...)
			switch answer.Outcome {
			case linear.Broken:
				if q.run.End.Outcome == "" {
					// The rig was killed, and of the requests that were under way then nothing is known.
					q.missing("no order explains the history of %s, which may lack requests",
						strings.Join(answer.Broken, ", "))
					break
				}
				q.violated("no order explains the history of %s", strings.Join(answer.Broken, ", "))
			case linear.Unknown:
				q.missing("no order was found for a history of %d acts", answer.Acts)
			case linear.Linearizable:
				q.cite(len(q.run.Records))
			}
			q.watched()
			q.fact("%d acts on %d objects", answer.Acts, answer.Objects)
		},
	}
}

// withoutLab is the records but those of requests for the lab's objects.
func (r *Run) withoutLab() []journal.Record {
	return slices.DeleteFunc(slices.Clone(r.Records), func(record journal.Record) bool {
		return record.Kind == journal.KindHTTP && (!traffic(record) ||
			slices.ContainsFunc(r.Info.Objects, func(o journal.Object) bool {
				return record.HTTP.Path == ObjectsPath+o.Name
			}))
	})
}
