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

// world runs nodes in one process on one true clock, with links that deliver in order after a
// latency. A cut holds what is sent, as TCP does, until it is healed or the session ends.
type world struct {
	t       testing.TB
	now     when.Instant // true time
	latency when.Span
	nodes   []*machine
	links   []*link
	nextID  mesh.Session
	log     strings.Builder
	frames  bool // frames are logged too
	names   *strings.Replacer
}

// machine is a node's hardware: its counter starts at its boot.
type machine struct {
	name    string
	key     ed25519.PrivateKey
	config  mesh.Config
	node    *mesh.Node // nil while it is off
	started when.Instant
	stopped bool // does not run, its counter goes on
	boots   byte
	effects mesh.Effects
	answers []mesh.Answer
}

// link is one session between two machines, numbered the same at both.
type link struct {
	id    mesh.Session
	ends  [2]*machine
	cut   bool
	queue []packet
}

type packet struct {
	to   *machine
	at   when.Instant
	data []byte
}

func keyOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

var labNames = []string{"lab-0", "lab-1", "lab-2", "lab-3", "lab-4", "lab-5", "lab-6", "lab-7"}

// newWorld makes an authority and members, all off, that know each other.
func newWorld(t testing.TB, names ...string) *world {
	w := &world{t: t, now: 1000, latency: 1}
	root := keyOf(names[0])
	var replace []string
	var allow []id.Node
	for i, name := range names {
		m := &machine{name: name, key: keyOf(name)}
		m.config = mesh.Config{Role: mesh.Member, Key: m.key, Root: public(root), Epoch: 1,
			Timing: timing.Default, Detect: true, Route: true, Lab: true, LabObject: labNames}
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

func (m *machine) id() id.Node { return id.NodeOf(public(m.key)) }

// counter is the machine's own clock.
func (w *world) counter(m *machine) when.Instant { return when.Instant(w.now.Sub(m.started)) }

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
	m.started = w.now
	m.boots++
	m.config.Boot = id.Boot(m.boots)<<32 | id.Boot(m.id()[0])
	m.config.Seed = sha256.Sum256([]byte{m.id()[0], m.boots})
	node, err := mesh.New(0, m.config, &m.effects)
	if err != nil {
		w.t.Fatal(err)
	}
	m.node, m.stopped = node, false
	w.carryOut(m)
}

// kill ends a machine without a word: its sessions stay half-open at the other end.
func (w *world) kill(m *machine) { m.node = nil }

// connect opens a session between two running machines.
func (w *world) connect(a, b *machine) *link {
	w.nextID++
	l := &link{id: w.nextID, ends: [2]*machine{a, b}}
	w.links = append(w.links, l)
	w.step(b, mesh.LinkUp{Session: l.id, Key: public(a.key)})
	w.step(a, mesh.LinkUp{Session: l.id, Key: public(b.key)})
	return l
}

// disconnect ends a session at both ends.
func (w *world) disconnect(l *link) {
	w.links = slices.DeleteFunc(w.links, func(o *link) bool { return o == l })
	for _, m := range l.ends {
		w.step(m, mesh.LinkDown{Session: l.id})
	}
}

func (w *world) step(m *machine, in mesh.Input) {
	if m.node == nil {
		return
	}
	m.node.Step(w.counter(m), in, &m.effects)
	w.carryOut(m)
}

// carryOut does what a step asked for. Effects of nested steps replace the list, so it is copied.
func (w *world) carryOut(m *machine) {
	for _, e := range slices.Clone(m.effects.List) {
		switch e := e.(type) {
		case mesh.Print:
			if err := e.Line.Check(); err != nil {
				w.t.Errorf("%s printed what the grammar does not know: %v", m.name, err)
			}
			w.note(m, e.Line)
		case mesh.Send:
			w.transmit(m, e)
		case mesh.Recheck:
			w.step(m, mesh.Rechecked{Ticket: e.Ticket})
		case mesh.Drain:
			w.step(m, mesh.Drained{Session: e.Session})
		case mesh.Answer:
			m.answers = append(m.answers, e)
		case mesh.Close:
			fmt.Fprintf(&w.log, "%s %s closes a session: %s\n", stamp(w.now), m.name, e.Reason)
			if l := w.link(e.Session); l != nil {
				w.disconnect(l)
			}
		case mesh.Dial:
			fmt.Fprintf(&w.log, "%s %s dials\n", stamp(w.now), m.name)
			if other := w.nodes[0]; other.node != nil && !w.isCut(m) {
				w.connect(m, other)
			}
		}
	}
}

func (w *world) link(s mesh.Session) *link {
	for _, l := range w.links {
		if l.id == s {
			return l
		}
	}
	return nil
}

func (w *world) isCut(m *machine) bool {
	return slices.ContainsFunc(w.links, func(l *link) bool {
		return l.cut && (l.ends[0] == m || l.ends[1] == m)
	})
}

func (w *world) transmit(m *machine, e mesh.Send) {
	l := w.link(e.Session)
	if l == nil {
		return
	}
	to := l.ends[0]
	if to == m {
		to = l.ends[1]
	}
	if w.frames {
		_, f, err := wire.Parse(e.Data[wire.PrefixSize:])
		if err != nil {
			w.t.Errorf("%s sent a malformed frame: %v", m.name, err)
			return
		}
		fmt.Fprintf(&w.log, "%s %s -> %s %v\n", stamp(w.now), m.name, to.name, f.Kind())
	}
	l.queue = append(l.queue, packet{to, w.now.Add(w.latency), e.Data[wire.PrefixSize:]})
}

func (w *world) note(m *machine, l evidence.Line) {
	fmt.Fprintf(&w.log, "%s %s | %s\n", stamp(w.now), m.name, w.names.Replace(l.String()))
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

// next is the earliest thing to happen: deliveries before ticks.
func (w *world) next() (when.Instant, func()) {
	events := []event{{when.Never, nil}}
	for _, l := range w.links {
		if i := l.deliverable(); i >= 0 {
			events = append(events, event{l.queue[i].at, func() { w.deliver(l, i) }})
		}
	}
	for _, m := range w.nodes {
		if m.node != nil && !m.stopped {
			at := m.started.Add(when.Span(m.node.Deadline()))
			events = append(events, event{at, func() { w.step(m, mesh.Tick{}) }})
		}
	}
	first := slices.MinFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return first.at, first.act
}

// deliverable is the first packet that a running machine can take, -1 when there is none.
func (l *link) deliverable() int {
	if l.cut {
		return -1
	}
	return slices.IndexFunc(l.queue, func(p packet) bool { return p.to.node != nil && !p.to.stopped })
}

func (w *world) deliver(l *link, i int) {
	p := l.queue[i]
	l.queue = slices.Delete(l.queue, i, i+1)
	w.step(p.to, mesh.Frame{Session: l.id, Data: p.data})
}

// mint makes a capability for any object, held by the node that executes the step.
func (w *world) mint(holder *machine, object id.Object, epoch id.Epoch) []byte {
	c := capability.Mint(capability.Capability{Object: object, Holder: holder.id(), Epoch: epoch,
		Rights: capability.RightStat | capability.RightCommit, Serial: 1}, w.nodes[0].key)
	return c[:]
}

// labStep carries out a lab step with a capability for the object that it will take.
func (w *world) labStep(m *machine, number int, object string) string {
	m.answers = nil
	c := w.mint(m, id.ObjectOf(object), m.node.Status(w.counter(m)).Epoch)
	w.step(m, mesh.LabStep{Ticket: 1, Number: number, Capability: c})
	w.runUntil(w.now.Add(6000), func() bool { return len(m.answers) > 0 })
	if len(m.answers) == 0 {
		return "no answer"
	}
	a := m.answers[0]
	if a.Status != mesh.Done {
		return [...]string{"done", "lab off", "unknown step", "wrong role", "wrong order"}[a.Status]
	}
	return w.names.Replace(a.Line.String())
}
