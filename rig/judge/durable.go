package judge

import (
	"fmt"
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

// KeptPrefix begins the names of the objects that Durable looks at.
const KeptPrefix = "kept-"

// Durable asks whether every commit that was acknowledged was found afterwards: at each of these
// epochs every object was read at its home, and no read that began after an acknowledgement had an
// older version, or another value of the same one. What was asked for as replicated counts, also
// where a node that was alone in its view answered that it has one copy: nobody that held the only
// copy dies in these faults.
//
// A commit of unknown outcome, or without an answer, may have been made or not.
func Durable(epochs ...id.Epoch) Check {
	return Check{
		Name: "nothing-lost", Source: "spec 5",
		Claim: fmt.Sprintf("every commit that was acknowledged as replicated is found at epochs %v",
			epochs),
		ask: func(q *inquiry) { q.durable(epochs) },
	}
}

// linearLimit bounds the search for an order of the acts on one object.
const linearLimit = 10 * time.Second

// Linearizable asks whether the answers about the objects of Durable can have come from one
// register for each (package linear; the picture is history.html). The lab's objects are left out:
// a lab move gives its home an epoch that a later view may have too, so that two homes of theirs
// look like one.
func Linearizable() Check {
	return Check{
		Name: "linearizable", Source: "spec 5",
		Claim: "every answer could have come from one register for each object",
		ask: func(q *inquiry) {
			r := linear.Check(keptRecords(q.run.Records), linearLimit)
			q.cite(r.Records...)
			switch r.Outcome {
			case linear.Broken:
				q.violated("no order of the acts explains the answers about %s", strings.Join(r.Broken, ", "))
			case linear.Unknown:
				q.missing("no answer within %v, or nothing was asked", linearLimit)
			default:
				for _, d := range q.history() {
					if strings.HasPrefix(d.object, KeptPrefix) {
						q.cite(d.n)
					}
				}
				q.fact("%d acts on %d objects", r.Acts, r.Objects)
			}
		},
	}
}

// keptRecords leaves out the requests that are not about the objects of Durable.
func keptRecords(records []journal.Record) []journal.Record {
	return slices.DeleteFunc(slices.Clone(records), func(r journal.Record) bool {
		return r.Kind == journal.KindHTTP && !strings.HasPrefix(r.HTTP.Path, ObjectsPath+KeptPrefix)
	})
}

// keptRead is an answered read of an object.
type keptRead struct {
	done
	epoch id.Epoch // of the node that was asked
}

// durable counts what became of the commits, and holds the reads against those acknowledged.
func (q *inquiry) durable(epochs []id.Epoch) {
	var acked []done
	var reads []keptRead
	unknown, refused := 0, 0
	for _, r := range q.run.Records {
		if r.Kind != journal.KindHTTP || !strings.HasPrefix(r.HTTP.Path, ObjectsPath+KeptPrefix) {
			continue
		}
		d, err := done{}, error(nil)
		answered := r.HTTP.Status == 200 && r.HTTP.Error == ""
		if answered {
			if d, err = readDone(r); err != nil {
				q.cite(r.N)
				q.violated("%s answered %s with ok and %v", r.Node, r.HTTP.Path, err)
				continue
			}
			d.object = strings.TrimPrefix(r.HTTP.Path, ObjectsPath)
		}
		switch put := r.HTTP.Method == "PUT"; {
		case put && answered:
			acked = append(acked, d)
		case put && maybeDone(r.HTTP):
			unknown++
		case put:
			refused++
		case answered && r.HTTP.Header["class"] == wire.Authoritative.String():
			epoch, _ := id.ParseEpoch(r.HTTP.Header["epoch"])
			reads = append(reads, keptRead{d, epoch})
		}
	}
	lost := q.lostOf(acked, reads)
	q.covered(acked, reads, epochs)
	q.fact("commits acknowledged %d, unknown %d, refused %d, lost %d", len(acked), unknown, refused,
		lost)
}

// maybeDone says whether a commit without an ok may have been made.
func maybeDone(h *journal.HTTP) bool {
	return h.Status == 0 || h.Error != "" ||
		strings.HasPrefix(h.Body, refusal.UnknownOutcome.String())
}

// lostOf reports the acknowledged commits that a later read does not have, and counts them.
func (q *inquiry) lostOf(acked []done, reads []keptRead) int {
	lost := 0
	for _, a := range acked {
		for _, r := range reads {
			if r.object != a.object || r.from < a.to {
				continue
			}
			older := r.version < a.version
			if older || r.version == a.version && r.value != a.value {
				lost++
				q.cite(a.n, r.n)
				q.violated("%s of %s was acknowledged with %s, and %s has %s: %s", a.what(), a.object,
					strconv.Quote(a.value), r.what(), strconv.Quote(r.value), lostHow[older])
				break
			}
		}
	}
	return lost
}

var lostHow = map[bool]string{true: "an older version", false: "another value of this version"}

// covered asks that the reads can show what the claim says: every acknowledged commit was followed
// by a read at every epoch, and there were commits before the first of them.
func (q *inquiry) covered(acked []done, reads []keptRead, epochs []id.Epoch) {
	if len(acked) == 0 {
		q.missing("no commit was acknowledged")
		return
	}
	objects := map[string]bool{}
	for _, a := range acked {
		if a.homeEpoch < epochs[0] {
			objects[a.object] = true
		}
	}
	if len(objects) == 0 {
		q.missing("no commit was acknowledged before epoch %v", epochs[0])
	}
	for _, epoch := range epochs {
		read := map[string]bool{}
		for _, r := range reads {
			if r.epoch == epoch {
				read[r.object] = true
				q.cite(r.n)
			}
		}
		for object := range objects {
			if !read[object] {
				q.missing("nobody read %s at epoch %v", object, epoch)
			}
		}
	}
}
