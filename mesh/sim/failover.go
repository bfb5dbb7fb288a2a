package sim

// A world of failovers is short and has one subject: commits that flow while homes are lost, and
// whether everything that was acknowledged is still there. Its nodes are 2 to 5, in equal parts;
// the authority has NVRAM and detects failures; somebody always commits. Its faults are those that
// make homes change or forget: deaths of members, restarts of the authority with its marks as it
// left them, torn or wiped, cuts, freezes, stops, ended sessions, lab moves.
//
// Of every second object only replicated commits and authoritative reads are asked for. What came
// of them is the world's history (history.go), which has to be that of a register for each object.

// RunFailover lives through the world of failovers of a seed.
func RunFailover(seed uint64) Result { return newWorld(seed, drawFailover).live(seed) }

// ReplayFailover does the same, and the result has the log.
func ReplayFailover(seed uint64) Result {
	w := newWorld(seed, drawFailover)
	w.listen()
	return w.live(seed)
}

func drawFailover(r *random) plan {
	p := plan{
		members:    1 + r.below(membersMax),
		failover:   true,
		marks:      true,
		both:       !r.one(3),
		detect:     true,
		objects:    r.below(5),
		latency:    r.scale(200, 20*Millisecond),
		buffers:    r.one(2),
		queue:      []int{20, 48, 400}[r.below(3)],
		rate:       []int{50, 1_000, rateMax}[r.below(3)],
		secondRate: []int{0, 50, rateMax}[r.below(3)],
		chip:       r.scale(Millisecond, 100*Millisecond),
		clients:    2 + r.below(3),
		think:      r.scale(100*Millisecond, Second),
		between:    r.between(2*Second, 8*Second),
		storm:      Minute,
		quiet:      5 * Second,
		visit:      10 * Second,
	}
	p.jitter = r.upTo(p.latency)
	for _, f := range failovers {
		if (f.fits == nil || f.fits(&p)) && !r.one(3) {
			p.faults = append(p.faults, f)
			p.weights += f.weight
		}
	}
	return p
}

// failovers are the faults of these worlds.
var failovers = []fault{
	{"kill", 4, nil, (*world).killMember},
	{"restart-root", 3, nil, (*world).restartRoot},
	{"cut", 3, nil, (*world).cutBoth},
	{"one-way", 2, nil, (*world).cutOne},
	{"freeze", 2, nil, (*world).freezeSome},
	{"stop", 2, nil, (*world).stopSome},
	{"interrupt", 1, nil, (*world).interruptNext},
	{"half-open", 1, nil, (*world).halfOpen},
	{"reset", 1, nil, (*world).reset},
	{"chip", 1, nil, (*world).chipRefuses},
	{"step", 3, withLab, (*world).move},
	{"together", 2, nil, (*world).together},
	{"race", 2, withMembers, (*world).race},
}

// restartRoot switches the authority off, and on again with its marks as it left them, torn or
// wiped.
func (w *world) restartRoot() {
	m := w.machines[0]
	if !m.on() {
		return
	}
	m.kill()
	state := w.random.below(3)
	w.judge.restarts[state]++
	switch state {
	case torn:
		m.chip.damage(w.random.below(len(m.chip.slots)))
		w.say(m, "has a torn slot")
	case wiped:
		m.chip.wipe()
		w.say(m, "has a wiped chip")
	}
	w.later(w.random.scale(100*Millisecond, 15*Second), func() { w.bootAgain(m) })
}

// What becomes of the marks at a restart of the authority.
const (
	kept = iota
	torn
	wiped
)

// move asks the authority for a lab move.
func (w *world) move() {
	if m := w.machines[0]; m.runs() {
		w.launch(m, 2)
	}
}
