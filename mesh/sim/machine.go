package sim

import (
	"crypto/ed25519"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
)

// machine is a node's hardware, and the adapter that carries out what the node asks for.
type machine struct {
	w      *world
	index  int // in world.machines: the authority is 0
	name   string
	key    ed25519.PrivateKey
	public ed25519.PublicKey
	id     id.Node
	config mesh.Config

	power    power
	node     *mesh.Node // the latest boot's, also when it is off
	look     mesh.Inspector
	boots    int
	booted   Time
	died     Time         // when it was switched off last, if it is off
	halted   Time         // when it was stopped last, if it is
	idle     Time         // for how long it had been stopped before that, in all
	touched  Time         // when something was last done to it, by the authority's running time
	peaceful bool         // nothing had been done to it before it was switched off
	heard    when.Instant // by its counter, when the latest frame arrived

	clock  clock // the counter: zero at boot
	second clock // goes on for ever
	blind  bool  // the second clock does not answer

	tick    Time        // when the next one comes
	staged  mesh.Ticket // a Recheck to be answered first when it runs again
	chip    chip        // the authority's
	path    path        // a member's, to the authority and back
	dial    dialler     // a member's
	free    [][]mesh.Effect
	depth   int             // of steps that are being carried out
	rest    [][]mesh.Effect // not carried out when it was stopped, the innermost step's first
	waiting []waiting       // operations without an answer
	tickets mesh.Ticket

	seen seen // by the judge
}

// power is whether a machine runs.
type power uint8

const (
	off power = iota
	running
	stopped // does not run; its counter goes on, as under SIGSTOP
	frozen  // does not run, and its counter stands still, as under its monitor's stop
)

func (m *machine) runs() bool { return m.power == running }
func (m *machine) on() bool   { return m.power != off }
func (m *machine) root() bool { return m.index == 0 }

// counter and calendar are the machine's clocks, read now.
func (m *machine) counter() when.Instant { return m.clock.counter(m.w.now) }

func (m *machine) calendar() when.Calendar {
	if !m.config.Both || m.blind {
		return when.NoSecond
	}
	return m.second.calendar(m.w.now)
}

// newMachine makes a machine that is off. Its second clock has an error and a phase of its own.
func newMachine(w *world, name string, key ed25519.PrivateKey, root ed25519.PublicKey) *machine {
	m := &machine{w: w, index: len(w.machines), name: name, key: key}
	m.public = key.Public().(ed25519.PublicKey)
	m.id = id.NodeOf(m.public)
	m.chip.at, m.dial.at = never, never
	m.second = clock{shown: int64(w.random.upTo(Hour)), fast: w.random.ppm(w.plan.secondRate)}
	m.config = mesh.Config{Role: mesh.Member, Key: key, Root: root, Epoch: 1,
		Timing: timing.Default, Both: w.plan.both, Detect: w.plan.detect, Route: true, Lab: true,
		LabObject: labNames[:w.plan.objects]}
	if t := w.plan.acks; t != nil {
		m.config.Timing, m.config.Lab = *t, false
	}
	if m.root() {
		m.config.Role = mesh.Authority
	}
	w.machines = append(w.machines, m)
	return m
}

// boot switches a machine on that is off.
func (m *machine) boot() {
	w := m.w
	m.boots++
	m.heard = -timing.ReadLeaseMS // nothing
	m.booted, m.staged, m.rest, m.waiting = w.now, 0, nil, nil
	m.clock = clock{since: w.now, fast: w.random.ppm(w.plan.rate)}
	m.config.Boot = id.Boot(w.random.next() | 1)
	for i := range m.config.Seed {
		m.config.Seed[i] = byte(w.random.next())
	}
	m.config.Marks = nil
	if m.root() && w.plan.marks {
		marks := m.chip.load()
		m.config.Marks = &marks
		w.judge.mayEmpty = marks.MayEmpty
	}
	w.say(m, "boots")
	w.touch(m)
	if m.root() {
		for _, x := range w.machines {
			w.touch(x)
		}
	}
	effects := m.take()
	node, err := mesh.New(0, m.config, effects)
	if err != nil {
		panic("sim: " + err.Error())
	}
	m.node, m.look, m.power = node, mesh.Inspect(node), running
	w.judge.booted(m)
	m.carry(effects)
	m.tickDue()
	if !m.root() {
		m.dialAt(w.now + w.random.upTo(50*Millisecond))
	}
}

// kill switches a machine off without a word.
func (m *machine) kill() {
	m.w.say(m, "is switched off")
	if m.on() && !m.runs() {
		m.idle += m.w.now - m.halted
	}
	m.peaceful = m.w.ran()-m.touched >= leftAlone
	m.w.touch(m)
	m.power, m.died, m.dial = off, m.w.now, dialler{at: never}
	m.chip.tear(m.w)
	m.w.judge.died(m)
	m.w.network.died(m)
	m.waiting = nil
}

// halt stops a machine, with its counter or without.
func (m *machine) halt(how power) {
	m.power, m.halted = how, m.w.now
	if how == frozen {
		m.clock.stop(m.w.now)
		m.w.judge.look(m)
	}
	m.w.say(m, []string{stopped: "is stopped", frozen: "is frozen"}[how])
}

// resume lets it run again. What was about to read the clocks reads them first; then what is
// overdue happens in either order.
func (m *machine) resume() {
	w := m.w
	if m.power == frozen {
		m.clock.start(w.now)
	}
	m.power = running
	m.idle += w.now - m.halted
	w.say(m, "runs again")
	if m.root() && w.plan.acks != nil {
		w.redials()
	}
	w.judge.look(m)
	rest := m.rest
	m.rest = nil
	m.depth++
	if ticket := m.staged; ticket != 0 {
		m.staged = 0
		m.step(mesh.Rechecked{Ticket: ticket, Second: m.calendar()})
	}
	for _, list := range rest {
		m.carry(&mesh.Effects{List: list})
	}
	m.depth--
	if m.power != running {
		return // it has been stopped at another commit
	}
	m.tickDue()
	if w.random.one(2) {
		m.tick = max(m.tick, w.now+w.random.upTo(Millisecond))
	}
	w.network.resumed(m)
}

// tickDue finds out when the next tick comes: when the node asks for it, as late as this world's
// machines are.
func (m *machine) tickDue() {
	m.tick = m.clock.reaches(m.w.now, int64(m.node.Deadline())*int64(Millisecond))
	if m.w.plan.late > 0 && m.tick != never {
		m.tick += m.w.random.upTo(m.w.plan.late)
	}
}

// session returns the machine's end of a session that is open there, nil when there is none.
func (m *machine) session(s mesh.Session) (*link, *end) {
	for _, l := range m.w.network.links {
		if e := l.end(m); l.id == s && e != nil && e.open {
			return l, e
		}
	}
	return nil, nil
}

// own is the node's own time now: its counter, without what that went back.
func (m *machine) own() when.Instant { return m.look.Time(m.counter()) }

// reaches is the true time at which the node's own time is first t.
func (m *machine) reaches(t when.Instant) Time {
	behind := m.own().Sub(m.counter())
	return m.clock.reaches(m.w.now, int64(t.Add(-behind))*int64(Millisecond))
}
