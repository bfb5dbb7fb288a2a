package mesh_test

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// world runs nodes in one process on one true clock, in milliseconds. It is the adapter of each of
// them: it carries out their effects, and hands in what comes of that. network_test.go has the
// links between them. Nothing in it is random: the same commands give the same world.
type world struct {
	t       testing.TB
	now     when.Instant // true time
	latency when.Span    // of a new link, each way
	chip    when.Span    // how long the writing of marks takes
	nodes   []*machine   // the authority first
	links   []*link
	nextID  mesh.Session
	log     strings.Builder
	frames  bool // frames are logged too
	quiet   bool // nothing is logged
	names   *strings.Replacer

	requests uint64                 // of the client in scripts
	tickets  mesh.Ticket            // likewise
	asked    map[mesh.Ticket]string // likewise: what was asked

	// Hooks for tests that watch, nil for those that do not.
	stepped func(*machine, mesh.Input)
	recheck func(*machine) bool // whether the machine stops before it reads the clock again
}

// machine is a node's hardware. Its counter starts at its boot and runs with its own error.
type machine struct {
	name   string
	key    ed25519.PrivateKey
	config mesh.Config
	node   *mesh.Node // nil while it is off

	booted  when.Instant // true time
	fast    int64        // millionths by which its counter is fast
	jumped  when.Span    // how far its counter has been set, in all
	stopped bool         // does not run; its counter goes on
	staged  mesh.Ticket  // a Recheck to be answered first when it runs again

	isolated bool // what it dials does not answer
	dialling bool // until it does

	marks   *mesh.Marks // the authority's NVRAM, nil for none; what is written stays
	broken  bool        // it takes nothing any more
	write   *write      // under way
	boots   byte
	effects mesh.Effects
	answers []mesh.Answer
	got     map[wire.Kind][]byte // the latest frame of each kind, since it was first switched on
	kept    map[wire.Kind][]byte // what got was when a script said so
}

// write is marks on their way into the chip; without power they do not get there.
type write struct {
	at    when.Instant
	marks mesh.Marks
}

func keyOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

var labNames = []string{"lab-0", "lab-1", "lab-2", "lab-3", "lab-4", "lab-5", "lab-6", "lab-7"}

// newWorld makes an authority and members, all off, that know each other.
func newWorld(t testing.TB, names ...string) *world {
	w := &world{t: t, now: 1000, latency: 1, tickets: 100, asked: map[mesh.Ticket]string{}}
	var replace []string
	var allow []id.Node
	for i, name := range names {
		m := newMachine(name, public(keyOf(names[0])))
		if i == 0 {
			m.config.Role = mesh.Authority
		} else {
			allow = append(allow, m.id())
		}
		replace = append(replace, m.id().String(), name)
		w.nodes = append(w.nodes, m)
	}
	w.nodes[0].config.Allow = allow
	for _, name := range labNames {
		replace = append(replace, id.ObjectOf(name).String(), name)
	}
	w.names = strings.NewReplacer(replace...)
	return w
}

func newMachine(name string, root ed25519.PublicKey) *machine {
	m := &machine{name: name, key: keyOf(name), got: map[wire.Kind][]byte{}}
	m.config = mesh.Config{Role: mesh.Member, Key: m.key, Root: root, Epoch: 1,
		Timing: timing.Default, Detect: true, Route: true, Lab: true, LabObject: labNames}
	return m
}

// twin adds a machine that has another one's key: a copy of its NVRAM was started elsewhere.
func (w *world) twin(of *machine) *machine {
	m := newMachine(of.name+"-twin", of.config.Root)
	m.key, m.config, m.boots = of.key, of.config, 128
	w.nodes = append(w.nodes, m)
	return m
}

func (m *machine) id() id.Node { return id.NodeOf(public(m.key)) }

func (m *machine) running() bool { return m.node != nil && !m.stopped }

// counter is the machine's own clock.
func (w *world) counter(m *machine) when.Instant {
	true := int64(w.now.Sub(m.booted))
	return when.Instant(true + true*m.fast/1_000_000).Add(m.jumped)
}

// reaches is the true time, not before now, at which the machine's counter is first at or after c.
func (w *world) reaches(m *machine, c when.Instant) when.Instant {
	own := int64(c) - int64(m.jumped)
	t := max(w.now, m.booted.Add(when.Span(own*1_000_000/(1_000_000+m.fast))))
	saved := w.now
	defer func() { w.now = saved }()
	for w.now = t; w.counter(m) < c; w.now++ {
	}
	return w.now
}

