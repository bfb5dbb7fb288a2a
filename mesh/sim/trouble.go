package sim

// fault is one kind of trouble.
type fault struct {
	name   string
	weight int              // at most, in the worlds that have it
	fits   func(*plan) bool // nil: every world
	happen func(*world)
}

// kinds are all of them. What lasts ends by itself, at a time that is drawn with it.
var kinds = []fault{
	{"cut", 4, nil, (*world).cutBoth},
	{"one-way", 4, nil, (*world).cutOne},
	{"flap", 2, nil, (*world).flap},
	{"lossy", 3, nil, (*world).lossy},
	{"slow", 3, nil, (*world).slow},
	{"bloat", 2, nil, (*world).bloat},
	{"reset", 2, nil, (*world).reset},
	{"corrupt", 2, nil, (*world).corrupt},
	{"half-open", 2, nil, (*world).halfOpen},
	{"dial", 1, nil, (*world).dialMore},
	{"kill", 3, nil, (*world).killMember},
	{"kill-root", 2, withMarks, (*world).killRoot},
	{"chip", 1, withMarks, (*world).chipRefuses},
	{"tear", 1, withMarks, (*world).tearChip},
	{"wipe", 1, withMarks, (*world).wipeChip},
	{"stop", 4, nil, (*world).stopSome},
	{"freeze", 3, nil, (*world).freezeSome},
	{"interrupt", 2, nil, (*world).interruptNext},
	{"back", 2, nil, (*world).clockBack},
	{"forward", 2, nil, (*world).clockForward},
	{"blind", 1, withBoth, (*world).blindSome},
	{"second", 1, withBoth, (*world).secondJumps},
	{"twin", 2, withTwin, (*world).twin},
	{"step", 6, withLab, (*world).operate},
	{"rude", 2, nil, (*world).rude},
	{"together", 4, nil, (*world).together},
	{"race", 3, withMembers, (*world).race},
}

func withMembers(p *plan) bool { return p.members > 1 }

func withMarks(p *plan) bool { return p.marks }
func withBoth(p *plan) bool  { return p.both }
func withTwin(p *plan) bool  { return p.twin }
func withLab(p *plan) bool   { return p.objects > 0 }

// lasts draws how long something lasts: around the bounds of the protocol more often than not.
func (w *world) lasts() Time {
	r := &w.random
	switch r.below(8) {
	case 0:
		return r.scale(5*Millisecond, Second)
	case 1, 2:
		return r.between(Second, 8*Second)
	case 3, 4:
		return r.between(5*Second, 14*Second)
	case 5:
		return r.between(11*Second, 13*Second)
	case 6:
		return r.between(100*Millisecond, 40*Second)
	}
	return r.scale(10*Second, 3*Minute)
}

// together is several faults within a moment, as when a rack loses its power: the protocol's
// windows are open for seconds, and single faults rarely fall into each other's.
func (w *world) together() {
	for range 2 + w.random.below(2) {
		f, _ := w.plan.pick(&w.random)
		if f.name != "together" {
			w.later(w.random.upTo([]Time{0, 300 * Millisecond, 3 * Second}[w.random.below(3)]),
				func() { f.happen(w) })
		}
	}
}

// race is what a lease is for: a member is cut off, and before its lease is over another one comes
// back from a reset, so that the view changes without the first one. An object may have been moved
// before that.
func (w *world) race() {
	m, o := w.machines[1], w.machines[2]
	if w.random.one(2) {
		m, o = o, m
	}
	if w.machines[0].runs() && w.random.one(2) {
		w.launch(w.machines[0], 2)
	}
	w.later(w.random.upTo(2*Second), func() { w.cutFor(m, w.random.between(5*Second, 20*Second)) })
	w.later(w.random.upTo(5*Second), func() {
		if o.on() {
			o.kill()
			w.later(w.random.upTo(500*Millisecond), func() { w.bootAgain(o) })
		}
	})
}

func (w *world) any() *machine    { return w.machines[w.random.below(len(w.machines))] }
func (w *world) member() *machine { return w.machines[1+w.random.below(len(w.machines)-1)] }

// touch notes that something has been done to a member: what the authority thinks of it for a while
// after that is not judged.
func (w *world) touch(m *machine) {
	m.touched = w.ran()
	if w.clone != nil && (m == w.clone || m == w.machines[1]) {
		w.clone.touched, w.machines[1].touched = w.ran(), w.ran()
	}
}
