package mesh_test

import (
	"fmt"
	"hash/fnv"
	"io"
	"slices"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
)

// objectNames are the objects that walks know: the lab's, and some that exist once somebody commits
// them.
var objectNames = append(slices.Clone(labNames), "new-0", "new-1", "new-2", "new-3")

var objects = func() []id.Object {
	ids := make([]id.Object, len(objectNames))
	for i, name := range objectNames {
		ids[i] = id.ObjectOf(name)
	}
	return ids
}()

// judge watches a world and says what must never happen. It looks after every step, at the true
// time of it: a node's right to commit begins with a step only and ends with time, so that whatever
// two nodes may do at the same instant, they may do right after the step of one of them.
type judge struct {
	w    *world
	sum  io.Writer // of every effect
	hash func() uint64

	epochs   map[*machine]id.Epoch // highest seen in this boot
	digests  map[id.Epoch]id.Digest
	versions map[*machine][]uint64
	asked    map[*machine]map[mesh.Ticket]when.Instant // steps without an answer, since when
	tickets  mesh.Ticket

	// adr judges by the lease of the ADR as it was written: it counts from the arrival of any frame
	// of the authority, and nothing takes it away.
	adr    bool
	frames map[*machine]when.Instant // when the latest one arrived, by the machine's counter

	commits int    // published
	wrong   string // the first violation
}

func newJudge(w *world) *judge {
	h := fnv.New64a()
	j := &judge{w: w, sum: h, hash: h.Sum64, epochs: map[*machine]id.Epoch{},
		digests: map[id.Epoch]id.Digest{}, versions: map[*machine][]uint64{},
		asked:  map[*machine]map[mesh.Ticket]when.Instant{},
		frames: map[*machine]when.Instant{}}
	w.stepped = j.stepped
	return j
}

func (j *judge) violation(format string, args ...any) {
	if j.wrong == "" {
		j.wrong = stamp(j.w.now) + " " + fmt.Sprintf(format, args...)
	}
}

// stepped judges after a step of m, before its effects are carried out. No input is a boot.
func (j *judge) stepped(m *machine, in mesh.Input) {
	if in == nil {
		j.epochs[m] = 0
		j.versions[m] = make([]uint64, len(objects))
		j.asked[m] = map[mesh.Ticket]when.Instant{}
		delete(j.frames, m)
	}
	if _, ok := in.(mesh.Frame); ok && m != j.w.nodes[0] {
		j.frames[m] = j.w.counter(m)
	}
	if in, ok := in.(mesh.LabStep); ok {
		j.asked[m][in.Ticket] = m.node.Now()
	}
	j.oneHome(m)
	j.views(m)
	j.answers(m)
	if err := m.node.CheckBounds(); err != nil {
		j.violation("%s: too many %v", m.name, err)
	}
	for _, e := range m.effects.List {
		fmt.Fprintf(j.sum, "%s %T %v\n", m.name, e, e)
	}
}

// oneHome is the promise: no two nodes may commit the same object.
func (j *judge) oneHome(m *machine) {
	held := j.versions[m]
	for i, o := range objects {
		if v := m.node.Version(o); v != held[i] {
			if v > held[i] && m.node.Holds(o) {
				j.commits++
			}
			if v > held[i] && m.node.Alone(o) { // what was sent to all others needs no lease
				j.alone(m, i, "has committed")
			}
			held[i] = v
		}
	}
	if !j.able(m) {
		return
	}
	for i, o := range objects {
		if m.node.Holds(o) {
			j.alone(m, i, "may commit")
		}
	}
}

func (j *judge) alone(m *machine, i int, does string) {
	for _, o := range j.w.nodes {
		if o != m && o.running() && o.node.Holds(objects[i]) && j.able(o) {
			j.violation("%s %s %s, and so may %s", m.name, does, objectNames[i], o.name)
		}
	}
}

// able reports whether a machine may commit now by itself. Without leases no member may.
func (j *judge) able(m *machine) bool {
	if m.config.Timing.AcksAll && m != j.w.nodes[0] {
		return false
	}
	if j.adr && m != j.w.nodes[0] {
		heard, ok := j.frames[m]
		return ok && m.node.Joined() && j.w.counter(m).Sub(heard) <= timing.WriteLeaseMS
	}
	return m.node.CanCommit(j.w.counter(m), j.w.second())
}

// views: a node's epoch never goes back, and one number names one view.
func (j *judge) views(m *machine) {
	epoch := m.node.Epoch()
	if epoch < j.epochs[m] {
		j.violation("%s went back from epoch %d to %d", m.name, j.epochs[m], epoch)
	}
	if epoch == j.epochs[m] {
		return
	}
	j.epochs[m] = epoch
	digest := m.node.Digest()
	if have, ok := j.digests[epoch]; ok && have != digest {
		j.violation("%s has another view of epoch %d", m.name, epoch)
	}
	j.digests[epoch] = digest
}

// launch asks for a lab step; every one gets exactly one answer.
func (j *judge) launch(m *machine, number, object int) {
	j.tickets++
	c := j.w.mint(m, id.ObjectOf(labNames[object]), max(1, m.node.Epoch()))
	j.w.step(m, mesh.LabStep{Ticket: j.tickets, Number: number, Capability: c})
}

// answerMS is how long an operation may wait for its answer, on the node's own time.
const answerMS = 5_000

func (j *judge) answers(m *machine) {
	for _, e := range m.effects.List {
		if a, ok := e.(mesh.Answer); ok {
			if _, waits := j.asked[m][a.Ticket]; !waits {
				j.violation("%s answers step %d twice", m.name, a.Ticket)
			}
			delete(j.asked[m], a.Ticket)
		}
	}
	for ticket, at := range j.asked[m] {
		if m.node.Now().Sub(at) >= answerMS {
			j.violation("%s has not answered step %d", m.name, ticket)
		}
	}
}