func (w *world) machine(name string) *machine {
	for _, m := range w.nodes {
		if m.name == name {
			return m
		}
	}
	w.t.Fatalf("no machine %q", name)
	return nil
}

// boot starts a machine that is off.
func (w *world) boot(m *machine) {
	m.booted, m.jumped, m.stopped, m.staged = w.now, 0, false, 0
	m.boots++
	m.config.Boot = id.Boot(m.boots)<<32 | id.Boot(m.id()[0])
	m.config.Seed = sha256.Sum256([]byte{m.id()[0], m.boots})
	m.config.Marks = nil
	if m.marks != nil {
		marks := *m.marks
		m.config.Marks = &marks
	}
	node, err := mesh.New(0, m.config, &m.effects)
	if err != nil {
		w.t.Fatal(err)
	}
	m.node = node
	if w.stepped != nil {
		w.stepped(m, nil)
	}
	w.carryOut(m)
}

// kill ends a machine without a word: its sessions stay half-open at the other end.
func (w *world) kill(m *machine) {
	m.node, m.dialling, m.write = nil, false, nil
	for _, l := range w.linksOf(m) {
		l.end(m).open = false
	}
	w.sweep()
}

// resume lets a stopped machine run. A clock that it was about to read again is read first.
func (w *world) resume(m *machine) {
	m.stopped = false
	if ticket := m.staged; ticket != 0 {
		m.staged = 0
		w.step(m, mesh.Rechecked{Ticket: ticket, Second: w.second()})
	}
}

func (w *world) tick(m *machine) { w.step(m, mesh.Tick{Second: w.second()}) }

// halt stops a machine and its counter, as a virtual machine's monitor does.
func (w *world) halt(m *machine, d when.Span) {
	m.stopped = true
	before := w.counter(m)
	w.run(d)
	m.jumped += before.Sub(w.counter(m))
	w.resume(m)
}

func (w *world) step(m *machine, in mesh.Input) {
	if m.node == nil {
		return
	}
	m.node.Step(w.counter(m), in, &m.effects)
	effects := slices.Clone(m.effects.List) // a nested step replaces the list
	if w.stepped != nil {
		w.stepped(m, in)
	}
	w.carry(m, effects)
}

func (w *world) carryOut(m *machine) { w.carry(m, slices.Clone(m.effects.List)) }

func (w *world) carry(m *machine, effects []mesh.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case mesh.Print:
			w.note(m, e.Line)
		case mesh.Send:
			w.transmit(m, e)
		case mesh.Recheck:
			w.rechecks(m, e.Ticket)
		case mesh.Persist:
			if w.chip == 0 {
				w.persist(m, e.Marks)
				continue
			}
			if m.write != nil {
				w.t.Errorf("%s writes its marks twice at a time", m.name)
			}
			m.write = &write{w.now.Add(w.chip), e.Marks}
		case mesh.Drain:
			w.step(m, mesh.Drained{Session: e.Session})
		case mesh.Answer:
			m.answers = append(m.answers, e)
			w.answered(m, e)
		case mesh.Close:
			w.say("%s closes a session: %s", m.name, e.Reason)
			w.hangUp(m, e.Session)
		case mesh.Dial:
			w.say("%s dials", m.name)
			w.dial(m)
		}
	}
}

// answered prints the answer to a request of a script.
func (w *world) answered(m *machine, a mesh.Answer) {
	what, ok := w.asked[a.Ticket]
	if !ok {
		return
	}
	delete(w.asked, a.Ticket)
	r := &a.Reply
	more := ""
	if r.Class == wire.StaleOK {
		more = fmt.Sprintf(" age_ms=%d", r.AgeMS)
	}
	if r.Durability != wire.None {
		more = fmt.Sprintf(" durability=%s copies=%d", r.Durability, r.Copies)
	}
	if len(r.Value) > 0 {
		more += " value=" + string(r.Value)
	}
	w.say("%s answers %s: %s version=%d home=%s%s", m.name, what, r.Word, r.Version,
		w.names.Replace(r.Home.String()), more)
}

func (w *world) rechecks(m *machine, ticket mesh.Ticket) {
	if w.recheck != nil && w.recheck(m) {
		m.stopped, m.staged = true, ticket
		return
	}
	w.step(m, mesh.Rechecked{Ticket: ticket, Second: w.second()})
}

