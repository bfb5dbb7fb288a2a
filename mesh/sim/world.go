package sim

import (
	"crypto/ed25519"
	"strings"

	"golang.org/x/crypto/blake2s"

	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/wire"
)

// world is everything that one seed determines.
type world struct {
	random   random
	plan     plan
	now      Time
	machines []*machine // the authority first, the clone last
	clone    *machine   // nil in most worlds
	network  network
	clients  []*client
	judge    judge
	tokens   [machinesMax][]minted

	timers  []timer
	trap    *machine // is stopped at its next commit
	trapHow power
	trouble Time // when the next fault comes

	events int64
	hash   uint64
	log    *strings.Builder
	names  *strings.Replacer
}

const (
	membersMax  = 4
	machinesMax = 1 + membersMax + 1 // with a clone
	prefix      = wire.PrefixSize
)

// objectNames are the objects that worlds know: the lab's, and some that exist once somebody
// commits them.
var (
	objectNames = []string{"lab-0", "lab-1", "lab-2", "lab-3", "lab-4", "lab-5", "lab-6", "lab-7",
		"new-0", "new-1", "new-2", "new-3"}
	labNames = objectNames[:8]
	objects  = func() []id.Object {
		ids := make([]id.Object, len(objectNames))
		for i, name := range objectNames {
			ids[i] = id.ObjectOf(name)
		}
		return ids
	}()
)

// keys are what the nodes of all worlds have: who is whose home differs by which of them a world
// draws.
var keys = func() (ks [16]ed25519.PrivateKey) {
	for i := range ks {
		seed := blake2s.Sum256([]byte{'s', 'i', 'm', byte(i)})
		ks[i] = ed25519.NewKeyFromSeed(seed[:])
	}
	return ks
}()

// newWorld makes the world of a seed, with every machine off.
func newWorld(seed uint64, draw func(*random) plan) *world {
	w := &world{random: random{seed}, hash: offset, trouble: never}
	w.plan = draw(&w.random)
	w.network.w, w.judge.w = w, w
	first := w.random.below(len(keys))
	keyOf := func(i int) ed25519.PrivateKey { return keys[(first+i*3)%len(keys)] }
	root := keyOf(0).Public().(ed25519.PublicKey)
	for i := range 1 + w.plan.members {
		m := newMachine(w, []string{"root", "n1", "n2", "n3", "n4"}[i], keyOf(i), root)
		if i > 0 {
			w.machines[0].config.Allow = append(w.machines[0].config.Allow, m.id)
		}
	}
	w.machines[0].chip = newChip()
	if w.plan.twin {
		w.clone = newMachine(w, "n1-twin", keyOf(1), root)
	}
	for _, m := range w.machines {
		m.path.up.clean(&w.plan)
		m.path.down.clean(&w.plan)
		w.tokens[m.index] = make([]minted, len(objects))
	}
	for i := range w.plan.clients {
		w.clients = append(w.clients, newClient(w, i))
	}
	w.judge.begin()
	return w
}

// timer is something that is to happen at a time.
type timer struct {
	at Time
	do func()
}

// later plans something.
func (w *world) later(d Time, do func()) { w.timers = append(w.timers, timer{w.now + d, do}) }

// run moves true time on to end, or until done says so, or something is wrong.
func (w *world) run(end Time, done func() bool) bool {
	for w.judge.verdict == "" {
		if done != nil && done() {
			return true
		}
		at, act := w.next()
		if at > end {
			w.now = max(w.now, end)
			return false
		}
		w.now = max(w.now, at)
		w.judge.pace()
		w.act(act)
	}
	return false
}

// action names the earliest thing to happen.
type action struct {
	what what
	i, j int // which timer, machine, link and end, or client
}

type what uint8

const (
	nothing what = iota
	timed
	faulty
	looks
	arrives
	gives
	writes
	ticks
	dials
	acts
)

// next finds the earliest thing to happen. Of two at the same time the first in this order does.
func (w *world) next() (Time, action) {
	first, act := never, action{}
	sooner := func(at Time, what what, i, j int) {
		if at < first {
			first, act = at, action{what, i, j}
		}
	}
	for i := range w.timers {
		sooner(w.timers[i].at, timed, i, 0)
	}
	sooner(w.trouble, faulty, 0, 0)
	sooner(w.judge.at, looks, 0, 0)
	for i, l := range w.network.links {
		for j := range l.ends {
			sooner(l.ends[j].due(), arrives, i, j)
			sooner(l.ends[j].silent(), gives, i, j)
		}
	}
	for i, m := range w.machines {
		if m.runs() {
			sooner(m.chip.at, writes, i, 0)
			sooner(m.tick, ticks, i, 0)
			sooner(m.dial.at, dials, i, 0)
		}
	}
	for i, c := range w.clients {
		sooner(c.at, acts, i, 0)
	}
	return first, act
}

func (w *world) act(a action) {
	switch a.what {
	case timed:
		do := w.timers[a.i].do
		last := len(w.timers) - 1
		w.timers[a.i] = w.timers[last]
		w.timers = w.timers[:last]
		do()
	case faulty:
		w.trouble = w.now + w.random.upTo(2*w.plan.between)
		if f, ok := w.plan.pick(&w.random); ok {
			f.happen(w)
		}
	case looks:
		w.judge.lookAtAll()
	case arrives:
		l := w.network.links[a.i]
		w.network.deliver(l, &l.ends[a.j])
	case gives:
		l := w.network.links[a.i]
		w.network.giveUp(l, &l.ends[a.j])
	case writes:
		w.machines[a.i].chip.goOn(w)
	case ticks:
		m := w.machines[a.i]
		m.step(mesh.Tick{Second: m.calendar()})
	case dials:
		w.machines[a.i].dialGoesOn()
	case acts:
		w.clients[a.i].act()
	}
}

// print takes a line of evidence.
func (w *world) print(m *machine, l evidence.Line) {
	w.judge.printed(m, l)
	w.hashText(m, l.String())
	if w.log != nil {
		w.say(m, "| "+w.names.Replace(l.String()))
	}
}

// answered takes an answer of a node.
func (w *world) answered(m *machine, a mesh.Answer) {
	found, ok := m.answered(a.Ticket)
	if !ok {
		w.judge.wrong(m, "answers an operation twice")
		return
	}
	w.hashByte(byte(a.Status))
	if found.client != nil {
		found.client.answered(m, a)
	}
}