// persist is the authority's chip.
func (w *world) persist(m *machine, marks mesh.Marks) {
	in := mesh.Persisted{}
	switch {
	case m.broken:
		in.Err = mesh.PersistFailed
	case m.marks.Signed > marks.Signed || m.marks.Activated > marks.Activated:
		in.Err = mesh.PersistHigher
	default:
		*m.marks = marks
	}
	w.step(m, in)
}

func (w *world) written(m *machine) {
	marks := m.write.marks
	m.write = nil
	w.persist(m, marks)
}

// second is what every machine's second clock shows: true time in whole seconds.
func (w *world) second() when.Calendar { return when.Calendar(w.now / 1000) }

func (w *world) note(m *machine, l evidence.Line) {
	if err := l.Check(); err != nil {
		w.t.Errorf("%s printed what the grammar does not know: %v", m.name, err)
	}
	if !w.quiet {
		w.say("%s | %s", m.name, w.names.Replace(l.String()))
	}
}

// say adds a line to the log.
func (w *world) say(format string, args ...any) {
	if !w.quiet {
		fmt.Fprintf(&w.log, "%s "+format+"\n", append([]any{stamp(w.now)}, args...)...)
	}
}

func stamp(t when.Instant) string { return fmt.Sprintf("%3d.%03d", t/1000, t%1000) }

// run moves true time on by d, delivering and ticking in order of time.
func (w *world) run(d when.Span) { w.runUntil(w.now.Add(d), func() bool { return false }) }

// runUntil stops at end, or as soon as done says so. It reports whether done did.
func (w *world) runUntil(end when.Instant, done func() bool) bool {
	for !done() {
		at, act := w.next()
		if at > end {
			w.now = end
			return false
		}
		w.now = max(w.now, at)
		act()
	}
	return true
}

type event struct {
	at  when.Instant
	act func()
}

// next is the earliest thing to happen: deliveries before ticks, in the order of their links.
func (w *world) next() (when.Instant, func()) {
	first := event{when.Never, nil}
	sooner := func(at when.Instant, act func()) {
		if cmp.Compare(at, first.at) < 0 {
			first = event{at, act}
		}
	}
	for _, l := range w.links {
		for i := range l.ends {
			if e := &l.ends[i]; e.deliverable() {
				sooner(e.queue[0].at, func() { w.deliver(l, e) })
			}
		}
	}
	for _, m := range w.nodes {
		if m.running() && m.write != nil {
			sooner(m.write.at, func() { w.written(m) })
		}
		if m.running() {
			sooner(w.reaches(m, m.node.Deadline()), func() { w.tick(m) })
		}
	}
	return first.at, first.act
}

// mint makes a capability for any object, held by the node that executes the step.
func (w *world) mint(holder *machine, object id.Object, epoch id.Epoch) []byte {
	c := capability.Mint(capability.Capability{Object: object, Holder: holder.id(), Epoch: epoch,
		Rights: capability.RightStat | capability.RightCommit, Serial: 1}, w.nodes[0].key)
	return c[:]
}

// launch asks for a lab step with a capability for the object that it will take.
func (w *world) launch(m *machine, number int, object string) {
	c := w.mint(m, id.ObjectOf(object), max(1, m.node.Status(w.counter(m)).Epoch))
	w.step(m, mesh.LabStep{Ticket: 1, Number: number, Capability: c})
}

// labStep launches a lab step and waits for its answer.
func (w *world) labStep(m *machine, number int, object string) string {
	m.answers = nil
	w.launch(m, number, object)
	w.runUntil(w.now.Add(6000), func() bool { return len(m.answers) > 0 })
	if len(m.answers) == 0 {
		return "no answer"
	}
	a := m.answers[0]
	if a.Status != mesh.Done {
		return [...]string{"done", "lab off", "unknown step", "wrong role", "wrong order",
			"unfinished"}[a.Status]
	}
	return w.names.Replace(a.Lines[0].String())
}

// request asks a node for a lease read, as a client does, with a capability of that epoch.
func (w *world) request(m *machine, object string, epoch id.Epoch) {
	q := mesh.Request{Ticket: 1, Name: object, Op: wire.Stat, Class: wire.Lease,
		IfVersion: wire.AnyVersion}
	q.Capability = [capability.Size]byte(w.mint(m, id.ObjectOf(object), epoch))
	w.step(m, q)
}
